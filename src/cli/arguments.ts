import { type ParseArgsConfig, parseArgs } from 'node:util';
import { commandName } from '../core/command-name.ts';
import { capital, didYouMean } from '../core/text/text.ts';
import { messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import { alertRuleHint } from '../policy/check/alert-rule-hint.ts';
import { nearest } from '../policy/report/nearest.ts';
import { listed } from './unknown-command.ts';

/** The kinds of flags for node's parser. */
export const TEXT = { type: 'string' } as const;
/** A text with several values, separated by commas. */
export const COMMAS = { type: 'string' } as const;
export const LIST = { type: 'string', multiple: true } as const;
export const SWITCH = { type: 'boolean', default: false } as const;

type FlagSpecs = NonNullable<ParseArgsConfig['options']>;

/** Parses the flags of a command that has no other arguments. Throws UsageError. */
export const parseFlags = <T extends FlagSpecs>(args: readonly string[], options: T) =>
  parsed({ args: [...args], options }).values;

/** Parses the flags of a command and the arguments between them. Throws UsageError. */
export const parseArguments = <T extends FlagSpecs>(args: readonly string[], options: T) =>
  parsed({ args: [...args], options, allowPositionals: true });

/**
 * Runs node's parser. Refuses a repeated option, because the parser would silently keep only the last value. Rewords the parser's errors.
 */
function parsed<T extends ParseArgsConfig & { readonly options: FlagSpecs }>(config: T) {
  const { options } = config;
  try {
    const args = joinNumbers(config.args ?? [], options);
    const result = parseArgs({ ...config, args, tokens: true });
    const seen = new Map<string, string>();
    for (const token of result.tokens ?? []) {
      if (token.kind !== 'option' || token.value === undefined || options[token.name]?.multiple) continue;
      const { name, value } = token;
      const before = seen.get(name);
      if (before !== undefined) {
        const once = options[name] === COMMAS ? `write --${name} ${before},${value}` : 'give it once';
        throw new Error(`--${name} is given twice; ${once}`);
      }
      seen.set(name, value);
    }
    return result;
  } catch (cause) {
    throw new UsageError(`${rewordedFault(messageOf(cause), Object.keys(options))} See ${commandName()} help.`);
  }
}

/** Writes `--flag -1` as `--flag=-1`. Without this form, node's parser would read the number as a flag. */
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

/** Flags of other tools, and what to write instead. */
const PEER_FLAGS: Readonly<Record<string, string>> = {
  'alert-at': alertRuleHint([]),
  config:
    'the configuration is a folder of policy files: write `--policies FOLDER`. For a LiteLLM configuration, run `signalbox import litellm FILE`',
  policy: 'write `--policies FOLDER`',
};

/** Flags that are parsed before the flags of a command. */
const GLOBAL_FLAGS = ['data', 'help'];

/** Rewords the message of node's parser in one or two sentences. */
function rewordedFault(message: string, known: readonly string[]): string {
  const [, unknown] = /^Unknown option '--([^']+)'/.exec(message) ?? [];
  const meant = unknown === undefined ? null : nearest(unknown, [...known, ...GLOBAL_FLAGS]);
  const peer = unknown === undefined || !Object.hasOwn(PEER_FLAGS, unknown) ? undefined : PEER_FLAGS[unknown];
  if (peer !== undefined) return `Unknown option '--${unknown}'. ${capital(peer)}.`;
  if (meant !== null && meant !== unknown) return `Unknown option '--${unknown}'. ${capital(didYouMean(`--${meant}`))}`;
  const [, valueless] = /^Option '(--?[^' ]+)[^']*' argument (?:is ambiguous|missing)/.exec(message) ?? [];
  if (valueless !== undefined) return `${valueless} needs a value.`;
  const [, plain] = /^Option '(--?[^']+)' does not take an argument/.exec(message) ?? [];
  if (plain !== undefined) return `${plain} takes no value. Write it without one.`;
  return `${(message.split(/\.\s/)[0] ?? '').replace(/\.$/, '')}.`;
}

/** Returns a required value. Throws UsageError if the argument is missing. */
export function needed<T>(value: T | null | undefined, usage: string): T {
  if (value === null || value === undefined) throw new UsageError(usage);
  return value;
}

/** Returns the only positional argument of a command. Throws UsageError if there is no argument or more than one. */
export const onlyOne = ([one, ...more]: readonly string[], usage: string): string =>
  needed(more.length === 0 ? one || null : null, usage);

/** Reads an ID, an amount that may be negative, and a note. Throws UsageError with the usage for other arguments. */
export function parseCreditArguments(args: readonly string[], usage: string) {
  // Node's parser would read a negative amount as an option.
  const at = args.findIndex((argument, i) => /^-[\d.$]/.test(argument) && args[i - 1] !== '--note');
  const { values, positionals } = parseArguments(at < 0 ? args : args.toSpliced(at, 1), { note: TEXT });
  const [holder, ...credits] = positionals;
  if (at >= 0) credits.push(args[at]!);
  if (!holder || credits.length > 1) throw new UsageError(usage);
  return { holder, credits: credits[0] ?? null, note: values.note ?? '' };
}

/** Reads a whole number of a flag. Throws UsageError if the number is out of bounds. */
export function wholeOf(flag: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new UsageError(`${flag} must be a whole number from ${min} to ${max}, not "${text}".`);
}

/** Reads a value that must be one of `words`. Throws UsageError. */
export function choiceOf<Word extends string>(flag: string, text: string, words: readonly Word[]): Word {
  return needed(
    words.find((one) => one === text),
    `${flag} must be ${listed(words)}, not "${text}".`,
  );
}

/** Reads flags of the form name=value. Throws UsageError for a repeated name, because one of the two values would be lost. */
export function pairsOf(texts: readonly string[] | undefined, what: string): Record<string, string> {
  const pairs = new Map<string, string>();
  for (const text of texts ?? []) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError(`${what} must have the form name=value, not "${text}".`);
    const name = text.slice(0, at);
    if (pairs.has(name)) throw new UsageError(`"${name}" is given twice. Give it once.`);
    pairs.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}
