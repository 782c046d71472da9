import { type NumberOptions, type TSchema, Type } from '@sinclair/typebox';
import { AMOUNT_LENGTH_MAX } from '../money/amount.ts';
import { didYouMean, either } from '../text/text.ts';

/** The words for schemas that only policies have. `fields.ts` has the others. */

/** Schema options for a map that people state as one value: the hint writes these keys, with the value in place of `{value}`. */
export const writtenAs = (keys: string) => ({ writtenAs: keys });

/** Schema options for a value that people state as a list: the hint writes this key with the list. */
export const listedIn = (key: string) => ({ listedIn: key });

/** Schema options for a value that people state as a map: the hint for a map. */
export const notAMap = (hint: string) => ({ hintForMap: hint });

/** Schema options for a map that needs at least one of these keys. Editors and `checkNeeded` use the option `anyOf`. */
export const needsOneOf = (...keys: readonly string[]) => ({
  anyOf: keys.map((key) => ({ required: [key], errorMessage: `Needs the key ${either(keys)}.` })),
});

/** Schema options for a map in which one key excludes other keys. Editors and `checkExcluded` use the options about excluded keys. */
export const excludes = (key: string, ...others: readonly string[]) => ({
  dependencies: { [key]: { properties: Object.fromEntries(others.map((other) => [other, false])) } },
});

/** Schema options for a map in which each of several keys excludes the same other keys. */
export const excludesEach = (keys: readonly string[], others: readonly string[]) => ({
  dependencies: Object.assign({}, ...keys.map((key) => excludes(key, ...others).dependencies)),
});

/** Hints for words of other tools that mean one of the accepted words. */
export const meaning = (word: string, words: string): Readonly<Record<string, string>> =>
  Object.fromEntries(words.split(' ').map((other) => [other, didYouMean(word)]));

/** Returns the words of a union of string literals; null for any other schema. */
export function literalsOf({ anyOf: options = [] }: TSchema): readonly string[] | null {
  const words: readonly unknown[] = options.map((one: TSchema) => one.const);
  return words.length > 0 && words.every((word) => typeof word === 'string') ? words : null;
}

/** A list of texts; empty if the policy leaves it out. */
export const texts = (example: readonly string[], description: string, maxLength?: number) =>
  Type.Array(Type.String({ minLength: 1, ...(maxLength !== undefined && { maxLength }) }), {
    default: [],
    examples: [example],
    description,
  });

/** The most characters of a CEL expression. */
export const EXPRESSION_LENGTH_MAX = 4000;

/** A CEL expression. Messages show the first example of an expression; editors offer all examples. */
export const expression = (description: string, ...examples: readonly [string, ...string[]]) =>
  Type.String({ minLength: 1, maxLength: EXPRESSION_LENGTH_MAX, examples, description });

/** The forms of an amount, for the diagnostic of a value that is none. */
export const AMOUNT_FORMS = 'an amount such as 20, 20.50, 20,000, $20 or 20 USD';

/** An amount of money: a number, or a text such as `20,000` or `20 USD`, which `parseAmount` reads. */
export const policyAmount = (
  { example, default: fallback, ...bounds }: NumberOptions & { readonly example?: unknown },
  description: string,
  ...examples: string[]
) =>
  Type.Unsafe<number | string>(
    Type.Union([Type.Number({ ...bounds, description }), Type.String({ minLength: 1, maxLength: AMOUNT_LENGTH_MAX })], {
      expected: AMOUNT_FORMS,
      ...(fallback !== undefined && { default: fallback }),
      examples: [example ?? fallback, ...examples],
      description,
    }),
  );

export const ITEM_NAME = {
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$',
  expected: 'letters, digits and . _ : / @ + - after a letter or digit, at most 128',
} as const;

/** The name of an item of a list. */
export const itemName = (description: string, example: string) =>
  Type.String({ ...ITEM_NAME, examples: [example], description });

/** The form of an alias. */
const ALIAS_NAME = {
  pattern: `${ITEM_NAME.pattern.slice(0, -1)}\\*?$`,
  expected: `${ITEM_NAME.expected}; it may end in \`*\`, which covers all names that begin with it`,
};

/** Other names under which callers reach an item. An item has no aliases by default. */
export const aliasList = (description: string, example: string) =>
  Type.Array(Type.String(ALIAS_NAME), { default: [], examples: [[example]], description });

/** The form of an environment variable's name. The form allows only capitals, so that a pasted key does not match. */
export const VARIABLE_NAME = {
  pattern: '^[A-Z_][A-Z0-9_]*$',
  expected: 'the name of an environment variable, in capitals',
} as const;

/** A date such as `2026-10-07`. */
export function day(description: string) {
  return Type.String({
    pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
    expected: 'a day such as 2026-10-07',
    examples: ['2026-10-07'],
    description,
  });
}
