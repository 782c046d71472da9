/** The meaning of a pattern: a sign in a language, or the name of a programming language or of a topic of tools. */
export interface Meaning {
  /** An index in `SIGNS`, or one of the kinds of names that follow the signs. */
  readonly sign: number;
  /** An index in `LANGUAGES`; -1 for names. */
  readonly language: number;
  readonly vote: number;
  /** Whether other languages borrow the word. */
  readonly isLoan: boolean;
  /** The name; '' if the pattern is not a name. */
  readonly name: string;
}

/**
 * A meaning is packed into one number, so that the meanings of a word are adjacent in memory: 6 bits for the sign, 5 for the language, 1
 * for a loan, 4 for the vote and 12 for the name.
 */
const LANGUAGE = 6;
const LOAN = 11;
const VOTE = 12;
const NAME = 16;

/** The distinct votes and names of all meanings. A packed meaning contains an index into the votes and an index into the names. */
const VOTES = new Float64Array(1 << (NAME - VOTE));
const votes: number[] = [];
const NAMES: string[] = [];
const nameIndex = new Map<string, number>();

export function packMeaning({ sign, language, vote, isLoan, name }: Meaning): number {
  if (!votes.includes(vote)) VOTES[votes.push(vote) - 1] = vote;
  if (!nameIndex.has(name)) nameIndex.set(name, NAMES.push(name) - 1);
  const packed =
    sign |
    ((language + 1) << LANGUAGE) |
    (Number(isLoan) << LOAN) |
    (votes.indexOf(vote) << VOTE) |
    (nameIndex.get(name)! << NAME);
  if (
    votes.length > VOTES.length ||
    NAMES.length > 1 << 12 ||
    signOf(packed) !== sign ||
    languageOf(packed) !== language
  )
    throw new RangeError(`no free number is left for the meaning of ${name || sign}`);
  return packed;
}

export const signOf = (meaning: number): number => meaning & 0x3f;
export const languageOf = (meaning: number): number => ((meaning >> LANGUAGE) & 0x1f) - 1;
export const isLoan = (meaning: number): boolean => ((meaning >> LOAN) & 1) === 1;
export const voteOf = (meaning: number): number => VOTES[(meaning >> VOTE) & 0xf]!;
export const nameOf = (meaning: number): string => NAMES[meaning >> NAME]!;

/** Returns whether one of the meanings from `begin` to `end` belongs to a language. */
export function hasLanguage(meanings: Int32Array, begin: number, end: number, language: number): boolean {
  for (let at = begin; at < end; at++) if (languageOf(meanings[at]!) === language) return true;
  return false;
}
