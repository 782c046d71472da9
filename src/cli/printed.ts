import type { TSchema } from '@sinclair/typebox';
import { commandOf } from '../admin/kit/fields.ts';
import type { Columns, Operation } from '../admin/kit/operation.ts';
import { isMap, withoutNull } from '../admin/kit/values.ts';
import { isObject, objectOf, objectsIn } from '../core/object.ts';
import type { Members } from '../core/original.ts';
import { grid } from './terminal.ts';
import { fieldLines, labelTexts } from './text.ts';

/** Shown for an absent value. */
const NONE = '-';

/** Returns an answer as a command prints it. */
export function printed({ prints = 'fields', output }: Operation, body: unknown, id: string): string {
  if (typeof prints === 'function') return prints(body as never, id);
  if (prints !== 'fields') return tableOf(prints, output, body);
  const members = Object.entries(output.properties as Record<string, TSchema>);
  const lines = members.flatMap(([name, field]) => linesOf(name, field, isObject(body) ? body[name] : undefined));
  return fieldLines(lines, Math.max(...lines.map(([name]) => name.length)) + 2);
}

/** The lines of a member: one, or for a list of objects one of each. */
function linesOf(name: string, whole: TSchema, value: unknown): [name: string, text: string][] {
  const field = withoutNull(whole);
  const title = titleOf(name);
  if (field.items?.type !== 'object' || !Array.isArray(value)) return [[title, textOf(whole, value)]];
  return value.map((one) => [title.replace(/s$/, ''), textOf(field.items, one)]);
}

/** The member of an answer that is its list, and the schema of this member. */
export const listIn = ({ properties }: TSchema): [name: string, field: TSchema] | undefined =>
  Object.entries(properties as Record<string, TSchema>).find(([, field]) => field.items?.properties);

function tableOf({ columns, sum }: Columns, output: TSchema, body: unknown): string {
  const [name = '', list] = listIn(output) ?? [];
  const rows = isObject(body) ? objectsIn(body[name]) : [];
  const members = list?.items.properties as Record<string, TSchema>;
  const cells = columns.flatMap((column) => columnsOf(column, members[column]!, rows));
  // A column that no row has anything in tells nothing.
  const kept = cells.filter(({ texts }, at) => at === 0 || texts.some((text) => text !== NONE));
  const table = grid(
    [kept.map(({ head }) => head), ...rows.map((_, at) => kept.map(({ texts }) => texts[at]!))],
    false,
    (at) => kept[at]!.texts.every((text) => /^-?[\d.,]+$/.test(text)),
  );
  const text = `${table.join('\n')}\n`;
  return sum ? `${rows.length > 0 ? `${text}\n` : ''}${sum(body as never)}` : text;
}

interface Column {
  readonly head: string;
  readonly texts: readonly string[];
}

/** The column of a member; of a map that is spread, one for each of its names. */
function columnsOf(name: string, field: TSchema, rows: readonly Members[]): readonly Column[] {
  if (!commandOf(field).isSpread) {
    return [{ head: titleOf(name).toUpperCase(), texts: rows.map((row) => textOf(field, row[name])) }];
  }
  const maps = rows.map((row) => objectOf(row[name]));
  const names = new Set(maps.flatMap((map) => Object.keys(map)));
  return [...names].map((one) => ({
    head: titleOf(one).toUpperCase(),
    texts: maps.map((map) => String(map[one] ?? '') || NONE),
  }));
}

/** `last_used_at` is titled `last used`. */
const titleOf = (name: string): string => name.replace(/_at$/, '').replaceAll('_', ' ');

/** A value on the wire as a person reads it. */
function textOf(whole: TSchema, value: unknown): string {
  const field = withoutNull(whole);
  const { text, none = NONE } = { ...commandOf(field), ...commandOf(whole) };
  if (value === null || value === undefined || value === '') return none;
  if (text) return text(value as never);
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 6 });
  if (Array.isArray(value)) return value.map((one) => textOf(field.items, one)).join(', ') || none;
  if (!isObject(value)) return String(value);
  if (isMap(field)) return labelTexts(value as Record<string, string>).join(', ') || none;
  const members = Object.entries(field.properties as Record<string, TSchema>).filter(([name]) => value[name] !== null);
  return members.map(([name, one]) => `${titleOf(name)} ${textOf(one, value[name])}`).join(', ') || none;
}
