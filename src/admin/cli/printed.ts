import type { TSchema } from '@sinclair/typebox';
import { isObject, objectOf, objectsIn } from '../../core/object.ts';
import type { Members } from '../../core/original.ts';
import { commandOf } from '../kit/fields.ts';
import type { Columns, Operation } from '../kit/operation.ts';
import { isMap, withoutNull } from '../kit/values.ts';
import { cursorOf } from './operation-flags.ts';
import { grid } from './terminal.ts';
import { fieldLines, labelTexts } from './text.ts';

/** Shown for an absent value. */
const NONE = '-';

/** Returns an answer as a command prints it. */
export function printed(operation: Operation, body: unknown, id: string): string {
  const { prints = 'fields', output } = operation;
  if (typeof prints === 'function') return prints(body as never, id);
  if (prints !== 'fields') return `${tableOf(prints, output, body)}${moreOf(operation, body)}`;
  const members = Object.entries(output.properties as Record<string, TSchema>);
  const lines = members
    .flatMap(([name, field]) => linesOf(name, field, isObject(body) ? body[name] : undefined))
    .filter(([, text]) => text !== NONE);
  return fieldLines(lines, Math.max(...lines.map(([name]) => name.length)) + 2);
}

/** How to get the items after those of the list; empty where there are none. */
function moreOf(operation: Operation, body: unknown): string {
  const cursor = cursorOf(operation);
  if (cursor === null || !isObject(body) || body.has_more !== true) return '';
  return `\nMore follow. For the next page, add: --${cursor} ${body.next_after ?? objectsIn(body.data).at(-1)?.id}\n`;
}

/** The lines of a member: one, or for a list of objects one of each. */
function linesOf(name: string, whole: TSchema, value: unknown): [name: string, text: string][] {
  const field = withoutNull(whole);
  const title = titleOf(name);
  if (field.items?.type !== 'object' || !Array.isArray(value)) return [[title, valueText(whole, value)]];
  return value.map((one) => [title.replace(/s$/, ''), valueText(field.items, one)]);
}

/** The member of an answer that is its list, and the schema of this member. @param of its name; the first list of objects unless stated */
export const listIn = ({ properties }: TSchema, of?: string): [name: string, field: TSchema] | undefined =>
  Object.entries(properties as Record<string, TSchema>).find(([name, field]) =>
    of === undefined ? field.items?.properties : name === of,
  );

function tableOf({ of, columns, rows: rowsOf, sum }: Columns, output: TSchema, body: unknown): string {
  const [name = '', list] = listIn(output, of) ?? [];
  const rows = objectsIn(rowsOf ? rowsOf(body as never) : objectOf(body)[name]);
  const cells = columns.flatMap((column) => columnsOf(column.split('.'), list!.items, rows));
  // A column that no row has anything in tells nothing.
  const kept = cells.filter(({ texts }, at) => at === 0 || rows.length === 0 || texts.some((text) => text !== NONE));
  const table = grid(
    [kept.map(({ head }) => head), ...rows.map((_, at) => kept.map(({ texts }) => texts[at]!))],
    false,
    (at) => kept[at]!.texts.every((text) => /^-?[\d.,]+$/.test(text)),
  );
  const text = `${table.join('\n')}\n`;
  const end = sum?.(body as never) ?? '';
  return rows.length === 0 && end !== '' ? end : `${text}${end && `\n${end}`}`;
}

interface Column {
  readonly head: string;
  readonly texts: readonly string[];
}

/** The column of a member; of a map that is spread, one for each of its names. */
function columnsOf(path: readonly string[], item: TSchema, rows: readonly Members[]): readonly Column[] {
  const field = path.reduce((outer, name) => withoutNull(outer).properties[name], item);
  const values = rows.map((row) => path.reduce<unknown>((outer, name) => objectOf(outer)[name], row));
  if (!commandOf(field).isSpread) {
    // `whole` has the main figures of a row, so that its columns need no prefix.
    const [, ...inner] = path;
    const head = (path[0] === 'whole' ? inner : path).map(titleOf).join(' ').toUpperCase();
    return [{ head, texts: values.map((value) => valueText(field, value)) }];
  }
  const maps = values.map(objectOf);
  const names = new Set(maps.flatMap((map) => Object.keys(map)));
  return [...names].map((one) => ({
    head: titleOf(one).toUpperCase(),
    texts: maps.map((map) => String(map[one] ?? '') || NONE),
  }));
}

/** `last_used_at` is titled `last used`. */
const titleOf = (name: string): string => name.replace(/_at$/, '').replaceAll('_', ' ');

/** A value on the wire as a person reads it. */
function valueText(whole: TSchema, value: unknown): string {
  const field = withoutNull(whole);
  const { text, none = NONE } = { ...commandOf(field), ...commandOf(whole) };
  if (value === null || value === undefined || value === '') return none;
  if (text) return text(value as never);
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 6 });
  if (Array.isArray(value)) return value.map((one) => valueText(field.items, one)).join(', ') || none;
  if (!isObject(value)) return String(value);
  if (isMap(field)) return labelTexts(value as Record<string, string>).join(', ') || none;
  const members = Object.entries(field.properties as Record<string, TSchema>).filter(([name]) => value[name] !== null);
  const texts = members.map(([name, one]) => [titleOf(name), valueText(one, value[name])]);
  return (
    texts
      .filter(([, one]) => one !== NONE)
      .map((pair) => pair.join(' '))
      .join(', ') || none
  );
}
