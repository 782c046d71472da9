import { Kind, OptionalKind, type TSchema } from '@sinclair/typebox';
import { shipped } from '../../plugins/index.ts';
import { FIELDS, VARIABLES } from '../../src/policy/cel-types.ts';
import { SECTIONS } from '../../src/policy/schema.ts';

/** The sections by what they are about, with where that is told. */
const GROUPS: Readonly<Record<string, Partial<Record<keyof typeof SECTIONS, string>>>> = {
  'What is served': {
    providers: 'language.md#providers',
    models: 'language.md#models',
    plugins: '../extend/plugins.md',
  },
  'How a model is chosen': {
    selectors: 'language.md#selectors',
    tasks: '../route/scoring.md#the-task',
    reference_price: '../route/selectors.md#the-formulas',
    answer_worth: 'guide.md#say-what-a-good-answer-is-worth',
    unstated_latency: '../route/scoring.md#latency',
    language_worth: '../route/scoring.md#programming-languages',
    unstated_languages: '../route/scoring.md#programming-languages',
    default_weights: '../route/selectors.md#the-formulas',
    baseline: '../route/explain.md',
    constraints: 'language.md#constraints-and-preferences',
    preferences: 'language.md#constraints-and-preferences',
    learning: '../route/learning.md',
  },
  'What may be spent, and how fast': {
    credits: '../spend/budgets.md',
    budgets: '../spend/budgets.md',
    rate_limits: '../spend/rate-limits.md',
    ledger: '../spend/budgets.md',
    payments: '../spend/accepting-payments.md',
  },
  'The gateway and the policy itself': {
    version: 'language.md#files',
    gateway: '../spend/rate-limits.md',
    records: '../privacy.md',
    cases: 'testing.md',
  },
};

/** Of each section where it is told, in the page's order. */
const TOLD: ReadonlyMap<string, string> = new Map(Object.values(GROUPS).flatMap((group) => Object.entries(group)));

/** `docs/policies/reference.md`, made from the schema of the language; a test holds the file to it. */
export function policyReferencePage(): string {
  const unplaced = Object.keys(SECTIONS).filter((name) => !TOLD.has(name));
  if (unplaced.length > 0) throw new Error(`no group of the policy reference has ${unplaced.join(', ')}`);
  const schemas = new Map(Object.entries<TSchema>(SECTIONS));
  const placed = [...TOLD.keys()].flatMap((name) => {
    const schema = schemas.get(name);
    return schema ? [{ name, schema }] : [];
  });
  const sections = placed.map(({ name, schema }) => section(name, schema));
  const index = Object.entries(GROUPS).map(([title, group]) => {
    const rows = placed
      .filter(({ name }) => Object.hasOwn(group, name))
      .map(({ name, schema }) => `| [\`${name}\`](#${name}) | ${aboutOf(schema)} |`);
    return `| **${title}** | |\n${rows.join('\n')}`;
  });
  return `# Policy reference

Every key of the policy language, made from the schema that checks it. By task: [guide.md](guide.md). How it is meant:
[language.md](language.md). What can go wrong: [diagnostics.md](diagnostics.md). A key without a default that is
not marked *required* may be left out. Keys that are not listed are errors.

| section | holds |
| --- | --- |
${index.join('\n')}
| **Beside the sections** | |
| [Plugins](#what-plugins-take) | What strategies, adapters and estimators that come with Signalbox take. |
| [Expressions](#expressions) | What \`when\`, \`require\`, \`prefer\`, \`match\` and \`each\` may see. |

${sections.join('\n\n')}

## What plugins take

What the plugins that come with Signalbox take: strategies as \`options\` of a selector, adapters as \`settings\` of a provider, estimators as \`options\` of \`learning\`.

${shipped.map(pluginOf).join('\n\n')}

## Expressions

What each may see. Figures are doubles: write \`100.0\` where they are compared with \`==\` or used in sums.

- \`when\` of constraints and preferences: ${seen('when')}
- \`match\` and \`each\` of budgets: ${seen('budget')}
- \`match\` and \`each\` of rate limits: ${seen('limit')}
- \`require\` of constraints: ${seen('constraint')}
- \`prefer\` of preferences and \`models.require\` of selectors: ${seen('model')}

${Object.entries(FIELDS)
  .map(([type, fields]) => fieldsOf(type, fields))
  .join('\n\n')}
`;
}

function pluginOf(plugin: (typeof shipped)[number]): string {
  const schema = plugin.kind === 'provider' ? plugin.settings : plugin.options;
  const title = `### ${plugin.name} (${plugin.kind === 'provider' ? 'adapter' : plugin.kind}, ${plugin.status})`;
  const rows = rowsOf(schema, '');
  if (rows.length === 0) return `${title}\n\nTakes nothing.`;
  return `${title}\n\n| key | type | default | means |\n| --- | --- | --- | --- |\n${rows.join('\n')}`;
}

function seen(sight: keyof typeof VARIABLES): string {
  return Object.entries(VARIABLES[sight])
    .map(([name, type]) => `\`${name}\` (${type})`)
    .join(', ');
}

