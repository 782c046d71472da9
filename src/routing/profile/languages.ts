import { DIGIT, FOLDED } from './letters.ts';
import lines from './lexicon/code-lines.json' with { type: 'json' };
import { expressionsOf } from './lexicon/data.ts';
import programming from './lexicon/programming.json' with { type: 'json' };
import file from './tables.json' with { type: 'json' };
import { hashOn, Words } from './words.ts';

/** The natural languages, in the order of their numbers in the table. */
const LANGUAGES: readonly string[] = file.languages.names;
/** The table of words and letters has a slot for each value of the first bits of a hash: a check, and a language with its votes. */
export const LANGUAGE_BITS = 13;
/** The number of a language, from 1, and its votes, 1 to 4, share a byte. */
export const VOTE_BITS = 2;
const SLOTS = Uint8Array.fromBase64(file.languages.base64);

const LETTER = 0x3c6ef372;
const SCRIPT = 0x1b873593;
/** Letters with a code from this one on tell something about the language. */
const FOREIGN = 0x80;

/**
 * Returns the words of a text, and its letters that only some languages have, as hashes.
 * @param counts whether a sign counts
 */
export function languageSigns(
  text: string,
  { from, to, hashes, size }: Words,
  end = text.length,
  counts: (sign: number) => unknown = () => true,
): ReadonlySet<number> {
  const signs = new Set<number>();
  const add = (sign: number): unknown => counts(sign) && signs.add(sign);
  for (let at = 0; at < size && to[at]! <= end; at++) {
    if (FOLDED[text.charCodeAt(from[at]!)]! <= DIGIT) continue;
    add(spread(hashes[at]!));
    for (let unit = from[at]!; unit < to[at]!; unit++) {
      const code = text.charCodeAt(unit);
      if (code < FOREIGN) continue;
      add(spread(code ^ LETTER));
      add(spread((code >> 7) ^ SCRIPT));
    }
  }
  return signs;
}

/** Returns the number and the votes of the language that a sign indicates; 0 for none. */
function voteOf(sign: number): number {
  const slot = 2 * (sign >>> (32 - LANGUAGE_BITS));
  return SLOTS[slot] === (sign & 0xff) ? SLOTS[slot + 1]! : 0;
}

function spread(hash: number): number {
  const h = Math.imul(hash ^ (hash >>> 15), 0x9e3779b1);
  return h ^ (h >>> 13);
}

/** An order before a colon or a quotation is in the user's language. The text after it may be in another one: "Translate to English: …". */
const ORDER = /^[^:："“„«]{6,80}(?=[:："“„«])/;

/** Returns the natural language of a text as ISO 639-1; null if no word or letter indicates one. */
export function naturalLanguageOf(text: string, words: Words): string | null {
  const order = ORDER.exec(text)?.[0].length;
  return (order === undefined ? null : languageIn(text, words, order)) ?? languageIn(text, words, text.length);
}

/** Returns the language of the words before a position. */
function languageIn(text: string, words: Words, end: number): string | null {
  const votes = new Float64Array(LANGUAGES.length);
  for (const sign of languageSigns(text, words, end, voteOf)) {
    const vote = voteOf(sign);
    votes[(vote >> VOTE_BITS) - 1]! += 1 + (vote & 3);
  }
  let best = 0;
  for (let at = 1; at < votes.length; at++) if (votes[at]! > votes[best]!) best = at;
  return votes[best]! > 0 ? LANGUAGES[best]! : null;
}

/** The programming languages that a text names. */
export interface ProgrammingNames {
  readonly names: readonly string[];
  /** Languages whose names are also everyday words, so that they count only in a question about code. */
  readonly everyday: readonly string[];
}

interface ProgrammingName {
  readonly language: string;
  readonly kind: 'names' | 'everyday' | 'extensions';
}

/** The names by the hash of their words, and the hashes of their first words. */
const NAMES = new Map<number, ProgrammingName[]>();
const FIRST_WORDS = new Set<number>();
const NAME_WORDS_MAX = 6;
for (const kind of ['names', 'everyday', 'extensions'] as const)
  for (const [language, list] of Object.entries<string>(programming[kind]))
    for (const name of list.split(' ')) {
      const words = new Words().read(name.replaceAll('_', ' '));
      const hash = chainOf(words, 0, words.size);
      NAMES.set(hash, [...(NAMES.get(hash) ?? []), { language, kind }]);
      FIRST_WORDS.add(words.hashes[0]!);
    }

/** Returns the hash of words in a row. */
function chainOf({ hashes }: Words, from: number, to: number): number {
  let hash = 0;
  for (let at = from; at < to; at++) hash = hashOn(hash, hashes[at]!);
  return hash;
}

const NO_NAMES: ProgrammingNames = { names: [], everyday: [] };

/** Returns the programming languages that the words of a text name. */
export function programmingNamesOf(text: string, words: Words): ProgrammingNames {
  let found = NO_NAMES;
  for (let at = 0; at < words.size; at++) {
    if (!FIRST_WORDS.has(words.hashes[at]!)) continue;
    const { names, length } = longestName(words, at);
    const start = words.from[at]!;
    const isEnding = text.charCodeAt(start - 1) === 0x2e && text.charCodeAt(start - 2) > 0x20;
    for (const { language, kind } of names) {
      if (isEnding !== (kind === 'extensions')) continue;
      if (kind === 'everyday' && !isName(text, start, words.to[at + length - 1]!)) continue;
      const list = kind === 'everyday' ? 'everyday' : 'names';
      if (!found[list].includes(language)) found = { ...found, [list]: [...found[list], language] };
    }
    at += Math.max(0, length - 1);
  }
  return found;
}

const NONE: readonly ProgrammingName[] = [];

/** Returns the longest name that begins at a word, and its number of words. */
function longestName(
  words: Words,
  at: number,
): { readonly names: readonly ProgrammingName[]; readonly length: number } {
  for (let length = Math.min(NAME_WORDS_MAX, words.size - at); length > 0; length--) {
    const names = NAMES.get(chainOf(words, at, at + length));
    if (names !== undefined) return { names, length };
  }
  return { names: NONE, length: 0 };
}

/** Names of one or two letters must be capitals, and neither the first word nor a part of another one. */
function isName(text: string, from: number, to: number): boolean {
  const code = text.charCodeAt(from);
  if (to - from > 2 || code >= FOREIGN) return true;
  return code > 0x40 && code < 0x5b && from > 0 && !"'’.+#".includes(text.charAt(to) || ' ');
}

/** Expressions for the beginnings of code lines, by language; '' for beginnings that several languages share. */
const LINES = Object.entries(expressionsOf(lines));
const START = new RegExp(LINES.map(({ 1: { source } }) => `(${source})`).join('|'), 'y');
const MARKED = /[{};=<>#$[\]@(:]|^(?:import|from|package|FROM|RUN|COPY|SELECT|def|fi|end|return|let) /;
const LINE = 160;
const LINES_MAX = 12;

/** Returns the programming language of most of the first lines of a text that look like code; null for none. */
export function languageOfCode(text: string): string | null {
  if (text === '') return null;
  const counts = new Map<string, number>();
  let most: string | null = null;
  for (const line of text.split('\n', LINES_MAX)) {
    const code = line.trim().slice(0, LINE);
    if (!MARKED.test(code)) continue;
    START.lastIndex = 0;
    const match = START.exec(code);
    const language = match && LINES[match.indexOf(match[0], 1) - 1]![0];
    if (!language) continue;
    const count = (counts.get(language) ?? 0) + 1;
    counts.set(language, count);
    if (most === null || count > counts.get(most)!) most = language;
  }
  return most;
}
