import type { TSchema } from '@sinclair/typebox';
import type { Columns, Operation } from '../admin/kit/operation.ts';
import { isMap, withoutNull } from '../admin/kit/values.ts';
import { commandOf } from '../core/define/field.ts';
import { isObject, objectOf, objectsIn } from '../core/json/object.ts';
import type { Members } from '../core/json/original.ts';
import { visible, visibleLines } from '../core/text/visible.ts';
import { grid } from './terminal.ts';
import { fieldLines, labelTexts } from './text.ts';

/** The text that is shown for an absent value. */
const NONE = '-';

/** Returns an answer as the command prints it. @param isVerbose whether to print every member */
export function printed(operation: Operation, body: unknown, id: string, isVerbose = true): string {
  const { prints = 'fields', output, brief } = operation;
  if (brief && !isVerbose) {
    const lines = brief(body as never).flatMap(([title, text]) =>
      text === null ? [] : [[title, visible(text)] as const],
    );
    return fieldLines(lines, Math.max(...lines.map(([title]) => title.length)) + 2);
  }
  if (typeof prints === 'function') return visibleLines(prints(body as never, id));
  if (prints !== 'fields') return tableOf(prints, output, body);
  const members = Object.entries(output.properties as Record<string, TSchema>);
  const lines = members
    .flatMap(([name, field]) => linesOf(name, field, objectOf(body)))
    .filter(([, text]) => text !== NONE);
  return fieldLines(lines, Math.max(...lines.map(([name]) => name.length)) + 2);
}

/** The lines of a member: one line, or for a list of objects one line for each object. */
function linesOf(name: string, whole: TSchema, owner: Members): [name: string, text: string][] {
  const field = withoutNull(whole);
  const title = titleOf(name, whole);
  const value = owner[name];
  if (field.items?.type !== 'object' || !Array.isArray(value)) return [[title, shownText(whole, value, owner)]];
  return value.map((one) => [title.replace(/s$/, ''), shownText(field.items, one, owner)]);
}

/**
 * Finds the list in an answer, and the schema of the list.
 * @param of name of the member; by default the first list of objects
 */
export const listIn = ({ properties }: TSchema, of?: string): [name: string, field: TSchema] | undefined =>
  Object.entries(properties as Record<string, TSchema>).find(([name, field]) =>
    of === undefined ? field.items?.properties : name === of,
  );

function tableOf({ of, columns, rows: rowsOf, sum }: Columns, output: TSchema, body: unknown): string {
  const [name = '', list] = listIn(output, of) ?? [];
  const rows = objectsIn(rowsOf ? rowsOf(body as never) : objectOf(body)[name]);
  const cells = columns.flatMap((column) => columnsOf(column.split('.'), list!.items, rows));
  // The table leaves out a column if no row has a value in the column.
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

/** The column of a member. A map that is spread has a column for each of its names. */
function columnsOf(path: readonly string[], item: TSchema, rows: readonly Members[]): readonly Column[] {
  const field = path.reduce((outer, name) => withoutNull(outer).properties[name], item);
  const values = rows.map((row) => path.reduce<unknown>((outer, name) => objectOf(outer)[name], row));
  if (!commandOf(field).isSpread) {
    // `whole` contains the main figures of a row, so the titles of its columns do not repeat its name.
    const [, ...inner] = path;
    const names = path[0] === 'whole' ? inner : path;
    const head = (commandOf(field).title ?? names.map((name) => titleOf(name)).join(' ')).toUpperCase();
    return [{ head, texts: values.map((value, at) => shownText(field, value, rows[at]!)) }];
  }
  const maps = values.map(objectOf);
  // A row can lack a name. The rows with the most names have all columns in their order.
  const byNames = maps.toSorted((one, other) => Object.keys(other).length - Object.keys(one).length);
  const names = new Set(byNames.flatMap((map) => Object.keys(map)));
  return [...names].map((one) => ({
    head: visible(titleOf(one)).toUpperCase(),
    texts: maps.map((map) => visible(String(map[one] ?? '')) || NONE),
  }));
}

/** Writes the title of a column, for example `last used` for `last_used_at`. */
const titleOf = (name: string, field?: TSchema): string =>
  (field && commandOf(field).title) ?? name.replace(/_at$/, '').replaceAll('_', ' ');

/** Writes a JSON value for people, safe to show in a terminal: names and notes come from callers. */
const shownText = (whole: TSchema, value: unknown, owner: Members): string => visible(valueText(whole, value, owner));

/** Writes a JSON value for people. @param owner the row or the answer that has the value */
function valueText(whole: TSchema, value: unknown, owner: Members): string {
  const field = withoutNull(whole);
  const { text, none = NONE } = { ...commandOf(field), ...commandOf(whole) };
  if (value === null || value === undefined || value === '') return none;
  if (text) return text(value as never, owner as never);
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 6 });
  if (Array.isArray(value)) return value.map((one) => valueText(field.items, one, owner)).join(', ') || none;
  if (!isObject(value)) return String(value);
  if (isMap(field)) return labelTexts(value as Record<string, string>).join(', ') || none;
  const members = Object.entries(field.properties as Record<string, TSchema>).filter(([name]) => value[name] !== null);
  const texts = members.map(([name, one]) => [titleOf(name, one), valueText(one, value[name], owner)]);
  return (
    texts
      .filter(([, one]) => one !== NONE)
      .map((pair) => pair.join(' '))
      .join(', ') || none
  );
}
