import { isObject, listOf } from '../../core/json/object.ts';
import file from './lexicon/answers.json' with { type: 'json' };
import { expressionsOf, figuresOf } from './lexicon/data.ts';

const ITEMS_MAX = 1_000;
const DEPTH_MAX = 40;
const TOKENS_MAX = 100_000;

const LENGTH = figuresOf(file);
const { prose_field: PROSE_NAME } = expressionsOf(file);

type Schema = Readonly<Record<string, unknown>>;

const numberAt = (schema: Schema, key: string): number | null =>
  typeof schema[key] === 'number' && Number.isFinite(schema[key]) ? schema[key] : null;
const listAt = (schema: Schema, key: string): readonly unknown[] => listOf(schema[key]);

/**
 * Returns the expected tokens of a value that matches a JSON schema. Adding a property to a schema never lowers the result of
 * `schemaTokens`. `schemaTokens` is pure. The time of `schemaTokens` is linear in the size of the schema, because each definition is
 * measured once.
 */
export function schemaTokens(schema: unknown): number {
  return Math.min(TOKENS_MAX, Math.ceil(new Measure(schema).of(schema, '', 0)));
}

class Measure {
  readonly #root: unknown;
  /** The tokens by reference; 0 while the referenced schema is being measured, so that recursion ends. */
  readonly #references = new Map<string, number>();

  constructor(root: unknown) {
    this.#root = root;
  }

  /** Returns the expected tokens of a schema. `name` is the name of the property that has this schema. */
  of(schema: unknown, name: string, depth: number): number {
    if (!isObject(schema) || depth > DEPTH_MAX) return LENGTH.field_text_tokens;
    const one = this.#one(schema, name, depth);
    const also = listAt(schema, 'allOf').reduce<number>((sum, part) => sum + this.of(part, name, depth + 1), 0);
    return Math.min(TOKENS_MAX, one + also);
  }

  #one(schema: Schema, name: string, depth: number): number {
    if (typeof schema.$ref === 'string') return this.#reference(schema.$ref, name, depth);
    if ('const' in schema) return literal(schema.const);
    const values = listAt(schema, 'enum');
    if (values.length > 0) return values.reduce<number>((sum, value) => sum + literal(value), 0) / values.length;
    const choices = [...listAt(schema, 'anyOf'), ...listAt(schema, 'oneOf')];
    const longest = choices.reduce<number>((most, choice) => Math.max(most, this.of(choice, name, depth + 1)), 0);
    return Math.max(longest, this.#typed(schema, name, depth, choices.length > 0));
  }

  #typed(schema: Schema, name: string, depth: number, hasChoices: boolean): number {
    const types = typeof schema.type === 'string' ? [schema.type] : listAt(schema, 'type');
    if (types.includes('object') || isObject(schema.properties)) return this.#object(schema, depth);
    if (types.includes('array') || 'items' in schema) return this.#array(schema, name, depth);
    if (types.includes('string')) return text(schema, name);
    if (types.includes('number') || types.includes('integer')) return LENGTH.field_number_tokens;
    if (types.includes('boolean') || types.includes('null')) return LENGTH.field_flag_tokens;
    return hasChoices || 'allOf' in schema ? 0 : LENGTH.field_text_tokens;
  }

  #object(schema: Schema, depth: number): number {
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    if (properties.length === 0)
      return isObject(schema.additionalProperties)
        ? LENGTH.list_items * LENGTH.field_text_tokens
        : LENGTH.field_name_tokens;
    return properties.reduce((sum, [key, value]) => sum + keyTokens(key) + this.of(value, key, depth + 1), 2);
  }

  #array(schema: Schema, name: string, depth: number): number {
    const least = Math.max(0, numberAt(schema, 'minItems') ?? 0);
    const most = Math.max(0, numberAt(schema, 'maxItems') ?? ITEMS_MAX);
    const prefix = listAt(schema, 'prefixItems');
    const fixed = prefix.reduce<number>((sum, item) => sum + 1 + this.of(item, name, depth + 1), 0);
    if (prefix.length > 0 && !isObject(schema.items)) return 2 + fixed;
    const items = Math.min(ITEMS_MAX, Math.max(least, Math.min(most, LENGTH.list_items)));
    return 2 + fixed + items * (1 + this.of(schema.items, '', depth + 1));
  }

  #reference(reference: string, name: string, depth: number): number {
    const measured = this.#references.get(reference);
    if (measured !== undefined) return measured;
    this.#references.set(reference, 0);
    const tokens = this.of(resolveReference(this.#root, reference), name, depth + 1);
    this.#references.set(reference, tokens);
    return tokens;
  }
}

const keyTokens = (key: string): number => LENGTH.field_name_tokens + Math.ceil(key.length / LENGTH.token_chars);

function literal(value: unknown): number {
  if (typeof value === 'string') return 1 + Math.ceil(value.length / LENGTH.token_chars);
  return typeof value === 'number' ? LENGTH.field_number_tokens : LENGTH.field_flag_tokens;
}

function text(schema: Schema, name: string): number {
  const usual =
    typeof schema.format === 'string'
      ? LENGTH.field_format_tokens
      : PROSE_NAME.test(name)
        ? LENGTH.field_prose_tokens
        : LENGTH.field_text_tokens;
  const most = Math.max(0, numberAt(schema, 'maxLength') ?? Number.POSITIVE_INFINITY) / LENGTH.token_chars;
  const least = Math.max(0, numberAt(schema, 'minLength') ?? 0) / LENGTH.token_chars;
  return Math.min(TOKENS_MAX, Math.max(least, Math.min(most, usual))) + 2;
}

/** Resolves a reference within the same schema, such as `#/$defs/item`. */
function resolveReference(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return null;
  let at = root;
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    if (!isObject(at)) return null;
    at = Object.hasOwn(at, step) ? at[step] : null;
  }
  return at;
}
