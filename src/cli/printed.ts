import type { TSchema } from '@sinclair/typebox';
import { commandOf } from '../admin/kit/fields.ts';
import type { Columns, Operation } from '../admin/kit/operation.ts';
import { isMap, withoutNull } from '../admin/kit/values.ts';
import { isObject } from '../core/object.ts';
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

function tableOf({ columns, sum }: Columns, output: TSchema, body: unknown): string {
  const [list] = Object.entries(output.properties as Record<string, TSchema>).filter(
    ([, field]) => field.items?.properties,
  );
  const [name = '', field] = list ?? [];
  const rows = isObject(body) && Array.isArray(body[name]) ? body[name] : [];
  const members = field?.items.properties as Record<string, TSchema>;
  const cells = rows.map((row) => columns.map((column) => textOf(members[column]!, row[column])));
  // A column that no row has anything in tells nothing.
  const kept = columns.map((_, at) => at).filter((at) => at === 0 || cells.some((row) => row[at] !== NONE));
  const shown = [columns.map((column) => titleOf(column).toUpperCase()), ...cells].map((row) =>
    kept.map((at) => row[at]!),
  );
  const isFigure = kept.map((at) => cells.length > 0 && cells.every((row) => /^-?[\d.,]+$/.test(row[at]!)));
  const table = `${grid(shown, false, (at) => isFigure[at]!).join('\n')}\n`;
  return sum ? `${rows.length > 0 ? `${table}\n` : ''}${sum(body as never)}` : table;
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
