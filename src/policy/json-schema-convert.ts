import type { TSchema } from '@sinclair/typebox';
import type { JsonSchema } from './json-schema-form.ts';
import { type EditorHint, HINTS } from './json-schema-hints.ts';
import { MESSAGES } from './json-schema-messages.ts';
import type { SchemaRules } from './json-schema-rules.ts';
import type { Snippets } from './json-schema-snippets.ts';
import { type EditorText, editorTextOf, isEmpty, titleOf } from './json-schema-text.ts';
import { type EditorVocabulary, type EditorWord, type Plugin, wordsOf } from './json-schema-words.ts';
import { ITEM_NAME } from './schema-parts.ts';

/** Keywords that mean the same to both. All others are our own, or TypeBox's. */
const SHARED = [
  'type',
  'const',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
] as const;

/** Turns schemas of the language into what editors read. */
export class SchemaConverter {
  /** What several places refer to. */
  readonly definitions: Record<string, JsonSchema> = {};
  readonly #words: EditorVocabulary;
  readonly #rules: SchemaRules;
  readonly #snippets: Snippets;

  constructor(words: EditorVocabulary, rules: SchemaRules, snippets: Snippets) {
    this.#words = words;
    this.#rules = rules;
    this.#snippets = snippets;
  }

  /** `path` as in HINTS; `isRequired` where it cannot be left out. */
  convert(schema: TSchema, path: string, isRequired = false): JsonSchema {
    const hint = HINTS[path] ?? {};
    const title = hint.title ?? schema.title ?? titleOf(lastOf(path));
    const forms = withShort(this.#forms(schema, path, hint), hint);
    return {
      ...editorTextOf(schema, title, isRequired, hint.sees),
      ...defaultOf(schema),
      ...(forms.every((form) => form.enum === undefined) && examplesOf(schema)),
      ...oneOf(forms),
    };
  }

  /** What a plugin takes. */
  options(plugin: Plugin): JsonSchema {
    const schema = plugin.kind === 'provider' ? plugin.settings : plugin.options;
    const path = `${plugin.kind}:${plugin.name}`;
    const { title, ...options } = this.convert({ additionalProperties: false, ...schema }, path);
    return { title: `What ${plugin.name} takes`, ...options };
  }

  /** The forms that a value can have. */
  #forms(schema: TSchema, path: string, hint: EditorHint): JsonSchema[] {
    if (path === 'cases[].given.messages') return [MESSAGES];
    const words = wordsOf(schema);
    if (words) return [{ type: 'string', ...enumOf(words) }];
    if (Array.isArray(schema.anyOf)) return schema.anyOf.flatMap((one: TSchema) => this.#forms(one, path, hint));
    if (schema.type === 'object') return [this.#map(schema, path, hint)];
    if (schema.type === 'array')
      return [{ ...shared(schema), items: this.#item(schema, path), ...this.#snippetsOf(path, 'array') }];
    const known = hint.names && schema.type === 'string' ? this.#words[hint.names] : [];
    // Error codes are all known; of all else there may be more.
    if (hint.names === 'error') return [{ type: 'string', ...enumOf(known) }];
    const expected: unknown = schema.expected;
    const plain = {
      ...shared(schema),
      ...(typeof expected === 'string' && { patternErrorMessage: `Write ${plainly(expected)}.` }),
    };
    return known.length === 0 ? [plain] : [plain, { type: 'string', ...enumOf(known) }];
  }

  /** What a list holds. Names are offered as snippets: to a list of several forms, editors offer items that are none. */
  #item(list: TSchema, path: string): JsonSchema {
    const schema: TSchema = list.items ?? {};
    const hint = HINTS[`${path}[]`] ?? HINTS[path] ?? {};
    if (!hint.names || schema.type !== 'string')
      return { ...this.convert(schema, `${path}[]`), ...this.#aboutItem(schema, list, path) };
    const [plain = {}] = this.#forms(schema, path, {});
    const offers = this.#words[hint.names].map(([label]) => ({ label, body: label }));
    return { ...this.#aboutItem(schema, list, path), ...plain, defaultSnippets: offers };
  }

  /** An item that says nothing of itself is what its list says. */
  #aboutItem(schema: TSchema, list: TSchema, path: string): EditorText {
    const { description } = list;
    return editorTextOf(
      { description, ...schema },
      HINTS[`${path}[]`]?.title ?? titleOf(lastOf(path)),
      false,
      undefined,
    );
  }

  /** Keys stand inside `allOf`: else editors would write all defaults out where a map is begun. */
  #map(schema: TSchema, path: string, hint: EditorHint): JsonSchema {
    const properties = this.#properties(schema, path, hint);
    const required = requiredOf(schema);
    const others = this.#others(schema, path);
    const keys = {
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...(hint.isNamed && {
        propertyNames: {
          type: 'string',
          pattern: ITEM_NAME.pattern,
          patternErrorMessage: `A name has ${ITEM_NAME.expected}.`,
        },
      }),
      ...(others !== undefined && { additionalProperties: others }),
      ...this.#snippetsOf(path),
    };
    // An editor's own words would be `Expected "Quality"`, by its title.
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

  #snippetsOf(path: string, type = 'object'): JsonSchema {
    const snippets = this.#snippets[path];
    if (!snippets) return {};
    return {
      defaultSnippets: snippets.map(({ description, ...snippet }) => ({
        ...snippet,
        type,
        description: plainly(description),
        markdownDescription: description,
      })),
    };
  }

  /** What stands under a key that is none of the known ones. */
  #others(schema: TSchema, path: string): JsonSchema | false | undefined {
    const each = eachOf(schema);
    if (each && Object.keys(each).length === 0) return undefined;
    if (each) return HINTS[path]?.keys ? this.#each(each, path) : this.convert(each, `${path}.*`);
    return schema.additionalProperties === false && !schema.patternProperties ? false : undefined;
  }

  /** What stands under each key, where some keys are known. */
  #each(schema: TSchema, path: string): JsonSchema {
    const name = `each.${lastOf(path)}`;
    this.definitions[name] ??= this.convert(schema, `${path}.*`);
    return { $ref: `#/definitions/${name}` };
  }
}

/** A section may be empty, too. */
export function nullable(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  if (typeof type !== 'string') return schema;
  return { ...schema, type: [type, 'null'], errorMessage: `Needs a ${type === 'array' ? 'list' : 'map'}.` };
}

/**
 * Each form stands two deep, because an editor that finds as many forms to match as there are shows the texts of all of
 * them, and there are none: what is to be said stands outside.
 */
function oneOf(forms: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = forms;
  return others.length === 0 ? first : { anyOf: forms.map((form) => ({ allOf: [{ allOf: [form] }] })) };
}

/** With the short forms of a value, which the loader writes out before it checks. */
function withShort(forms: readonly JsonSchema[], { short }: EditorHint): readonly JsonSchema[] {
  if (!short) return forms;
  const words = short.map(([word]) => word).join(', ');
  const told = forms.map((form) => ({
    ...form,
    errorMessage: `Needs ${form.type === 'object' ? 'a map' : `a ${form.type}`}, or ${words}.`,
  }));
  return [...told, { type: 'string', ...enumOf(short) }];
}

function enumOf(words: readonly EditorWord[]): JsonSchema {
  const meanings = words.map(([, means]) => means);
  const isTold = meanings.some((means) => means !== '');
  const isMarkdown = meanings.some((means) => means.includes('`'));
  return {
    enum: words.map(([word]) => word),
    ...(isTold && { enumDescriptions: meanings.map(plainly) }),
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

/** Editors read patterns as Unicode, and complain of those that cannot be. */
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

/** The schema of what stands under each key of a map whose keys are names; null where they are known, or of a form. */
function eachOf({ patternProperties = {}, additionalProperties }: TSchema): TSchema | null {
  const [[pattern, schema] = []] = Object.entries<TSchema>(patternProperties);
  if (schema) return pattern === '^(.*)$' ? schema : null;
  return typeof additionalProperties === 'object' ? additionalProperties : null;
}

/** What is empty says nothing. */
function defaultOf(schema: TSchema): JsonSchema {
  return schema.default === undefined || isEmpty(schema.default) ? {} : { default: schema.default };
}

/** An example that is the default, or all there is, is none. */
function examplesOf(schema: TSchema): JsonSchema {
  const stated: unknown[] = Array.isArray(schema.examples) ? schema.examples : [];
  const known = [schema.default, schema.const].map((one) => JSON.stringify(one));
  const isValue = (one: unknown) => (Array.isArray(one) ? one.length > 0 : typeof one !== 'object');
  const examples = stated.filter((one) => isValue(one) && !known.includes(JSON.stringify(one)));
  return examples.length === 0 ? {} : { examples };
}
