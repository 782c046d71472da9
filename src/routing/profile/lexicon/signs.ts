import type { SignRow } from './data-shapes.ts';
import file from './signs.json' with { type: 'json' };

/** The meaning of a word of a question. `signs.json` describes each sign. */
export type Sign = keyof typeof file.signs;

const ROWS: Readonly<Record<Sign, SignRow>> = file.signs;
const ENTRIES = Object.entries(ROWS) as readonly (readonly [Sign, SignRow])[];

export const SIGNS: readonly Sign[] = ENTRIES.map(([sign]) => sign);
/** The index of each sign in `SIGNS`. */
export const SIGN = Object.fromEntries(SIGNS.map((sign, at) => [sign, at])) as Readonly<Record<Sign, number>>;

/** The role of a verb that names a task. The first verb that names a task determines the task; later verbs mostly describe its object. */
export const LEAD = 1;
/** The role of a verb whose object is a text. */
export const ON_TEXT = 2;
/** The role of a noun for something that can be created. */
export const OBJECT = 4;
/** The role of a noun that also occurs in documents. */
export const THING = 8;

const BITS: Readonly<Record<string, number>> = { lead: LEAD, on_text: ON_TEXT, object: OBJECT, thing: THING };
const ROLES = Uint8Array.from(ENTRIES, ([, { roles = [] }]) => roles.reduce((all, role) => all | BITS[role]!, 0));

/** Returns whether a sign has a role. The sign -1 means no sign. */
export const hasRole = (sign: number, role: number): boolean => sign >= 0 && (ROLES[sign]! & role) !== 0;

type Tokens = ReadonlyMap<number, number>;
const tokensOf = (field: 'unit_tokens' | 'answer_tokens' | 'piece_tokens'): Tokens =>
  new Map(ENTRIES.flatMap(([sign, { [field]: tokens }]) => (tokens === undefined ? [] : [[SIGN[sign], tokens]])));

/** The tokens of one unit of a length, of a whole answer, and of a piece of writing, by sign. */
export const UNIT_TOKENS = tokensOf('unit_tokens');
export const ANSWER_TOKENS = tokensOf('answer_tokens');
export const PIECE_TOKENS = tokensOf('piece_tokens');

const isNoun = (sign: Sign): boolean => ROWS[sign].noun === true;

/** Returns whether other languages borrow the English words of a sign. */
export const isBorrowed = (language: string, sign: Sign): boolean => language === 'en' && isNoun(sign);

/** Returns the vote of a word for its language. */
export function voteFor(language: string, sign: Sign, pattern: string): number {
  const { words, noun, english_noun, other, letter_divisor } = file.votes;
  const vote = sign === 'words' ? words : !isNoun(sign) ? other : language === 'en' ? english_noun : noun;
  return pattern.length === 1 && pattern < '\u0300' ? vote / letter_divisor : vote;
}

/** The weights of a sign in a question. `signs.json` describes the weights of signs. */
export const WEIGHT = file.weights;
