import {
  type IntegerOptions,
  type NumberOptions,
  type ObjectOptions,
  type SchemaOptions,
  type StringOptions,
  type TProperties,
  type TUnsafe,
  Type,
} from '@sinclair/typebox';

interface ClosedOptions extends ObjectOptions {
  readonly description: string;
}

/** A map in which unknown keys are errors. */
export function closed<Properties extends TProperties>(properties: Properties, options: ClosedOptions) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** Options of a schema. With a default and no example, the default is the example. */
type ValueOptions<Options> = Omit<Options, 'description' | 'examples'> & { readonly example?: unknown };

function described<Options extends SchemaOptions>({ example, ...options }: ValueOptions<Options>, description: string) {
  const shown = example ?? options.default;
  return { ...options, ...(shown !== undefined && { examples: [shown] }), description };
}

export const integer = (options: ValueOptions<IntegerOptions>, description: string) =>
  Type.Integer(described(options, description));
export const number = (options: ValueOptions<NumberOptions>, description: string) =>
  Type.Number(described(options, description));
export const string = (options: ValueOptions<StringOptions>, description: string) =>
  Type.String(described(options, description));
export const boolean = (options: ValueOptions<SchemaOptions>, description: string) =>
  Type.Boolean(described(options, description));

interface WordOptions<Word extends string> extends SchemaOptions {
  readonly description: string;
  /** Word → its meaning, for editors. */
  readonly means?: Readonly<Record<Word, string>>;
}

/** A union of string literals. */
export function oneOf<const Words extends readonly [string, ...string[]]>(
  words: Words,
  { means, ...options }: WordOptions<Words[number]>,
): TUnsafe<Words[number]> {
  const literals = words.map((word: Words[number]) => Type.Literal(word, means && { description: means[word] }));
  return Type.Unsafe<Words[number]>(Type.Union(literals, options));
}

/** Limit of characters of a CEL expression. */
export const EXPRESSION_LENGTH_MAX = 4000;

/** A CEL expression. Messages show the first example, editors all of them. */
export const expression = (description: string, ...examples: readonly [string, ...string[]]) =>
  Type.String({ minLength: 1, maxLength: EXPRESSION_LENGTH_MAX, examples, description });

export const ITEM_NAME = {
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$',
  expected: 'letters, digits and . _ : / @ + - after a letter or digit, at most 128',
} as const;

/** The name of an item of a list. */
export const itemName = (description: string, example: string) =>
  Type.String({ ...ITEM_NAME, examples: [example], description });

/** The form of a variable's name. Capitals only, so that a pasted key does not match. */
export const VARIABLE_NAME = {
  pattern: '^[A-Z_][A-Z0-9_]*$',
  expected: 'the name of an environment variable, in capitals',
} as const;

/** A day such as `2026-10-07`. */
export function day(description: string) {
  return Type.String({
    pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
    expected: 'a day such as 2026-10-07',
    examples: ['2026-10-07'],
    description,
  });
}
