import { isMap, parsedValue } from '../admin/kit/values.ts';
import { commandOf } from '../core/define/field.ts';
import type { SignalboxError } from '../core/errors.ts';
import { isObject } from '../core/json/object.ts';
import { UsageError } from '../core/usage-error.ts';
import { COMMAS, LIST, parseArguments, SWITCH, TEXT } from './arguments.ts';
import { type CommandInput, type Flag, inFlags, isRemovable, kindOf, shownName } from './operation-flags.ts';

/** This file reads the flags that `flagsOf` derives from a schema, and makes the JSON value of the schema. */

const KINDS = { switch: SWITCH, list: LIST, text: TEXT } as const;
type Options = Readonly<Record<string, typeof TEXT | typeof LIST | typeof SWITCH>>;

/**
 * Parses the flags of a schema, the flags that the command has in addition, and the arguments between them.
 * @throws UsageError
 */
export const parseOwnFlags = <More extends Options>(
  operation: CommandInput,
  flags: readonly Flag[],
  args: readonly string[],
  more: More,
) =>
  parseArguments(withNumbers(args, flags), {
    ...Object.fromEntries(flags.flatMap((flag) => optionsOf(operation, flag))),
    ...more,
  });

function optionsOf(operation: CommandInput, flag: Flag): readonly (readonly [name: string, kind: Options[string]])[] {
  if (flag.form.isPositional) return [];
  const removal = [`no-${flag.name}`, isMap(flag.field) ? LIST : SWITCH] as const;
  return [
    [flag.name, flag.form.hasCommas ? COMMAS : KINDS[kindOf(flag)]],
    ...(isRemovable(operation, flag) ? [removal] : []),
  ];
}

/** Moves a negative number that is an argument to the end, because the parser would read it as a flag. */
function withNumbers(args: readonly string[], flags: readonly Flag[]): readonly string[] {
  if (!flags.some(({ form }) => form.isPositional)) return args;
  const at = args.findIndex((word, index) => /^-[\d.$]/.test(word) && !args[index - 1]?.startsWith('--'));
  return at < 0 ? args : [...args.toSpliced(at, 1), '--', args[at]!];
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** Builds the JSON input from flags and arguments. @throws UsageError */
export function inputIn(operation: CommandInput, flags: readonly Flag[], values: Values, words: string[]): object {
  const input = {};
  for (const flag of flags) {
    const given = flag.form.isPositional ? words.splice(0, 1) : [values[flag.name] ?? []].flat();
    const texts = given.filter((one) => typeof one === 'string');
    const removed = isRemovable(operation, flag) ? values[`no-${flag.name}`] : undefined;
    checkGiven(operation, flag, texts);
    if (removed === true && (texts.length > 0 || values[flag.name] === true)) {
      throw new UsageError(`--no-${flag.name} contradicts --${flag.name}. Give only one of the two flags.`);
    }
    if (removed === true) put(input, flag.path, kindOf(flag) === 'switch' ? false : null);
    else if (Array.isArray(removed)) put(input, flag.path, withRemoved(flag, asObject(flag, texts), removed));
    else if (values[flag.name] === true) put(input, flag.path, true);
    else if (texts.length > 0) put(input, flag.path, valueIn(flag, texts));
  }
  return input;
}

/** @throws UsageError for a word such as `none`, which is not a value */
function checkGiven(operation: CommandInput, flag: Flag, texts: readonly string[]): void {
  const word = texts.find((text) => flag.form.noValues?.includes(text));
  if (word === undefined) return;
  const advice = isRemovable(operation, flag) ? `Give --no-${flag.name} instead` : `Leave --${flag.name} out`;
  throw new UsageError(`--${flag.name} does not take "${word}". ${advice}.`);
}

/** Adds null for each name to remove to the values of a map. @throws UsageError if a name also has a value */
function withRemoved({ name }: Flag, values: object, removed: readonly (string | boolean)[]): object {
  const both = removed.find((key) => Object.hasOwn(values, String(key)));
  if (both === undefined) return { ...Object.fromEntries(removed.map((key) => [key, null])), ...values };
  throw new UsageError(`--no-${name} ${both} contradicts --${name} ${both}=…. Give only one of the two flags.`);
}

const asObject = (flag: Flag, texts: readonly string[]) =>
  texts.length > 0 ? (parsedValue(shownName(flag), flag.field, texts) as object) : {};

function valueIn(flag: Flag, texts: readonly string[]): unknown {
  const { field, form } = flag;
  const [text = ''] = texts;
  const read = form.read ?? (field.items && commandOf(field.items).read);
  if (read) {
    try {
      return field.type === 'array' ? texts.map(read) : read(text);
    } catch (cause) {
      throw cause instanceof UsageError ? about(flag, cause.message) : cause;
    }
  }
  const value = parsedValue(shownName(flag), field, texts);
  const isNumber = field.type === 'integer' || field.type === 'number';
  if (!isNumber || typeof value === 'number') return value;
  throw new UsageError(
    `${shownName(flag)} must be a ${field.type === 'integer' ? 'whole ' : ''}number, not "${text}".`,
  );
}

function put(into: Record<string, unknown>, [name = '', ...more]: readonly string[], value: unknown): void {
  if (more.length === 0) {
    into[name] = value;
    return;
  }
  const inner = isObject(into[name]) ? into[name] : {};
  into[name] = inner;
  put(inner, more, value);
}

/** Turns an error of the API into a UsageError that names flags instead of JSON members. */
export function refusalOf({ message, info: { param } }: SignalboxError, flags: readonly Flag[]): UsageError {
  const text = inFlags(message, flags);
  const flag = flags.find(({ path }) => new RegExp(`^${path.join('[.]')}(?:$|[.[])`).test(param ?? ''));
  return flag && !text.includes(shownName(flag)) ? about(flag, text) : new UsageError(text);
}

const about = (flag: Flag, sentence: string) => new UsageError(`${shownName(flag)}: ${sentence}`);
