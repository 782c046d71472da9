import type { TSchema } from '@sinclair/typebox';
import { ChatMessage } from '../api/chat-request.ts';
import { type Plugin, schemaOfPlugin } from '../contract/kinds.ts';
import { type EditorHint, HINTS } from './json-schema-hints.ts';
import type { SchemaRules } from './json-schema-rules.ts';
import { type EditorText, editorTextOf, isEmpty, titleOf } from './json-schema-text.ts';
import { type EditorVocabulary, type EditorWord, editorWords, type JsonSchema } from './json-schema-words.ts';
import { ITEM_NAME } from './schema-parts.ts';
import { WILDCARD_NAME } from './wildcards.ts';

/** Keywords of JSON Schema. All others are our own, or TypeBox's. */
const SHARED: readonly string[] =
  `type const minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems
  minProperties`.split(/\s+/);

/** Converts TypeBox schemas of the language to JSON Schema for editors. */
export class SchemaConverter {
  /** Schemas that several places refer to. */
  readonly definitions: Record<string, JsonSchema> = {};
  readonly #words: EditorVocabulary;
  readonly #rules: SchemaRules;

  constructor(words: EditorVocabulary, rules: SchemaRules) {
    this.#words = words;
    this.#rules = rules;
  }

  /** `path`: as in HINTS. */
  convert(schema: TSchema, path: string, isRequired = false): JsonSchema {
    const hint = HINTS[path] ?? {};
    const title = titleAt(path, schema);
    const forms = withShort(this.#forms(schema, path, hint), hint);
    return {
      ...editorTextOf(schema, title, isRequired, hint.sees),
      ...defaultOf(schema),
      ...(forms.every((form) => form.enum === undefined) && examplesOf(schema)),
      ...oneOf(forms),
    };
  }

  /** The options or settings of a plugin. */
  options(plugin: Plugin): JsonSchema {
    const schema = schemaOfPlugin(plugin);
    const path = `${plugin.kind}:${plugin.name}`;
    const { title, ...options } = this.convert({ additionalProperties: false, ...schema }, path);
    return { title: `What ${plugin.name} takes`, ...options };
  }

  /** The alternative forms of a value. */
  #forms(schema: TSchema, path: string, hint: EditorHint): JsonSchema[] {
    if (path === 'cases[].given.messages') return [MESSAGES];
    const words = editorWords(schema);
    if (words) return [{ type: 'string', ...enumOf(words) }];
    if (Array.isArray(schema.anyOf)) return schema.anyOf.flatMap((one: TSchema) => this.#forms(one, path, hint));
    if (schema.type === 'object') return [this.#map(schema, path, hint)];
    if (schema.type === 'array') return [{ ...shared(schema), items: this.#item(schema, path) }];
    const known = hint.names && schema.type === 'string' ? this.#words[hint.names] : [];
    // All error codes are known. Other names may come from elsewhere.
    if (hint.names === 'error') return [{ type: 'string', ...enumOf(known) }];
    const expected: unknown = schema.expected;
    const plain = {
      ...shared(schema),
      ...(typeof expected === 'string' && { patternErrorMessage: `Write ${plainly(expected)}.` }),
    };
    return known.length === 0 ? [plain] : [plain, { type: 'string', ...enumOf(known) }];
  }

  /** The items of a list. Names are snippets, because with several forms editors offer wrong items. */
  #item(list: TSchema, path: string): JsonSchema {
    const schema: TSchema = list.items ?? {};
    const hint = HINTS[`${path}[]`] ?? HINTS[path] ?? {};
    if (!hint.names || schema.type !== 'string')
      return { ...this.convert(schema, `${path}[]`), ...this.#aboutItem(schema, list, path) };
    const [plain = {}] = this.#forms(schema, path, {});
    const snippets = this.#words[hint.names].map(([label]) => ({ label, body: label }));
    return { ...this.#aboutItem(schema, list, path), ...plain, defaultSnippets: snippets };
  }

  /** The text of an item without a description is that of its list. */
  #aboutItem(schema: TSchema, list: TSchema, path: string): EditorText {
    const { description } = list;
    return editorTextOf({ description, ...schema }, titleAt(`${path}[]`, { ...schema, title: undefined }), false);
  }

  /** Keys are inside `allOf`; otherwise editors insert all defaults into a new map. */
  #map(schema: TSchema, path: string, hint: EditorHint): JsonSchema {
    const properties = this.#properties(schema, path, hint);
    const required = requiredOf(schema);
    const others = this.#others(schema, path);
    const keys = {
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(schema.minProperties !== undefined && { minProperties: schema.minProperties }),
      ...(hint.isNamed && {
        propertyNames: {
          type: 'string',
          pattern: path === 'models' ? `${ITEM_NAME.pattern}|${WILDCARD_NAME.pattern}` : ITEM_NAME.pattern,
          patternErrorMessage: `A name has ${ITEM_NAME.expected}.`,
        },
      }),
      ...(others !== undefined && { additionalProperties: others }),
    };
    // The editor's own message would be `Expected "Quality"`, by the title.
    const errorMessage = `Needs a map${required.length > 0 ? ` with ${required.join(', ')}` : ''}.`;
    return { type: 'object', errorMessage, allOf: [keys, ...(this.#rules[path] ?? [])] };
  }

  #properties(schema: TSchema, path: string, hint: EditorHint): Record<string, JsonSchema> {
    const properties: Readonly<Record<string, TSchema>> = schema.properties ?? {};
    const required = requiredOf(schema);
    const stated = Object.entries(properties).map(([key, property]): [string, JsonSchema] => [
      key,
      this.convert(property, `${path}.${key}`, required.includes(key)),
    ]);
    const known = hint.keys ? this.#words[hint.keys] : [];
    return Object.fromEntries([
      ...known.map(([name]): [string, JsonSchema] => [name, this.#each(eachOf(schema) ?? schema, path)]),
      ...stated,
    ]);
  }

  /** The schema of unknown keys. */
  #others(schema: TSchema, path: string): JsonSchema | false | undefined {
    const each = eachOf(schema);
    if (each && Object.keys(each).length === 0) return undefined;
    if (each) return HINTS[path]?.keys ? this.#each(each, path) : this.convert(each, `${path}.*`);
    return schema.additionalProperties === false && !schema.patternProperties ? false : undefined;
  }

  /** The schema of each key of a map with some known keys. */
  #each(schema: TSchema, path: string): JsonSchema {
    const name = `each.${lastOf(path)}`;
    this.definitions[name] ??= this.convert(schema, `${path}.*`);
    return { $ref: `#/definitions/${name}` };
  }
}

/** An entry that is a map has its title in the singular: one of `endpoints[]` is an `Endpoint`. */
function titleAt(path: string, { title, type }: TSchema): string {
  const isEntry = type === 'object' && /(?:\[\]|\.\*)$/.test(path);
  return HINTS[path]?.title ?? title ?? titleOf(isEntry ? lastOf(path).replace(/s$/, '') : lastOf(path));
}

/** Admits an empty section. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  if (typeof type !== 'string') return schema;
  return { ...schema, type: [type, 'null'], errorMessage: `Needs a ${type === 'array' ? 'list' : 'map'}.` };
}

/**
 * One schema of several forms. Each form is nested twice: otherwise editors in which all forms match show the texts of the
 * forms, which have none, instead of the outer text.
 */
function oneOf(forms: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = forms;
  return others.length === 0 ? first : { anyOf: forms.map((form) => ({ allOf: [{ allOf: [form] }] })) };
}

/** Adds the short forms of a value, which the loader expands before it checks. */
function withShort(forms: readonly JsonSchema[], { short }: EditorHint): readonly JsonSchema[] {
  if (!short) return forms;
  const words = short.map(([word]) => word).join(', ');
  const described = forms.map((form) => ({
    ...form,
    errorMessage: `Needs ${form.type === 'object' ? 'a map' : `a ${form.type}`}, or ${words}.`,
  }));
  return [...described, { type: 'string', ...enumOf(short) }];
}

function enumOf(words: readonly EditorWord[]): JsonSchema {
  const meanings = words.map(([, means]) => means);
  const hasMeanings = meanings.some((means) => means !== '');
  const isMarkdown = meanings.some((means) => means.includes('`'));
  return {
    enum: words.map(([word]) => word),
    ...(hasMeanings && { enumDescriptions: meanings.map(plainly) }),
    ...(isMarkdown && { markdownEnumDescriptions: meanings }),
  };
}

const plainly = (text: string): string => text.replaceAll('`', '');

/** The last name of a path: `max_output` of `models.*.max_output`. */
const lastOf = (path: string): string => /([^.[\]*]+)[.[\]*]*$/.exec(path)?.[1] ?? path;

function shared(schema: TSchema): JsonSchema {
  const keywords = SHARED.filter(
    (keyword) => keyword in schema && (keyword !== 'pattern' || isReadable(schema.pattern)),
  );
  return Object.fromEntries(keywords.map((keyword) => [keyword, schema[keyword]]));
}

/** Editors compile patterns with the Unicode flag, and report those that fail. */
function isReadable(pattern: unknown): boolean {
  try {
    return typeof pattern === 'string' && new RegExp(pattern, 'u') !== null;
  } catch {
    return false;
  }
}

/** Keys with a default may be left out. */
function requiredOf(schema: TSchema): readonly string[] {
  const required: readonly string[] = schema.required ?? [];
  return required.filter((key) => schema.properties?.[key]?.default === undefined);
}

/** The schema of the values of a map whose keys are names; null if its keys are known or have a pattern. */
function eachOf({ patternProperties = {}, additionalProperties }: TSchema): TSchema | null {
  const [[pattern, schema] = []] = Object.entries<TSchema>(patternProperties);
  if (schema) return pattern === '^(.*)$' ? schema : null;
  return typeof additionalProperties === 'object' ? additionalProperties : null;
}

/** Empty defaults are left out. */
function defaultOf(schema: TSchema): JsonSchema {
  return schema.default === undefined || isEmpty(schema.default) ? {} : { default: schema.default };
}

/** Leaves out examples that equal the default or the constant. */
function examplesOf(schema: TSchema): JsonSchema {
  const stated: unknown[] = Array.isArray(schema.examples) ? schema.examples : [];
  const known = [schema.default, schema.const].map((one) => JSON.stringify(one));
  const isValue = (one: unknown) => (Array.isArray(one) ? one.length > 0 : typeof one !== 'object');
  const examples = stated.filter((one) => isValue(one) && !known.includes(JSON.stringify(one)));
  return examples.length === 0 ? {} : { examples };
}

/** OpenAI's messages in brief. The loader checks the whole shape. */
const MESSAGES = {
  type: 'array',
  minItems: 1,
  items: {
    title: 'Message',
    description: 'A message as in a chat request, in the shape that OpenAI gave it.',
    type: 'object',
    required: ['role'],
    properties: {
      role: {
        title: 'Role',
        description: 'Who speaks. Required.',
        type: 'string',
        enum: (editorWords(ChatMessage.properties.role) ?? []).map(([role]) => role),
      },
      content: {
        title: 'Content',
        description: 'What is said: a text, or a list of parts.',
        type: ['string', 'array', 'null'],
      },
    },
  },
};
