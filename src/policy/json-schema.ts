import type { TSchema } from '@sinclair/typebox';
import { type Plugin, schemaOfPlugin } from '../contract/kinds.ts';
import { isObject } from '../core/object.ts';
import { SECTIONS } from './sections.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const ABOUT =
  'A file of a Signalbox policy. All files of the folder together are one policy, and each may hold any of the sections, so nothing is required here. `./signalbox policy check` also checks what an editor cannot: names, expressions and cases.';

/**
 * The policy language as a JSON Schema (draft-07) for editors: the schemas of its sections, with the options of plugins.
 * It accepts every policy that the loader accepts.
 */
export function policySchema(plugins: readonly Plugin[]): JsonSchema {
  const sections = Object.entries<TSchema>(SECTIONS).map(([name, one]) => [name, orNothing(forEditors(one))]);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:signalbox:policy:1',
    ...texts(ABOUT),
    type: 'object',
    properties: {
      ...Object.fromEntries(sections),
      providers: eachOf('providers', adapterRules(plugins)),
      selectors: eachOf('selectors', strategyRules(plugins)),
    },
    additionalProperties: false,
  };
}

/** The text of a schema file. */
export const schemaText = (schema: JsonSchema): string => `${JSON.stringify(schema, null, 1)}\n`;

/** All entries of a section may be comments. */
const orNothing = ({ type, ...schema }: JsonSchema): JsonSchema => ({
  ...schema,
  ...(type !== undefined && { type: type === 'object' || type === 'array' ? [type, 'null'] : type }),
});

/** Keywords that only the loader reads. Editors would write every default into a new map, so a text states it instead. */
const FOR_THE_LOADER: ReadonlySet<string> = new Set(['$id', 'default', 'expected', 'formerDefault', 'hints']);

/** A schema of the language without the loader's keywords. A key with a default may be left out. */
function forEditors({ required = [], description, ...schema }: TSchema): JsonSchema {
  const stated = required.filter((key: string) => schema.properties?.[key].default === undefined);
  const parts = Object.entries(schema).filter(([keyword]) => !FOR_THE_LOADER.has(keyword));
  return {
    ...(description !== undefined && texts(description + defaultOf(schema))),
    ...Object.fromEntries(parts.map(([keyword, part]) => [keyword, partFor(keyword, part)])),
    ...(stated.length > 0 && { required: stated }),
  };
}

/** The value of a keyword: a schema, schemas by key or in a list, or plain data. */
function partFor(keyword: string, part: unknown): unknown {
  const one = (schema: unknown) => (isObject(schema) ? forEditors(schema as TSchema) : schema);
  if (keyword === 'anyOf' && Array.isArray(part)) return part.map(one);
  if (keyword === 'items' || keyword === 'additionalProperties') return one(part);
  if (!isObject(part) || !['properties', 'patternProperties', 'dependencies'].includes(keyword)) return part;
  return Object.fromEntries(Object.entries(part).map(([key, schema]) => [key, one(schema)]));
}

/** A description, plain and in Markdown. */
const texts = (text: string) => ({
  description: text.replaceAll('`', ''),
  ...(text.includes('`') && { markdownDescription: text }),
});

function defaultOf({ default: usual, formerDefault }: Omit<TSchema, 'required'>): string {
  if (usual === undefined || /^(?:\[\]|\{\})$/.test(JSON.stringify(usual))) return '';
  const quoted = (value: unknown) => `\`${JSON.stringify(value)}\``;
  return ` Default: ${quoted(usual)}${formerDefault === undefined ? '' : `, in version 1 ${quoted(formerDefault)}`}.`;
}

/** A section that is a map, with rules for each of its entries. */
const eachOf = (section: 'providers' | 'selectors', rules: readonly JsonSchema[]): JsonSchema => ({
  ...orNothing(forEditors(SECTIONS[section])),
  allOf: [{ additionalProperties: { allOf: rules } }],
});

/** Not a literal: an object with a key `then` looks like a promise. */
const when = (condition: JsonSchema, consequence: JsonSchema, otherwise: JsonSchema = {}): JsonSchema =>
  Object.fromEntries([
    ['if', condition],
    ['then', consequence],
    ['else', otherwise],
  ]);

/** A key that names one of these. A pattern, because editors take a `const` for a word that begins like it. */
const names = (key: string, ...words: readonly string[]): JsonSchema => ({
  properties: { [key]: { type: 'string', pattern: `^(?:${words.join('|')})$` } },
  required: [key],
});

/** Offers the words for a key; others are possible. */
const offers = (key: string, words: readonly string[]): JsonSchema => ({
  properties: { [key]: { anyOf: [{ type: 'string' }, { enum: words }] } },
});

const optionsOf = (plugin: Plugin): JsonSchema =>
  forEditors({ additionalProperties: false, ...schemaOfPlugin(plugin) });

function strategyRules(plugins: readonly Plugin[]): readonly JsonSchema[] {
  const strategies = plugins.filter((plugin) => plugin.kind === 'strategy');
  const rules = strategies.map((plugin) => {
    const { options: former = [], by } = plugin.formerly ?? {};
    const older = strategies.find(({ name }) => name === by);
    // With an option that it no longer has, the strategy that still takes it runs instead.
    const statesFormer = { anyOf: former.map((key) => ({ required: [key] })) };
    const options = older ? when(statesFormer, optionsOf(older), optionsOf(plugin)) : optionsOf(plugin);
    return when(names('strategy', plugin.name), { properties: { options } });
  });
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
