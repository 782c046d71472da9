import { Kind, type TSchema } from '@sinclair/typebox';
import { AMOUNT_FORMS } from '../../src/core/define/policy-words.ts';
import { CAPABILITY_NAMES } from '../../src/core/request/capability.ts';

/** Words for the parts of a schema, for a Markdown table. */
export const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
export const cell = (text: string): string => text.replaceAll('|', '\\|').trim();

/** The number of an amount, which people may also write as a text; undefined for any other schema. */
export const amountIn = ({ expected, anyOf }: TSchema): TSchema | undefined =>
  expected === AMOUNT_FORMS ? anyOf?.[0] : undefined;

export function typeName(schema: TSchema): string {
  if (amountIn(schema)) return 'amount';
  const options: TSchema[] | undefined = schema.properties ? undefined : schema.anyOf;
  if (options?.every((option) => 'const' in option)) return wordsOf(options);
  if ('const' in schema) return `\`${schema.const}\``;
  if (schema.type === 'array') return listName(schema.items);
  if (schema.type === 'object') return 'map';
  if (options) return [...new Set(options.map(typeName))].join(' or ');
  if (schema.type === 'string') return 'text';
  return schema.type ?? (schema[Kind] === 'Unknown' ? 'anything' : 'one of several forms');
}

/** The names of capabilities have their own section on the page. */
function wordsOf(options: readonly TSchema[]): string {
  const words = options.map((option) => `${option.const}`);
  const isCapabilities = words.length > 3 && words.every((word) => CAPABILITY_NAMES.some((name) => name === word));
  return isCapabilities ? '[capabilities](#capabilities)' : words.map((word) => `\`${word}\``).join(', ');
}

function listName(items: TSchema | undefined): string {
  if (items?.anyOf && !items.properties) return `list of ${typeName(items)}`;
  return items?.type === 'string' ? 'texts' : 'list';
}

/** Returns the bounds of a number, such as ` 0–1` or ` >0, ≤100`. */
export function limitsOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: TSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum}–${maximum}`;
  const low = minimum !== undefined ? `≥${minimum}` : exclusiveMinimum !== undefined ? `>${exclusiveMinimum}` : null;
  const high = maximum !== undefined ? `≤${maximum}` : exclusiveMaximum !== undefined ? `<${exclusiveMaximum}` : null;
  const bounds = [low, high].filter((bound) => bound !== null);
  return bounds.length > 0 ? ` ${bounds.join(', ')}` : '';
}
