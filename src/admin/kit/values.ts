import type { TSchema } from '@sinclair/typebox';
import { refuse } from '../../core/errors.ts';
import { refusalCodeOf } from './fields.ts';

/** Texts of a query or of a command's flags, as the values that a schema has. */

/** Whether a field has values by names, such as labels. */
export const isMap = ({ type, patternProperties }: TSchema): boolean =>
  type === 'object' && patternProperties !== undefined;

/** The words of which a field is one; none for another field. */
export const wordsOf = (field: TSchema): readonly string[] =>
  ((field.anyOf ?? [field]) as readonly TSchema[]).flatMap(({ const: word }) =>
    typeof word === 'string' ? [word] : [],
  );

/** The schema of a value that may also be null. */
export function withoutNull(field: TSchema): TSchema {
  const variants: readonly TSchema[] = field.anyOf ?? [];
  const [one, other] = variants;
  return variants.length === 2 && one && other?.type === 'null' ? one : field;
}

/**
 * Reads the texts of a field. A text that is neither true nor false stays a text, which the check of the input refuses.
 * @param name of the parameter or the flag, for errors
 * @throws SignalboxError `invalid_value` for a pair without a name, or two pairs of one name; of `out_of_range` too, for a number
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
    if (pairs.has(key)) refuse(name, `${quoted(name)} gives ${key} twice; it takes one value.`);
    pairs.set(key, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}

/** A parameter in backticks; a flag as it is. */
const quoted = (name: string): string => (name.startsWith('-') ? name : `\`${name}\``);

/** Bounds of one side alone are left to the check of the input. */
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
