import type { TSchema } from '@sinclair/typebox';
import { type Plugin, schemaOfPlugin } from '../contract/kinds.ts';
import { isObject } from '../core/json/object.ts';
import { SECTIONS } from './language.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const ABOUT =
  'A file of a Signalbox policy. All files in the folder form one policy, and each file may contain any section, so no section is required here. `./signalbox policy check` also checks what an editor cannot: names, expressions and test cases.';

/**
 * Returns the policy language as a JSON Schema (draft-07) for editors: the schemas of its sections, with the options of plugins. The JSON
 * Schema accepts every policy that the loader accepts.
 */
export function policySchema(plugins: readonly Plugin[]): JsonSchema {
  const sections = Object.entries<TSchema>(SECTIONS).map(([name, one]) => [name, orNothing(forEditors(one))]);
  return withDefinitions({
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:signalbox:policy:1',
    ...texts(ABOUT),
    type: 'object',
    properties: {
      ...Object.fromEntries(sections),
      providers: eachOf('providers', adapterRules(plugins)),
      selectors: eachOf('selectors', strategyRules(plugins)),
      guards: eachOf('guards', guardRules(plugins)),
    },
    additionalProperties: false,
  });
}

/** Returns the schema of a file as a JSON Schema (draft-07) for editors. */
export const fileSchema = (id: string, schema: TSchema): JsonSchema => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  $id: id,
  ...forEditors(schema),
});

/** A part of a schema with fewer characters than this is written wherever it occurs. */
const DEFINED_MIN = 1_000;

/** Moves each long part that occurs several times, such as the price of a model, to one definition. */
function withDefinitions(schema: JsonSchema): JsonSchema {
  const counts = new Map<string, number>();
  const count = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const text = JSON.stringify(part);
    if (text.length < DEFINED_MIN) return;
    if (isSchema(part)) {
      const known = counts.get(text) ?? 0;
      counts.set(text, known + 1);
      // The parts of a definition count once.
      if (known > 0) return;
    }
    for (const one of Object.values(part)) count(one);
  };
  count(schema);
  const names = new Map<string, string>();
  const definitions: Record<string, unknown> = {};
  const named = (part: unknown, key: string): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    const text = JSON.stringify(part);
    if ((counts.get(text) ?? 0) < 2) return replaced(part);
    if (!names.has(text)) {
      const taken = Object.keys(definitions).filter((name) => name.replace(/_\d+$/, '') === key).length;
      const name = taken === 0 ? key : `${key}_${taken + 1}`;
      names.set(text, name);
      definitions[name] = {};
      definitions[name] = replaced(part);
    }
    return { $ref: `#/definitions/${names.get(text)}` };
  };
  const replaced = (part: object): unknown =>
    Array.isArray(part)
      ? part.map((one) => named(one, 'part'))
      : Object.fromEntries(Object.entries(part).map(([key, one]) => [key, named(one, key)]));
  const whole = replaced(schema);
  return { ...(isObject(whole) ? whole : schema), definitions };
}

const isSchema = (part: object): boolean => 'type' in part || 'anyOf' in part;

/** Returns the text of a schema file. */
export const schemaText = (schema: JsonSchema): string => `${JSON.stringify(schema, null, 1)}\n`;

/** Allows a section without a value, because all entries of the section may be comments. */
const orNothing = ({ type, ...schema }: JsonSchema): JsonSchema => ({
  ...schema,
  ...(type !== undefined && { type: type === 'object' || type === 'array' ? [type, 'null'] : type }),
});

/**
 * Keywords that only the loader reads. The schema for editors has no `default`, because editors would write every default into a new map;
 * the description states the default instead.
 */
const FOR_THE_LOADER: ReadonlySet<string> = new Set([
  '$id',
  'default',
  'expected',
  'hintForMap',
  'hints',
  'listedIn',
  'writtenAs',
]);

/**
 * Converts a schema of the language for editors, without the loader's keywords. The schema for editors does not require a key with a
 * default.
 */
function forEditors({ required = [], description, ...schema }: TSchema): JsonSchema {
  const stated = required.filter((key: string) => schema.properties?.[key].default === undefined);
  const parts = Object.entries(schema).filter(([keyword]) => !FOR_THE_LOADER.has(keyword));
  return {
    ...(description !== undefined && texts(description + defaultOf(schema))),
    ...Object.fromEntries(parts.map(([keyword, part]) => [keyword, partFor(keyword, part)])),
    ...(stated.length > 0 && { required: stated }),
  };
}

