import { commandOf } from '../admin/kit/fields.ts';
import { type Operation, type OperationHost, TextAnswer } from '../admin/kit/operation.ts';
import { isMap, parsedValue } from '../admin/kit/values.ts';
import { SignalboxError } from '../core/errors.ts';
import { isObject, objectOf, objectsIn } from '../core/object.ts';
import { UsageError } from '../core/usage-error.ts';
import { LIST, onlyOne, parseArguments, SWITCH, TEXT } from './arguments.ts';
import { type Flag, flagsOf, helpOf, isRemovable, kindOf } from './operation-flags.ts';
import { listIn, printed } from './printed.ts';
import { jsonText } from './text.ts';
import { operator } from './user.ts';

/** The commands of operations: their flags, their help and what they print are made of the definitions. */

/** Carries out the operation, here or at a running server. @returns the answer on the wire. @throws SignalboxError */
export type Performer = (id: string, input: object) => Promise<unknown>;

/** The inputs of every command of operations. */
interface OperationCommand {
  now(): number;
}

/** For operations whose answers state no amounts. */
export const NO_WORTH: OperationHost = { usdPerCredit: () => null };

/** Makes the commands of a group, by their words after the name of the group. */
export const commandsOf = <Services, Command extends OperationCommand>(
  operations: readonly Operation<Services>[],
  servicesIn: (command: Command) => Services & OperationHost,
) =>
  Object.fromEntries(
    operations.map((operation) => [
      operation.name.slice(operation.name.indexOf(' ') + 1),
      (args: readonly string[], command: Command) =>
        runOperation(operation, args, async (id, input) => {
          const call = { by: operator(), now: command.now(), id, credentials: null, tags: null };
          return (await operation.perform(servicesIn(command), call, input)).body;
        }),
    ]),
  );

/**
 * Runs the command of an operation.
 * @returns what to print
 * @throws UsageError for flags that do not fit, and for a refusal of the operation
 */
export async function runOperation(operation: Operation, args: readonly string[], perform: Performer): Promise<string> {
  const flags = [...flagsOf(operation.input)];
  const { values, positionals } = parseArguments(withNumbers(args, flags), {
    ...Object.fromEntries(flags.flatMap((flag) => optionsOf(operation, flag))),
    json: SWITCH,
  });
  const words = [...positionals];
  const id = operation.takesId ? idIn(operation, words.splice(0, 1)) : '';
  try {
    const input = inputIn(operation, flags, values, words);
    if (words.length > 0) throw new UsageError(`${operation.name} takes no "${words[0]}".`);
    if (operation.method === 'PATCH' && Object.keys(input).length === 0) {
      throw new UsageError(`State what to change: ${operation.name} ${helpOf(operation).usage}`);
    }
    const body = await performed(operation, id, input, perform);
    if (body instanceof TextAnswer) return body.text;
    return values.json === true ? jsonText(body) : printed(operation, body, id);
  } catch (cause) {
    throw cause instanceof SignalboxError ? new UsageError(flagged(cause.message, flags)) : cause;
  }
}

const KINDS = { switch: SWITCH, list: LIST, text: TEXT } as const;
type Options = readonly (readonly [name: string, kind: typeof TEXT | typeof LIST | typeof SWITCH])[];

function optionsOf(operation: Operation, flag: Flag): Options {
  if (flag.form.isPositional) return [];
  const removal = [`no-${flag.name}`, isMap(flag.field) ? LIST : SWITCH] as const;
  return [[flag.name, KINDS[kindOf(flag)]], ...(isRemovable(operation, flag) ? [removal] : [])];
}

/** Puts a negative number that is an argument at the end, where the parser does not take it for a flag. */
function withNumbers(args: readonly string[], flags: readonly Flag[]): readonly string[] {
  if (!flags.some(({ form }) => form.isPositional)) return args;
  const at = args.findIndex((word, index) => /^-[\d.]/.test(word) && !args[index - 1]?.startsWith('--'));
  return at < 0 ? args : [...args.toSpliced(at, 1), '--', args[at]!];
}

/** The ID that a command takes. A whole key in its place is not repeated: errors end in logs and terminals. */
function idIn({ name }: Operation, words: readonly string[]): string {
  const id = onlyOne(words, `${name} takes an ID. The command that lists them shows the IDs.`);
  if (/^[\w.:@-]{1,128}$/.test(id) && !id.startsWith('sb_')) return id;
  throw new UsageError('Give only the ID. The ID of a key is the part between sb_live_ and the next underscore.');
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** The input on the wire that flags and arguments state. @throws UsageError */
function inputIn(operation: Operation, flags: readonly Flag[], values: Values, words: string[]): object {
  const input = {};
  for (const flag of flags) {
    const given = flag.form.isPositional ? words.splice(0, 1) : [values[flag.name] ?? []].flat();
    const texts = given.filter((one) => typeof one === 'string');
    const removed = isRemovable(operation, flag) ? values[`no-${flag.name}`] : undefined;
    if (removed === true && texts.length > 0) {
      throw new UsageError(`--no-${flag.name} contradicts --${flag.name}. Give one of them.`);
    }
    if (removed === true) put(input, flag.path, null);
    else if (Array.isArray(removed))
      put(input, flag.path, { ...Object.fromEntries(removed.map((name) => [name, null])), ...asObject(flag, texts) });
    else if (values[flag.name] === true) put(input, flag.path, true);
    else if (texts.length > 0) put(input, flag.path, valueIn(flag, texts));
  }
  return input;
}

const asObject = (flag: Flag, texts: readonly string[]) =>
  texts.length > 0 ? (parsedValue(`--${flag.name}`, flag.field, texts) as object) : {};

function valueIn({ name, field, form }: Flag, texts: readonly string[]): unknown {
  const read = form.read ?? (field.items && commandOf(field.items).read);
  if (!read) return parsedValue(`--${name}`, field, texts);
  return field.type === 'array' ? texts.map(read) : read(texts[0] ?? '');
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

/** Carries out the operation; a list without `--limit` is read to its end. */
async function performed(operation: Operation, id: string, input: object, perform: Performer): Promise<unknown> {
  const body = await perform(id, input);
  const cursor = ['after', 'before'].find((name) => name in (operation.input?.properties ?? {}));
  if (!cursor || 'limit' in input || !isObject(body) || body.has_more !== true) return body;
  const [name = 'data'] = listIn(operation.output) ?? [];
  const rows = objectsIn(body[name]);
  const next = body.next_after ?? rows.at(-1)?.id;
  const rest = objectOf(await performed(operation, id, { ...input, [cursor]: next }, perform));
  return { ...rest, [name]: [...rows, ...objectsIn(rest[name])] };
}

/** A message with the names of flags and arguments in place of members. */
const flagged = (message: string, flags: readonly Flag[]): string =>
  flags.reduce((text, { name, path, form }) => {
    const shown = form.isPositional ? (form.form ?? name) : `--${name}`;
    return text.replaceAll(`\`${path.join('.')}\``, shown);
  }, message);
