import { expressionsOf } from './lexicon/data.ts';
import file from './lexicon/progress.json' with { type: 'json' };
import { EMPTY_HASH, edgesOf, hashOn, textHash } from './text-hash.ts';

const MARKS = expressionsOf(file);

/** The texts without which an expression cannot match. Searching them first is ten times as fast. */
const NEEDLES = {
  thrown: ['rror', 'xception', 'RROR', 'fatal', 'FATAL', 'panic'],
  verdict: ['FAIL', 'fail', 'not ok ', 'false', '"error"', 'ERR!', 'BackOff', 'Exited ('],
  trace: ['egmentation fault', 'core dumped', 'E  ', '[!]'],
  stack: [' at '],
  position: [': '],
  glyph: [''],
  failed: ['fail', 'rror', 'Fail', 'FAIL', 'roblem'],
  passed: ['pass', 'ok', 'Pass', 'PASS', 'succeeded'],
} as const;
const mayMatch = (text: string, name: keyof typeof NEEDLES): boolean =>
  NEEDLES[name].some((needle) => text.includes(needle));

/** The result of a tool call. The costly figures are computed when a failure needs them. */
export class ToolResult {
  /** A hash of the result. */
  readonly hash: number;
  /** Whether a tool that shows files failed: marks of failures count only at the start of its result. */
  readonly failedAtStart: boolean;
  /** The exit code; null if the client reports none. */
  readonly exitCode: number | null;
  readonly #output: string;
  /** Whether the output is a file with numbers of lines. */
  readonly #isListing: boolean;
  #failed: boolean | null = null;
  #failures: number | null = null;
  #isPending: boolean | null = null;
  #likeness: Likeness | null = null;
  #successes: number | null = null;
  #succeeds: boolean | null = null;

  constructor(text: string) {
    const whole = edgesOf(text);
    const exitCode = exitCodeOf(whole);
    const output = outputOf(whole);
    const start = output.slice(0, EDGE);
    this.#isListing = MARKS.numbered.test(start);
    this.#output = output;
    this.hash = textHash(text);
    this.exitCode = exitCode;
    this.failedAtStart = exitCode === null ? MARKS.at_start.test(start) : exitCode !== 0;
  }

  /** Whether the client reports an exit code. */
  get hasExitCode(): boolean {
    return this.exitCode !== null;
  }

  /** Whether the result of a tool that waits says that something is not ready yet, or fails without a word. */
  get isPending(): boolean {
    this.#isPending ??= MARKS.pending.test(this.#output) || (this.failedAtStart && this.likeness.letters === 0);
    return this.#isPending;
  }

  /** Whether the output has a mark of a failure, whatever the exit code is. */
  get isMarked(): boolean {
    return MARKS.at_start.test(this.#output.slice(0, EDGE)) || isMarked(this.#output);
  }

  /** Whether the program that ran reports a failure. Only the results of programs are searched for marks of failures. */
  get failed(): boolean {
    this.#failed ??=
      this.failedAtStart || (!this.hasExitCode && !this.#isListing && (this.failures > 0 || isMarked(this.#output)));
    return this.#failed;
  }

  /** The number of failures that test runners and compilers state; 0 if they state none. */
  get failures(): number {
    this.#failures ??= this.#isListing ? 0 : countIn(this.#output, 'failed');
    return this.#failures;
  }

  /** The number of successes that test runners state; 0 if they state none. */
  get successes(): number {
    this.#successes ??= countIn(this.#output, 'passed');
    return this.#successes;
  }

  /** Whether the result says that something succeeded, or says nothing. */
  get succeeds(): boolean {
    this.#succeeds ??= MARKS.success.test(this.#output) || this.successes > 0 || this.likeness.letters === 0;
    return this.#succeeds;
  }

  get likeness(): Likeness {
    this.#likeness ??= likenessOf(this.#output);
    return this.#likeness;
  }
}

/** The part that is the same in two results that differ only in numbers, times, positions in files and temporary names. */
interface Likeness {
  readonly hash: number;
  /** The number of letters that the hash depends on. */
  readonly letters: number;
}

/** The number of UTF-16 code units at each end of a result that may contain the exit code and the envelope of the client. */
const EDGE = 240;

const MARKED = ['thrown', 'verdict', 'glyph', 'trace', 'position', 'stack'] as const;
const isMarked = (text: string): boolean => MARKED.some((name) => mayMatch(text, name) && MARKS[name].test(text));

/** Returns the exit code; null if the result states none. */
function exitCodeOf(text: string): number | null {
  const found =
    MARKS.exit_code.exec(text.slice(0, EDGE)) ?? (text.length > EDGE ? MARKS.exit_code.exec(text.slice(-EDGE)) : null);
  const code = found?.slice(1).find((group) => group !== undefined);
  return code === undefined ? null : Number(code);
}

/** Returns the output of a command without the lines or members that clients add. */
function outputOf(text: string): string {
  const envelope = MARKS.envelope.exec(text)?.[0];
  if (envelope === undefined) return text;
  const output = text.slice(envelope.length);
  if (!envelope.includes('{')) return output;
  const end = output.lastIndexOf('","metadata"');
  return (end < 0 ? output : output.slice(0, end)).replaceAll('\\n', '\n');
}

function countIn(text: string, name: 'failed' | 'passed'): number {
  if (!mayMatch(text, name)) return 0;
  let sum = 0;
  for (const groups of text.matchAll(MARKS[name])) sum += Number(groups[1] ?? groups[2]);
  return sum;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f || code >= 0x80;
/** Whether a character ends a path. */
const endsPath = (code: number): boolean =>
  code <= 0x20 || code === 0x22 || code === 0x27 || code === 0x60 || code === 0x28 || code === 0x29 || code === 0x3a;

/** Stands in the hash for what differs from run to run. */
const VOLATILE = 1;
const BLANK = 2;

/**
 * Hashes a text without what differs from run to run: each word with a digit, such as a number, a time, a position or a hexadecimal ID, and
 * each path of a temporary file.
 */
function likenessOf(text: string): Likeness {
  let hash = EMPTY_HASH;
  let letters = 0;
  /** The hash after the last volatile word, and the position after it. Volatile words with one sign between them count as one word. */
  let afterVolatile = EMPTY_HASH;
  let volatileEnd = -2;
  for (let at = 0; at < text.length; ) {
    const start = at;
    const code = text.charCodeAt(at);
    if (code <= 0x20) {
      while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
      hash = hashOn(hash, BLANK);
      continue;
    }
    let isVolatile = false;
    if (isLetter(code) || isDigit(code)) {
      let word = hash;
      for (; at < text.length; at++) {
        const one = text.charCodeAt(at);
        if (isDigit(one)) isVolatile = true;
        else if (!isLetter(one)) break;
        word = hashOn(word, one);
      }
      if (!isVolatile) {
        hash = word;
        letters += at - start;
        continue;
      }
    } else if (code === 0x2f && text.startsWith('tmp', at + 1)) {
      isVolatile = true;
      while (at < text.length && !endsPath(text.charCodeAt(at))) at++;
    }
    if (!isVolatile) {
      hash = hashOn(hash, code);
      at++;
    } else {
      if (volatileEnd === start - 1) hash = afterVolatile;
      else hash = hashOn(hash, VOLATILE);
      afterVolatile = hash;
      volatileEnd = at;
    }
  }
  return { hash, letters };
}
