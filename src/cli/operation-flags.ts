import type { TSchema } from '@sinclair/typebox';
import type { Operation } from '../admin/kit/operation.ts';
import { isMap, withoutNull, wordsOf } from '../admin/kit/values.ts';
import { type CommandForm, commandOf } from '../core/define/field.ts';
import { wrapped } from '../core/text/text.ts';
import type { CommandHelp } from './command-help.ts';
import { WIDTH } from './terminal.ts';

/** A member of the operation's input, which the command takes as a flag or an argument. */
export interface Flag {
  readonly name: string;
  /** The path of the member in the input. */
  readonly path: readonly string[];
  /** The schema of a value that is not null. */
  readonly field: TSchema;
  readonly form: CommandForm;
  readonly description: string;
  readonly isNullable: boolean;
}

/** Derives the flags and arguments of a command from the schema of its input. */
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

/** The name of a flag or an argument in messages and help. */
export const shownName = ({ name, form }: Flag): string =>
  form.isPositional ? (form.form ?? name.toUpperCase()) : `--${name}`;

/** Whether a flag has no value, may be repeated, or has one value. */
export const kindOf = ({ field }: Flag): 'switch' | 'list' | 'text' =>
  field.type === 'boolean' ? 'switch' : field.type === 'array' || isMap(field) ? 'list' : 'text';

/** The input of a command, from which its flags derive. With the method `PATCH`, flags can also remove values. */
export type CommandInput = Pick<Operation, 'input' | 'method'>;

/** Whether the command has a flag `--no-…`, which removes the value of a member or sets it to false. */
export const isRemovable = ({ method }: CommandInput, { isNullable, form, field }: Flag): boolean =>
  !form.isPositional &&
  ((method === 'PATCH' && isNullable) || (field.type === 'boolean' && field.default === undefined));

/** Replaces the names of JSON members in a text by the names of flags. */
export const inFlags = (text: string, flags: readonly Flag[]): string =>
  text.replaceAll(/`([a-z_.]+)(?:\[\d+\][^`]*)?`/g, (whole, path: string) => {
    const flag = flags.find((one) => one.path.join('.') === path);
    return flag ? shownName(flag) : whole;
  });

/** The member of the input that names the item after which a page begins; null if there is none. */
export const cursorOf = ({ input }: Operation): 'after' | 'before' | null =>
  (['after', 'before'] as const).find((name) => name in (input?.properties ?? {})) ?? null;

/**
 * Writes the help of an operation's command.
 * @throws Error if the operation does not say when to use its command
 */
export function helpOf(operation: Operation): CommandHelp {
  const { use, example } = operation;
  if (use === undefined || example === undefined) throw new Error(`${operation.name} has no \`use\` or \`example\`.`);
  const flags = [...flagsOf(operation.input)];
  return {
    usage: usageOf(operation.name, [
      ...(operation.takesId ? [operation.idForm ?? 'ID'] : []),
      ...flags.map((flag) => usageWord(operation, flag)),
      ...(operation.confirmation === undefined ? [] : ['--yes']),
      ...(operation.brief ? ['[--verbose]'] : []),
      ...['[--json]', '[--data DIR]'],
    ]),
    summary: `${operation.summary}.`,
    use,
    example,
    details: [
      ...wrapped(inFlags(operation.details, flags), DETAIL_COLUMNS),
      ...(operation.brief ? wrapped('--verbose: Print every field.', DETAIL_COLUMNS - 2) : []),
      ...describedFlags(operation, flags),
    ].join('\n'),
  };
}

/** Writes the words of a usage in lines. */
export const usageOf = (command: string, words: readonly string[]): string =>
  inLines(words, WIDTH - `  ./signalbox ${command} `.length);

/** Writes a flag or an argument for the usage of a command. */
export function usageWord(operation: CommandInput, flag: Flag): string {
  if (flag.form.isPositional) return isRequired(operation, flag) ? shownName(flag) : `[${shownName(flag)}]`;
  const form = flag.form.form ?? formOf(flag.field);
  const kind = kindOf(flag);
  const stated = `[--${flag.name}${kind === 'switch' ? '' : ` ${form}`}]${kind === 'list' && !flag.form.hasCommas ? '...' : ''}`;
  if (!isRemovable(operation, flag)) return stated;
  return `${stated} [--no-${flag.name}${isMap(flag.field) ? ' NAME]...' : ']'}`;
}

/** Describes the flags and arguments of a command, each in lines for its details. */
export const describedFlags = (operation: CommandInput, flags: readonly Flag[]): readonly string[] =>
  flags.map((flag) =>
    wrapped(
      `${shownName(flag)}: ${flag.form.help ?? inFlags(describedIn(operation, flag), flags)}`,
      DETAIL_COLUMNS - 2,
    ).join('\n  '),
  );

/** Columns available for the details, which the help indents. */
const DETAIL_COLUMNS = WIDTH - 6;

/**
 * Describes a flag. In the description of a JSON member, `null` is replaced by the flag that removes the value, or the part about null is
 * left out.
 */
function describedIn(operation: CommandInput, flag: Flag): string {
  const { description, name, field } = flag;
  if (isRemovable(operation, flag) && !isMap(field)) return description.replaceAll(/\bnull\b/gi, `--no-${name}`);
  return description.replaceAll(/(?:; null\b[^.]*| ?\bNull\b[^.]*\.)/g, '');
}

const isRequired = ({ input }: CommandInput, { path: [name = ''] }: Flag): boolean =>
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