/** Converts the value of a keyword: a schema, schemas by key or in a list, or plain data. */
function partFor(keyword: string, part: unknown): unknown {
  const one = (schema: unknown) => (isObject(schema) ? forEditors(schema as TSchema) : schema);
  if (keyword === 'anyOf' && Array.isArray(part)) return part.map(one);
  if (keyword === 'items' || keyword === 'additionalProperties') return one(part);
  if (!isObject(part) || !['properties', 'patternProperties', 'dependencies'].includes(keyword)) return part;
  return Object.fromEntries(Object.entries(part).map(([key, schema]) => [key, one(schema)]));
}

/** Returns a description as plain text and as Markdown. */
const texts = (text: string) => ({
  description: text.replaceAll('`', ''),
  ...(text.includes('`') && { markdownDescription: text }),
});

function defaultOf({ default: usual }: Omit<TSchema, 'required'>): string {
  if (usual === undefined || /^(?:\[\]|\{\})$/.test(JSON.stringify(usual))) return '';
  return ` Default: \`${JSON.stringify(usual)}\`.`;
}

/** Describes a section that is a map or a list, with rules for each of its entries. */
function eachOf(section: 'providers' | 'selectors' | 'guards', rules: readonly JsonSchema[]): JsonSchema {
  const schema: TSchema = SECTIONS[section];
  const entries = schema.type === 'array' ? 'items' : 'additionalProperties';
  return { ...orNothing(forEditors(schema)), allOf: [{ [entries]: { allOf: rules } }] };
}

/** `when` builds no object literal, because an object with a key `then` looks like a promise. */
const when = (condition: JsonSchema, consequence: JsonSchema, otherwise: JsonSchema = {}): JsonSchema =>
  Object.fromEntries([
    ['if', condition],
    ['then', consequence],
    ['else', otherwise],
  ]);

/**
 * Describes a key whose value is one of these words. The schema uses a pattern, because editors accept a word that only begins like a
 * `const`.
 */
const names = (key: string, ...words: readonly string[]): JsonSchema => ({
  properties: { [key]: { type: 'string', pattern: `^(?:${words.join('|')})$` } },
  required: [key],
});

/** Offers words for a key without forbidding other words. */
const offers = (key: string, words: readonly string[]): JsonSchema => ({
  properties: { [key]: { anyOf: [{ type: 'string' }, { enum: words }] } },
});

const optionsOf = (plugin: Plugin): JsonSchema =>
  forEditors({ additionalProperties: false, ...schemaOfPlugin(plugin) });

function strategyRules(plugins: readonly Plugin[]): readonly JsonSchema[] {
  const strategies = plugins.filter((plugin) => plugin.kind === 'strategy');
  const rules = strategies.map((plugin) =>
    when(names('strategy', plugin.name), { properties: { options: optionsOf(plugin) } }),
  );
  return [
    offers(
      'strategy',
      strategies.map(({ name }) => name),
    ),
    ...rules,
  ];
}

function adapterRules(plugins: readonly Plugin[]): readonly JsonSchema[] {
  const adapters = plugins.filter((plugin) => plugin.kind === 'provider');
  const presets = adapters.flatMap((plugin) => Object.keys(plugin.presets ?? {}));
  const rules = adapters.map((plugin) => {
    const byPreset = names('preset', ...Object.keys(plugin.presets ?? {}));
    const isNamed = { anyOf: [names('adapter', plugin.name), { ...byPreset, not: { required: ['adapter'] } }] };
    return when(isNamed, { properties: { settings: optionsOf(plugin) } });
  });
  return [
    offers(
      'adapter',
      adapters.map(({ name }) => name),
    ),
    offers('preset', presets),
    ...rules,
  ];
}

function guardRules(plugins: readonly Plugin[]): readonly JsonSchema[] {
  const guards = plugins.filter((plugin) => plugin.kind === 'guard');
  return [
    offers(
      'guard',
      guards.map(({ name }) => name),
    ),
    ...guards.map((plugin) => when(names('guard', plugin.name), { properties: { settings: optionsOf(plugin) } })),
  ];
}
