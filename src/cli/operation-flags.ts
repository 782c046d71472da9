import type { TSchema } from '@sinclair/typebox';
import { type CommandForm, commandOf } from '../admin/kit/fields.ts';
import type { Operation } from '../admin/kit/operation.ts';
import { isMap, withoutNull, wordsOf } from '../admin/kit/values.ts';
import { wrapped } from '../core/text.ts';
import type { CommandHelp } from './command-help.ts';

/** A member of the input that a flag or an argument states. */
export interface Flag {
  readonly name: string;
  /** Of the member in the input. */
  readonly path: readonly string[];
  /** Its schema, for a value that is not null. */
  readonly field: TSchema;
  readonly form: CommandForm;
  readonly description: string;
  readonly isNullable: boolean;
}

/** The flags and arguments of a command, by the schema of its input. */
export function* flagsOf(input: TSchema | undefined, path: readonly string[] = [], prefix = ''): Generator<Flag> {
  for (const [name, whole] of Object.entries(input?.properties ?? {}) as [string, TSchema][]) {
    const field = withoutNull(whole);
    const form = { ...commandOf(field), ...commandOf(whole) };
    const isMany = field.type === 'array' || isMap(field);
    if (field.type === 'object' && field.properties) {
      yield* flagsOf(field, [...path, name], form.flag ? `${prefix}${form.flag}-` : prefix);
    } else {
      const flag = form.flag ?? (isMany ? name.replace(/s$/, '') : name).replaceAll('_', '-');
      yield {
        name: `${prefix}${flag}`,
        path: [...path, name],
        field,
        form,
        description: whole.description ?? field.description ?? '',
        isNullable: field !== whole,
      };
    }
  }
}

/** How messages and the help name a flag or an argument. */
export const shownName = ({ name, form }: Flag): string =>
  form.isPositional ? (form.form ?? name.toUpperCase()) : `--${name}`;

/** How often a flag is given, and whether with a value. */
export const kindOf = ({ field }: Flag): 'switch' | 'list' | 'text' =>
  field.type === 'boolean' ? 'switch' : field.type === 'array' || isMap(field) ? 'list' : 'text';

/** Whether a flag `--no-…` takes the value of a member away. */
export const isRemovable = (operation: Operation, { isNullable, form }: Flag): boolean =>
  operation.method === 'PATCH' && isNullable && !form.isPositional;

/** The member of its input that says after which item a page begins; null for none. */
export const cursorOf = ({ input }: Operation): 'after' | 'before' | null =>
  (['after', 'before'] as const).find((name) => name in (input?.properties ?? {})) ?? null;

/** The help of an operation's command. */
export function helpOf(operation: Operation): CommandHelp {
  const flags = [...flagsOf(operation.input)];
  const words = flags.map((flag) => {
    const form = flag.form.form ?? formOf(flag.field);
    if (flag.form.isPositional) return form;
    const kind = kindOf(flag);
    const stated = `[--${flag.name}${kind === 'switch' ? '' : ` ${form}`}]${kind === 'list' ? '...' : ''}`;
    if (!isRemovable(operation, flag)) return stated;
    return `${stated} [--no-${flag.name}${isMap(flag.field) ? ' NAME]...' : ']'}`;
  });
  const described = flags.map((flag) => `${shownName(flag)}: ${flag.description}`);
  return {
    usage: inLines([
      ...(operation.takesId ? [operation.idForm ?? 'ID'] : []),
      ...words,
      ...(operation.confirmation === undefined ? [] : ['--yes']),
      ...['[--json]', '[--data DIR]'],
    ]),
    summary: `${operation.summary}.`,
    details: [operation.details, ...described].flatMap((text) => wrapped(text, DETAIL_COLUMNS)).join('\n'),
  };
}

/** Columns of a line of a usage, and of its details. */
const USAGE_COLUMNS = 90;
const DETAIL_COLUMNS = 100;

const inLines = (words: readonly string[]): string =>
  words.reduce((text, word) => {
    const line = text.slice(text.lastIndexOf('\n') + 1);
    return `${text}${line.length + word.length < USAGE_COLUMNS ? ' ' : '\n'}${word}`;
  });

function formOf(field: TSchema): string {
  if (field.type === 'array') return commandOf(field.items).form ?? formOf(field.items);
  const words = wordsOf(field);
  if (words.length > 0) return words.join('|');
  if (isMap(field)) return 'NAME=VALUE';
  return field.type === 'integer' || field.type === 'number' ? 'N' : 'TEXT';
}
