import type { TSchema } from '@sinclair/typebox';
import { refusalCodeOf } from '../../core/define/field.ts';
import { refuse } from '../../core/errors.ts';

/** This file converts the texts of a query or of a command's flags to the values of a schema. */

/** Whether a field is a map, such as labels. */
export const isMap = ({ type, patternProperties }: TSchema): boolean =>
  type === 'object' && patternProperties !== undefined;

/** The words that a field allows; empty if any text is allowed. */
export const wordsOf = (field: TSchema): readonly string[] =>
  ((field.anyOf ?? [field]) as readonly TSchema[]).flatMap(({ const: word }) =>
    typeof word === 'string' ? [word] : [],
  );

/** The schema of a field without its null. */
export function withoutNull(field: TSchema): TSchema {
  const variants: readonly TSchema[] = field.anyOf ?? [];
  const [one, other] = variants;
  return variants.length === 2 && one && other?.type === 'null' ? one : field;
}

/**
 * Converts the texts of a field to a value. A text for a boolean that is neither true nor false stays a text; the check of the input
 * refuses it.
 * @param name of the parameter or the flag, for errors
 * @throws SignalboxError `invalid_value` for a pair without a name or a repeated name, and for a text that is not a number; `out_of_range`
 * for some numbers out of range
 */
export function parsedValue(name: string, field: TSchema, texts: readonly string[]): unknown {
  if (isMap(field)) return pairsIn(name, texts);
  if (field.type === 'array') return texts.flatMap((text) => text.split(',')).map((text) => text.trim());
  const [text = ''] = texts;
  switch (withoutNull(field).type) {
    case 'integer':
      return /^-?\d+$/.test(text) && isWithin(Number(text), field) ? Number(text) : refuseNumber(name, field);
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' || (text === 'false' ? false : text);
    default:
      return text;
  }
}

function pairsIn(name: string, texts: readonly string[]): Record<string, string> {
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) refuse(name, `${quoted(name)} must have the form name=value, not \`${text.slice(0, 64)}\`.`);
    const key = text.slice(0, at);
    if (pairs.has(key)) refuse(name, `${quoted(name)} gives ${key} twice. Give it once.`);
    pairs.set(key, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}

/** Writes a parameter in backticks, and a flag without them. */
const quoted = (name: string): string => (name.startsWith('-') ? name : `\`${name}\``);

/** A field with only one bound is left to the check of the input. */
function isWithin(number: number, field: TSchema): boolean {
  const { minimum, maximum } = withoutNull(field);
  return minimum === undefined || maximum === undefined || (number >= minimum && number <= maximum);
}

function refuseNumber(name: string, field: TSchema): never {
  const { minimum, maximum } = withoutNull(field);
  const isBounded = minimum !== undefined && maximum !== undefined;
  const range = isBounded ? ` from ${minimum} to ${maximum}` : '';
  refuse(name, `${quoted(name)} must be a whole number${range}.`, isBounded ? refusalCodeOf(field) : 'invalid_value');
}
