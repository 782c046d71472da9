import { type ParseArgsConfig, parseArgs } from 'node:util';
import { commandName } from '../../core/command-name.ts';
import { capital, didYouMean } from '../../core/text.ts';
import { messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { nearest } from '../../policy/nearest.ts';
import { listed, unknownCommand } from './unknown-command.ts';

/** The kinds of flags. */
export const TEXT = { type: 'string' } as const;
export const LIST = { type: 'string', multiple: true } as const;
export const SWITCH = { type: 'boolean', default: false } as const;

type FlagSpecs = NonNullable<ParseArgsConfig['options']>;

/** The flags of a command that takes nothing else. Throws UsageError. */
export const parseFlags = <T extends FlagSpecs>(args: readonly string[], options: T) =>
  parsed({ args: [...args], options }).values;

/** Parses the flags of a command, and the arguments between them. Throws UsageError. */
export const parseArguments = <T extends FlagSpecs>(args: readonly string[], options: T) =>
  parsed({ args: [...args], options, allowPositionals: true });

/** Runs node's parser, and refuses a repeated option, of which it silently keeps the last value. Rewords its errors. */
function parsed<T extends ParseArgsConfig & { readonly options: FlagSpecs }>(config: T) {
  const { options } = config;
  try {
    const args = joinNumbers(config.args ?? [], options);
    const result = parseArgs({ ...config, args, tokens: true });
    const seen = new Set<string>();
    for (const token of result.tokens ?? []) {
      if (token.kind !== 'option' || token.value === undefined || options[token.name]?.multiple) continue;
      if (seen.has(token.name)) throw new Error(`--${token.name} is given twice; it takes one value`);
      seen.add(token.name);
    }
    return result;
  } catch (cause) {
    throw new UsageError(`${rewordedFault(messageOf(cause), Object.keys(options))} See ${commandName()} help.`);
  }
}

/** Writes `--flag -1` as `--flag=-1`: node's parser would take the number for a flag. */
function joinNumbers(args: readonly string[], options: FlagSpecs): string[] {
  const joined: string[] = [];
  for (const word of args) {
    const flag = joined.at(-1) ?? '';
    const isValue = /^-[\d.]/.test(word) && flag.startsWith('--') && options[flag.slice(2)]?.type === 'string';
    if (isValue) joined.splice(-1, 1, `${flag}=${word}`);
    else joined.push(word);
  }
  return joined;
}

/** Flags that are read before a command's own. */
const GLOBAL_FLAGS = ['data', 'help'];

/** The message of node's parser in one or two sentences of ours. */
function rewordedFault(message: string, known: readonly string[]): string {
  const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  const meant = unknown === undefined ? null : nearest(unknown, [...known, ...GLOBAL_FLAGS]);
  if (meant !== null && meant !== unknown) return `Unknown option '--${unknown}'. ${capital(didYouMean(`--${meant}`))}`;
  const [, valueless] = /^Option '(--?[^' ]+)[^']*' argument (?:is ambiguous|missing)/.exec(message) ?? [];
  if (valueless !== undefined) return `${valueless} needs a value.`;
  const [, plain] = /^Option '(--?[^']+)' does not take an argument/.exec(message) ?? [];
  if (plain !== undefined) return `${plain} takes no value.`;
  return `${(message.split(/\.\s/)[0] ?? '').replace(/\.$/, '')}.`;
}

type Run<Command, Output> = (args: readonly string[], command: Command) => Promise<Output>;

/** Returns what runs the command of a group that the first argument names. It throws UsageError for any other word. */
export const groupOf =
  <Command, Output>(group: string, commands: Readonly<Record<string, Run<Command, Output>>>): Run<Command, Output> =>
  async ([name = '', ...args], command) => {
    const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (run === undefined) throw unknownCommand(group, name);
    return run(args, command);
  };

/** Returns the value that an argument must give. Throws UsageError where it gives none. */
export function needed<T>(value: T | null | undefined, usage: string): T {
  if (value === null || value === undefined) throw new UsageError(usage);
  return value;
}

/** The one positional argument that a command takes. Throws UsageError for none, or several. */
export const onlyOne = ([one, ...more]: readonly string[], usage: string): string =>
  needed(more.length === 0 ? one || null : null, usage);

/** Reads an ID, an amount that may be negative, and a note. Throws UsageError with the usage for other arguments. */
export function parseCreditArguments(args: readonly string[], usage: string) {
  // Node's parser would read a negative amount as an option.
  const at = args.findIndex((argument, i) => /^-[\d.]/.test(argument) && args[i - 1] !== '--note');
  const { values, positionals } = parseArguments(at < 0 ? args : args.toSpliced(at, 1), { note: TEXT });
  const [holder, ...credits] = positionals;
  if (at >= 0) credits.push(args[at]!);
  if (!holder || credits.length > 1) throw new UsageError(usage);
  return { holder, credits: credits[0] ?? null, note: values.note ?? '' };
}

/** Reads a whole number of a flag. Throws UsageError. */
export function wholeOf(flag: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new UsageError(`${flag} takes a whole number from ${min} to ${max}, not "${text}".`);
}

/** Reads one of some words. Throws UsageError. */
export function choiceOf<Word extends string>(flag: string, text: string, words: readonly Word[]): Word {
  return needed(
    words.find((one) => one === text),
    `${flag} is ${listed(words)}, not "${text}".`,
  );
}

/** Reads flags of the form name=value. Throws UsageError for a repeated name: one of the two values would be lost. */
export function pairsOf(texts: readonly string[] | undefined, what: string): Record<string, string> {
  const pairs = new Map<string, string>();
  for (const text of texts ?? []) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`${what} is written name=value, not "${text}".`);
    const name = text.slice(0, at);
    if (pairs.has(name)) throw new UsageError(`"${name}" is given twice; it takes one value.`);
    pairs.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}