function fieldsOf(type: string, fields: Readonly<Record<string, readonly [string, string]>>): string {
  const rows = Object.entries(fields).map(([name, [of, means]]) => `| \`${name}\` | \`${of}\` | ${means} |`);
  return `### ${type}\n\n| field | type | means |\n| --- | --- | --- |\n${rows.join('\n')}`;
}

function section(name: string, schema: TSchema): string {
  const rows = rowsOf(schema, '');
  const told = `[More](${TOLD.get(name)})`;
  if (rows.length === 0)
    return `## ${name}\n\n${line(schema)}${aboutOf(schema)}${defaultOf(schema)}${exampleOf(schema)} ${told}.`;
  const shape = named(schema) ? ' Under each name:' : schema.type === 'array' ? ' A list; each item has:' : '';
  return `## ${name}\n\n${aboutOf(schema)} ${told}.${shape}\n\n| key | type | default | means |\n| --- | --- | --- | --- |\n${rows.join('\n')}`;
}

const aboutOf = (schema: TSchema): string => schema.description ?? '';
const line = (schema: TSchema) => `${typeName(schema)}${limitsOf(schema)}. `;
const defaultOf = (schema: TSchema) => (schema.default === undefined ? '' : ` Default: ${code(schema.default)}.`);
const exampleOf = (schema: TSchema) => {
  const [first]: unknown[] = schema.examples ?? [];
  const isTold = first === undefined || JSON.stringify(first) === JSON.stringify(schema.default);
  return isTold ? '' : ` For example ${code(first)}.`;
};

/** The rows of a map, of each of its names, or of each item of a list. */
function rowsOf(schema: TSchema, prefix: string): string[] {
  const inner = named(schema);
  if (inner) return rowsOf(inner, prefix === '' ? '' : `${prefix}<name>.`);
  if (schema.type === 'array' && schema.items?.properties) return rowsOf(schema.items, prefix);
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const required: readonly string[] = schema.required ?? [];
  return Object.entries(properties).flatMap(([key, property]) => {
    const path = `${prefix}${key}`;
    const isRequired = required.includes(key) && property.default === undefined;
    // Messages have OpenAI's shape, which is told elsewhere, and a price is told with the model.
    const isTold = key === 'messages' || path.endsWith('endpoints[].price');
    const below = isTold ? [] : rowsOf(property, property.type === 'array' ? `${path}[].` : `${path}.`);
    return [row(path, property, isRequired), ...below, ...(isTold ? [] : otherKeys(property, path))];
  });
}

/** The row of a map's keys that are names, beside those that are known. */
function otherKeys({ properties, additionalProperties }: TSchema, path: string): string[] {
  return properties && additionalProperties?.type ? [row(`${path}.<task>`, additionalProperties, false)] : [];
}

/** The schema of what stands under each name of a map; null where its keys are known. */
function named(schema: TSchema): TSchema | null {
  const [pattern]: TSchema[] = Object.values(schema.patternProperties ?? {});
  return pattern?.properties ? pattern : null;
}

function row(path: string, schema: TSchema, isRequired: boolean): string {
  const fallback =
    isRequired && !schema[OptionalKind] ? '*required*' : schema.default === undefined ? '' : code(schema.default);
  return `| \`${path}\` | ${typeName(schema)}${limitsOf(schema)} | ${fallback} | ${cell(`${schema.description ?? ''}${exampleOf(schema)}`)} |`;
}

const code = (value: unknown) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
const cell = (text: string) => text.replaceAll('|', '\\|').trim();

function typeName(schema: TSchema): string {
  const options: TSchema[] | undefined = schema.anyOf;
  if (options?.every((option) => 'const' in option)) return options.map((option) => `\`${option.const}\``).join(', ');
  if ('const' in schema) return `\`${schema.const}\``;
  switch (schema.type) {
    case 'integer':
      return 'whole number';
    case 'number':
      return 'number';
    case 'string':
      return 'text';
    case 'boolean':
      return 'true or false';
    case 'array':
      if (schema.items?.anyOf) return `list of ${typeName(schema.items)}`;
      return schema.items?.type === 'string' ? 'list of texts' : 'list';
    case 'object':
      return 'map';
    default:
      if (options) return [...new Set(options.map(typeName))].join(' or ');
      return schema[Kind] === 'Unknown' ? 'anything' : 'one of several forms';
  }
}

function limitsOf(schema: TSchema): string {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  const low =
    minimum !== undefined ? `${minimum}` : exclusiveMinimum !== undefined ? `above ${exclusiveMinimum}` : null;
  const high =
    maximum !== undefined ? `${maximum}` : exclusiveMaximum !== undefined ? `below ${exclusiveMaximum}` : null;
  if (low !== null && high !== null) return `, ${low} to ${high}`;
  return low !== null
    ? `, ${low.startsWith('above') ? low : `at least ${low}`}`
    : high !== null
      ? `, up to ${high}`
      : '';
}
