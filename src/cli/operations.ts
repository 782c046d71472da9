import { type Operation, TextAnswer } from '../admin/kit/operation.ts';
import { isMap, parsedValue } from '../admin/kit/values.ts';
import { commandName } from '../core/command-name.ts';
import { commandOf } from '../core/define/field.ts';
import { SignalboxError } from '../core/errors.ts';
import { isObject, objectOf, objectsIn } from '../core/json/object.ts';
import { UsageError } from '../core/usage-error.ts';
import { COMMAS, LIST, onlyOne, parseArguments, SWITCH, TEXT } from './arguments.ts';
import { cursorOf, type Flag, flagsOf, inFlags, isRemovable, kindOf, shownName } from './operation-flags.ts';
import { listIn, printed } from './printed.ts';
import type { CommandOutput, CommandResult } from './result.ts';
import { jsonText } from './text.ts';

/** This file makes the commands of operations. The flags, help and output of these commands come from the definitions of the operations. */

/**
 * Carries out an operation on the database or at a running server.
 * @returns the answer in its JSON form
 * @throws SignalboxError
 */
export type Performer = (id: string, input: object) => Promise<unknown>;

/**
 * Runs the command of an operation.
 * @returns what to print
 * @throws UsageError for wrong flags, and if the operation refuses the request
 */
export async function runOperation(
  operation: Operation,
  args: readonly string[],
  perform: Performer,
): Promise<CommandOutput> {
  const flags = [...flagsOf(operation.input)];
  const { values, positionals } = parseArguments(withNumbers(args, flags), {
    ...Object.fromEntries(flags.flatMap((flag) => optionsOf(operation, flag))),
    json: SWITCH,
    ...(operation.brief && { verbose: SWITCH }),
    ...(operation.confirmation !== undefined && { yes: SWITCH }),
  });
  const words = [...positionals];
  const id = operation.takesId ? idIn(operation, words.splice(0, 1)) : '';
  try {
    const input = inputIn(operation, flags, values, words);
    const isJson = wantsJson(input, values.json === true);
    if (words.length > 0) throw new UsageError(`${operation.name} does not take "${words[0]}".`);
    if (operation.method === 'PATCH' && Object.keys(input).length === 0) {
      throw new UsageError(`Name at least one change. See ${commandName()} help ${operation.name}.`);
    }
    if (operation.confirmation !== undefined && values.yes !== true) {
      throw new UsageError(`${operation.confirmation} Add --yes to do it.`);
    }
    const body = await performed(operation, id, input, perform);
    if (body instanceof TextAnswer) return body.text;
    const text = isJson ? jsonText(body) : printed(operation, body, id, values.verbose === true);
    const next = isJson ? null : nextPage(operation, body);
    return { text, code: operation.isFinding?.(body as never) ? 2 : 0, ...(next && { next }) };
  } catch (cause) {
    throw cause instanceof SignalboxError ? refusalOf(cause, flags) : cause;
  }
}

const KINDS = { switch: SWITCH, list: LIST, text: TEXT } as const;
type Options = readonly (readonly [name: string, kind: typeof TEXT | typeof LIST | typeof SWITCH])[];

function optionsOf(operation: Operation, flag: Flag): Options {
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

/**
 * Reads the ID argument. If the user gave a whole API key instead, the error does not repeat the key, because errors end in logs and
 * terminals.
 */
function idIn({ name, idForm }: Operation, words: readonly string[]): string {
  const id = onlyOne(words, `${name} needs ${idForm ?? 'an ID'}. The list command of the same group shows the IDs.`);
  if ((idForm ? /^.+$/ : /^[\w.:@-]{1,128}$/).test(id) && !id.startsWith('sb_')) return id;
  throw new UsageError('Give only the ID. The ID of a key is the part between sb_live_ and the next underscore.');
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** Builds the JSON input from flags and arguments. @throws UsageError */
function inputIn(operation: Operation, flags: readonly Flag[], values: Values, words: string[]): object {
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
function checkGiven(operation: Operation, flag: Flag, texts: readonly string[]): void {
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

/** Whether to print the answer as JSON. `--format json` means the same as `--json`. @throws UsageError if flags contradict each other */
function wantsJson({ format }: { readonly format?: unknown }, json: boolean): boolean {
  if (json && format !== undefined && format !== 'json') {
    throw new UsageError(`--json contradicts --format ${format}. Give only one of the two flags.`);
  }
  return json || format === 'json';
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

/** Carries out an operation. For a list, reads all pages, up to the limit. */
async function performed(
  operation: Operation,
  id: string,
  input: object & { readonly limit?: unknown },
  perform: Performer,
): Promise<unknown> {
  const body = await perform(id, input);
  const cursor = cursorOf(operation);
  if (cursor === null || !isObject(body) || body.has_more !== true) return body;
  const [name = 'data'] = listIn(operation.output) ?? [];
  const rows = objectsIn(body[name]);
  const left = Number(input.limit ?? operation.commandLimit ?? Number.POSITIVE_INFINITY) - rows.length;
  if (left <= 0) return body;
  const more = {
    ...input,
    [cursor]: body.next_after ?? rows.at(-1)?.id,
    ...(Number.isFinite(left) && { limit: left }),
  };
  const rest = objectOf(await performed(operation, id, more, perform));
  return { ...rest, [name]: [...rows, ...objectsIn(rest[name])] };
}

/** Returns the flag and its value that continue a list; null on the last page, and for other answers. */
function nextPage(operation: Operation, body: unknown): CommandResult['next'] | null {
  const cursor = cursorOf(operation);
  if (cursor === null || !isObject(body) || body.has_more !== true) return null;
  return [`--${cursor}`, String(body.next_after ?? objectsIn(body.data).at(-1)?.id)];
}

/** Turns an error of the API into a UsageError that names flags instead of JSON members. */
function refusalOf({ message, info: { param } }: SignalboxError, flags: readonly Flag[]): UsageError {
  const text = inFlags(message, flags);
  const flag = flags.find(({ path }) => new RegExp(`^${path.join('[.]')}(?:$|[.[])`).test(param ?? ''));
  return flag && !text.includes(shownName(flag)) ? about(flag, text) : new UsageError(text);
}

const about = (flag: Flag, sentence: string) => new UsageError(`${shownName(flag)}: ${sentence}`);
