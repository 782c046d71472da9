/** Tokens of the values that a schema leaves open: a short text, one that is prose by its name, and others. */
const TEXT = 12;
const PROSE = 120;
const NUMBER = 3;
const FLAG = 1;
const ITEMS = 3;
const ITEMS_MAX = 1_000;
/** Characters a token, and what a key or an item needs beside its name: quotes, colon, comma. */
const CHARACTERS = 4;
const AROUND = 3;
/** Schemas within each other that are looked into. */
const DEPTH_MAX = 40;
const TOKENS_MAX = 100_000;

/** Names of fields that hold prose rather than a value. */
const PROSE_NAME =
  /^(?:.*_)?(?:answer|article|body|code|content|description|details|email|essay|explanation|html|letter|markdown|message|paragraph|prose|rationale|reasoning|reply|response|story|summary|text|translation)$/i;
/** A text of a format has its length. */
const FORMAT = 10;

type Schema = Readonly<Record<string, unknown>>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const numberAt = (schema: Schema, key: string): number | null =>
  typeof schema[key] === 'number' && Number.isFinite(schema[key]) ? schema[key] : null;
const listAt = (schema: Schema, key: string): readonly unknown[] => {
  const value = schema[key];
  return Array.isArray(value) ? value : [];
};

/**
 * Tokens that a value of a JSON schema is expected to take. Never fewer with a property more. Pure; what it costs grows
 * with the schema, for each definition is measured once.
 */
export function schemaTokens(schema: unknown): number {
  return Math.min(TOKENS_MAX, Math.ceil(new Measure(schema).of(schema, '', 0)));
}

class Measure {
  readonly #root: unknown;
  /** Tokens by reference; 0 while it is measured, for one that contains itself ends somewhere. */
  readonly #references = new Map<string, number>();

  constructor(root: unknown) {
    this.#root = root;
  }

  /** `name`: of the property that it is the schema of. */
  of(schema: unknown, name: string, depth: number): number {
    if (!isSchema(schema) || depth > DEPTH_MAX) return TEXT;
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
    const chosen = choices.reduce<number>((most, choice) => Math.max(most, this.of(choice, name, depth + 1)), 0);
    return Math.max(chosen, this.#typed(schema, name, depth, choices.length > 0));
  }

  #typed(schema: Schema, name: string, depth: number, isChosen: boolean): number {
    const types = typeof schema.type === 'string' ? [schema.type] : listAt(schema, 'type');
    if (types.includes('object') || isSchema(schema.properties)) return this.#object(schema, depth);
    if (types.includes('array') || 'items' in schema) return this.#array(schema, name, depth);
    if (types.includes('string')) return text(schema, name);
    if (types.includes('number') || types.includes('integer')) return NUMBER;
    if (types.includes('boolean') || types.includes('null')) return FLAG;
    return isChosen || 'allOf' in schema ? 0 : TEXT;
  }

  #object(schema: Schema, depth: number): number {
    const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
    if (properties.length === 0) return isSchema(schema.additionalProperties) ? ITEMS * TEXT : AROUND;
    return properties.reduce((sum, [key, value]) => sum + keyed(key) + this.of(value, key, depth + 1), 2);
  }

  #array(schema: Schema, name: string, depth: number): number {
    const least = Math.max(0, numberAt(schema, 'minItems') ?? 0);
    const most = Math.max(0, numberAt(schema, 'maxItems') ?? ITEMS_MAX);
    const prefix = listAt(schema, 'prefixItems');
    const fixed = prefix.reduce<number>((sum, item) => sum + 1 + this.of(item, name, depth + 1), 0);
    if (prefix.length > 0 && !isSchema(schema.items)) return 2 + fixed;
    const items = Math.min(ITEMS_MAX, Math.max(least, Math.min(most, ITEMS)));
    return 2 + fixed + items * (1 + this.of(schema.items, '', depth + 1));
  }

  #reference(reference: string, name: string, depth: number): number {
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    this.#references.set(reference, 0);
    const tokens = this.of(pointed(this.#root, reference), name, depth + 1);
    this.#references.set(reference, tokens);
    return tokens;
  }
}

const keyed = (key: string): number => AROUND + Math.ceil(key.length / CHARACTERS);

function literal(value: unknown): number {
  if (typeof value === 'string') return 1 + Math.ceil(value.length / CHARACTERS);
  return typeof value === 'number' ? NUMBER : FLAG;
}

function text(schema: Schema, name: string): number {
  const usual = typeof schema.format === 'string' ? FORMAT : PROSE_NAME.test(name) ? PROSE : TEXT;
  const most = Math.max(0, numberAt(schema, 'maxLength') ?? Number.POSITIVE_INFINITY) / CHARACTERS;
  const least = Math.max(0, numberAt(schema, 'minLength') ?? 0) / CHARACTERS;
  return Math.min(TOKENS_MAX, Math.max(least, Math.min(most, usual))) + 2;
}

/** What a reference into the same schema points at: `#/$defs/item`. */
function pointed(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return null;
  let at = root;
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    if (!isSchema(at)) return null;
    at = Object.hasOwn(at, step) ? at[step] : null;
  }
  return at;
}
