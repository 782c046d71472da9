import type { TSchema } from '@sinclair/typebox';
import { wrapped } from '../../core/text.ts';
import { type CommandForm, commandOf } from '../kit/fields.ts';
import type { Operation } from '../kit/operation.ts';
import { isMap, withoutNull, wordsOf } from '../kit/values.ts';
import type { CommandHelp } from './command-help.ts';
import { WIDTH } from './terminal.ts';

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
    if (form.isWithoutFlag) continue;
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

/** Whether a flag `--no-…` takes the value of a member away, or says no. */
export const isRemovable = ({ method }: Operation, { isNullable, form, field }: Flag): boolean =>
  !form.isPositional &&
  ((method === 'PATCH' && isNullable) || (field.type === 'boolean' && field.default === undefined));

/** A text with the names of flags in place of members. */
export const inFlags = (text: string, flags: readonly Flag[]): string =>
  text.replaceAll(/`([a-z_.]+)(?:\[\d+\][^`]*)?`/g, (whole, path: string) => {
    const flag = flags.find((one) => one.path.join('.') === path);
    return flag ? shownName(flag) : whole;
  });

/** The member of its input that says after which item a page begins; null for none. */
export const cursorOf = ({ input }: Operation): 'after' | 'before' | null =>
  (['after', 'before'] as const).find((name) => name in (input?.properties ?? {})) ?? null;

/** The help of an operation's command. */
export function helpOf(operation: Operation): CommandHelp {
  const flags = [...flagsOf(operation.input)];
  const words = flags.map((flag) => {
    if (flag.form.isPositional) return isRequired(operation, flag) ? shownName(flag) : `[${shownName(flag)}]`;
    const form = flag.form.form ?? formOf(flag.field);
    const kind = kindOf(flag);
    const stated = `[--${flag.name}${kind === 'switch' ? '' : ` ${form}`}]${kind === 'list' ? '...' : ''}`;
    if (!isRemovable(operation, flag)) return stated;
    return `${stated} [--no-${flag.name}${isMap(flag.field) ? ' NAME]...' : ']'}`;
  });
  const described = flags.map(
    (flag) => `${shownName(flag)}: ${flag.form.help ?? inFlags(describedIn(operation, flag), flags)}`,
  );
  const indent = `  ./signalbox ${operation.name} `.length;
  return {
    usage: inLines(
      [
        ...(operation.takesId ? [operation.idForm ?? 'ID'] : []),
        ...words,
        ...(operation.confirmation === undefined ? [] : ['--yes']),
        ...['[--json]', '[--data DIR]'],
      ],
      WIDTH - indent,
    ),
    summary: `${operation.summary}.`,
    details: [
      ...wrapped(inFlags(operation.details, flags), DETAIL_COLUMNS),
      ...described.flatMap((text) => wrapped(text, DETAIL_COLUMNS - 2).join('\n  ')),
    ].join('\n'),
  };
}

/** Columns of a line of the details: the help indents them. */
const DETAIL_COLUMNS = WIDTH - 6;

/** The description of a flag. What null means in a body is left out, or said of the flag that takes the value away. */
function describedIn(operation: Operation, flag: Flag): string {
  const { description, name, field } = flag;
  if (isRemovable(operation, flag) && !isMap(field)) return description.replaceAll(/\bnull\b/gi, `--no-${name}`);
  return description.replaceAll(/(?:; null\b[^.]*| ?\bNull\b[^.]*\.)/g, '');
}

const isRequired = ({ input }: Operation, { path: [name = ''] }: Flag): boolean =>
  (input?.required as readonly string[] | undefined)?.includes(name) === true;

const inLines = (words: readonly string[], columns: number): string =>
  words.reduce((text, word) => {
    const line = text.slice(text.lastIndexOf('\n') + 1);
    return `${text}${line.length + word.length < columns ? ' ' : '\n'}${word}`;
  });

function formOf(field: TSchema): string {
  if (field.type === 'array') return commandOf(field.items).form ?? formOf(field.items);
  const words = wordsOf(field);
  if (words.length > 0) return words.join('|');
  if (isMap(field)) return 'NAME=VALUE';
  return field.type === 'integer' || field.type === 'number' ? 'N' : 'TEXT';
}
