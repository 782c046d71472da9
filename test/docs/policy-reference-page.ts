import { OptionalKind, type TSchema } from '@sinclair/typebox';
import { shipped } from '../../plugins/index.ts';
import { TOKEN_UNITS } from '../../src/core/money/units.ts';
import { CAPABILITIES, CAPABILITY_NAMES } from '../../src/core/request/capability.ts';
import { FIELDS, isTypeName, type TypeName, VARIABLES } from '../../src/policy/cel/types.ts';
import type { Section } from '../../src/policy/define/section.ts';
import { LANGUAGE } from '../../src/policy/language.ts';
import { amountIn, cell, code, limitsOf, typeName } from './schema-words.ts';

const ALL: readonly Section[] = LANGUAGE;

/** The sections by subject. Sections without their own page share a table. */
const GROUPS = ['Serve', 'Choose', 'Spend', 'Run'].map((title) => ({
  title,
  members: ALL.filter(({ page }) => page?.[0] === title),
}));
const VALUES = ALL.filter(({ page }) => !page);

const HEAD = 'key | meaning\n---|---\n';

/** Makes `docs/policies/reference.md` from the schema of the language. A test compares the file. */
export function policyReferencePage(): string {
  const index = GROUPS.map(
    ({ title, members }) => `- ${title}: ${members.map(({ name }) => `[${name}](#${name})`).join(', ')}`,
  );
  return `# Policy reference

This page lists every key of a policy with its type, bounds, default and meaning. [guide.md](guide.md) explains common tasks instead. An
unknown key is an error. The brackets contain the type (a text if there is none), the bounds and, after a semicolon, the default. A key
without a default is optional unless it is *required*.

An *amount* is a number in the unit of its key, such as \`limit_credits: 20000\`, or a text such as \`20,000\`, \`$20\` or \`20 USD\`:
[how to write an amount](../spend/money.md#how-to-write-an-amount).

${index.join('\n')}
- Other parts: [values](#values), [capabilities](#capabilities), [plugin options](#plugin-options), [expressions](#expressions)

${GROUPS.flatMap(({ members }) => members.map(section)).join('\n\n')}

## values

Sections that have only a few keys.

${HEAD}${VALUES.flatMap(valueRows).join('\n')}

## Capabilities

A model states these capabilities in \`capabilities\` or \`lacks\`:

${CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === 'model')
  .map((name) => `- ${code(name)} ${CAPABILITIES[name].means}`)
  .join('\n')}

Signalbox assumes that every provider has ${namesOf('dialect')}, unless a model \`lacks\` them. [providers.md](../extend/providers.md#capabilities) lists the request fields that need each capability.

## Plugin options

### Strategies

Options of a selector. [How a model is chosen](../route/how-a-model-is-chosen.md#selectors) explains them.

${pluginRows('strategy')}

### Adapters

Settings of a provider.

${pluginRows('provider')}

## Expressions

[language.md](language.md#expressions) explains expressions. Numbers are doubles: write \`100.0\` instead of \`100\` after \`==\` and in sums.

field | meaning
---|---
${Object.entries({ ...VARIABLES.when, ...VARIABLES.constraint })
  .flatMap(([name, type]) => fieldRows(name, type))
  .join('\n')}
`;
}

function section({ name, text: schema, page }: Section): string {
  const list = schema.type === 'array' ? ' A list.' : '';
  const rows = rowsOf(schema, '', SHARED[name]);
  const table = rows.length > 0 ? `\n\n${HEAD}${rows.join('\n')}` : '';
  return `## ${name}\n\n${schema.description}${list} [More](${page?.[1]}).${table}`;
}

function valueRows({ name, text: schema }: Section): string[] {
  return schema.properties ? rowsOf(schema, `${name}.`) : [row(name, schema, false)];
}

const namesOf = (of: 'model' | 'dialect'): string =>
  CAPABILITY_NAMES.filter((name) => CAPABILITIES[name].of === of)
    .map(code)
    .join(', ');

function pluginRows(kind: (typeof shipped)[number]['kind']): string {
  const rows = shipped
    .filter((plugin) => plugin.kind === kind)
    .flatMap((plugin) => {
      const schema = plugin.kind === 'strategy' ? plugin.options : plugin.settings;
      return rowsOf(schema, `${plugin.name}.`);
    });
  return `${HEAD}${rows.join('\n')}`;
}

/** The fields of a variable. The fields of a part, such as a price, have the path of the part. */
function fieldRows(path: string, type: TypeName): string[] {
  return Object.entries<readonly [string, string]>(FIELDS[type]).flatMap(([name, [of, means]]) => {
    const isPart = isTypeName(of) && path !== 'endpoint';
    return isPart ? fieldRows(`${path}.${name}`, of) : [`\`${path}.${name}\` (${of}) | ${means}`];
  });
}

/** The rows of a map, of a map with any names, or of each item of a list. */
function rowsOf(schema: TSchema, prefix: string, shared = SHARED[prefix]): string[] {
  const inner = named(schema);
  if (inner) return rowsOf(inner, prefix === '' ? '' : `${prefix}<name>.`);
  if (schema.type === 'array' && schema.items?.properties) return rowsOf(schema.items, prefix, shared);
  const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
  const required: readonly string[] = schema.required ?? [];
  const rows = Object.entries(properties).flatMap(([key, property]) => {
    if (shared?.keys.includes(key)) return [];
    const path = `${prefix}${key}`;
    const own = row(path, property, required.includes(key) && property.default === undefined);
    // OpenAI defines the form of messages.
    if (key === 'messages') return [own];
    const below = [
      ...rowsOf(property, property.type === 'array' ? `${path}[].` : `${path}.`),
      ...otherKeys(property, path),
    ];
    return below.length > 0 && isPlain(property) ? below : [own, ...below];
  });
  return shared ? [...rows, `\`${prefix}…\` | ${shared.keys.map(code).join(', ')}: ${shared.as}.`] : rows;
}

const RATES = [...TOKEN_UNITS, 'tiers'];

/** Keys that are described elsewhere on the page and share one row, by the path before them or the name of their section. */
const SHARED: Readonly<Record<string, { readonly keys: readonly string[]; readonly as: string }>> = {
  'endpoints[].': {
    keys: ['provider', 'upstream', 'regions', 'price', 'after_abort'],
    as: 'the same keys for one endpoint',
  },
  'price.tiers[].': {
    keys: TOKEN_UNITS,
    as: 'the same keys for this tier',
  },
  'price.hours[].': { keys: RATES, as: 'as in the price itself, for these hours' },
  'price.service_tiers.<name>.': { keys: RATES, as: 'as in the price itself, for this service tier' },
  'price.later[].': {
    keys: [...RATES, 'per_request', 'tool_uses', 'hours', 'service_tiers', 'until'],
    as: 'as in the price itself, from the end of the price before',
  },
  'budgets[].': {
    keys: ['limit_credits', 'window', 'time_zone', 'on_exhausted'],
    as: 'as in [budgets](#budgets)',
  },
  'limits.': {
    keys: ['requests_per_minute', 'tokens_per_minute', 'concurrent_streams'],
    as: 'as in [rate_limits](#rate_limits)',
  },
  'member_defaults.': {
    keys: ['models', 'limits', 'budgets'],
    as: 'the same keys for each member who has no terms of their own',
  },
  teams: { keys: ['models', 'limits', 'budgets', 'member_defaults'], as: 'as in [organization](#organization)' },
};

/** Whether the rows of a map's keys describe the map completely. */
const isPlain = ({ type, description = '' }: TSchema): boolean =>
  type === 'object' && !description.includes('`') && !description.includes('Default');

/** The row for names that a map accepts in addition to its known keys. */
function otherKeys({ properties, additionalProperties }: TSchema, path: string): string[] {
  return properties && additionalProperties?.type ? [row(`${path}.<task>`, additionalProperties, false)] : [];
}

/** The schema of the values of a map with any names, with the keys of every kind of value; null if the keys of the map are known. */
function named(schema: TSchema): TSchema | null {
  const [first, ...others]: TSchema[] = Object.values(schema.patternProperties ?? {});
  if (!first?.properties) return null;
  const all = [first, ...others, first].map(({ properties }) => properties);
  return { ...first, properties: Object.assign({}, ...all) };
}

function row(path: string, schema: TSchema, isRequired: boolean): string {
  const fallback =
    isRequired && !schema[OptionalKind]
      ? ', *required*'
      : schema.default === undefined || ['[]', '{}'].includes(JSON.stringify(schema.default))
        ? ''
        : `; ${code(schema.default)}`;
  const type = `${typeName(schema)}${limitsOf(amountIn(schema) ?? schema)}${fallback}`;
  return `\`${path}\`${bracketed(type)} | ${meaningOf(schema)}`;
}

/** Returns a type in brackets; empty for text, the type of most keys. */
function bracketed(type: string): string {
  const words = type.replace(/^text; /, 'default ').replace(/^text(?:, |$)/, '');
  return words === '' ? '' : ` (${words})`;
}

/** Returns the description, with an example if the form of a text matters. */
function meaningOf(schema: TSchema): string {
  const { description = '', examples: [example] = [], expected = '' } = schema;
  if (amountIn(schema)) return cell(description);
  return cell(expected.includes('such as') ? `${description} Example: ${code(example)}.` : description);
}
