import { EXTENSIONS, HOMOGRAPHS, NAMES } from '../programming.ts';
import { Trie } from '../trie.ts';
import { ar, hi, id, tr, vi } from './asian.ts';
import { ja, ko, zh } from './east-asian.ts';
import { de, en, nl } from './germanic.ts';
import { packMeaning } from './meaning.ts';
import { NUMERALS } from './numerals.ts';
import { es, fr, it, pt } from './romance.ts';
import { SIGNS, type Sign, type SignWords } from './signs.ts';
import { cs, pl, ru, uk } from './slavic.ts';
import { TOPICS } from './tool-topics.ts';

const BLOCKS: Readonly<Record<string, SignWords>> = {
  en,
  ar,
  cs,
  de,
  es,
  fr,
  hi,
  id,
  it,
  ja,
  ko,
  nl,
  pl,
  pt,
  ru,
  tr,
  uk,
  vi,
  zh,
};

/** Languages of the lexicon, in the order of their votes. */
export const LANGUAGES: readonly string[] = Object.keys(BLOCKS);

export const SIGN = Object.fromEntries(SIGNS.map((sign, at) => [sign, at])) as Record<Sign, number>;
export const NAME = SIGNS.length;
export const HOMOGRAPH = SIGNS.length + 1;
export const EXTENSION = SIGNS.length + 2;
export const TOPIC = SIGNS.length + 3;
export const NUMERAL = SIGNS.length + 4;

const NOUNS: ReadonlySet<Sign> = new Set([
  'prose',
  'piece',
  'fields',
  'code',
  'program',
  'maths',
  'labels',
  'amount',
  'given',
  'tongue',
  'verse',
  'post',
]);

const split = (text: string): readonly string[] => text.match(/\S+/g) ?? [];

/** The patterns of all languages, each with a packed meaning. */
function* patterns(): Generator<readonly [string, number]> {
  for (const [language, words] of Object.values(BLOCKS).entries()) {
    const voted = new Set<string>();
    for (const sign of SIGNS) {
      const isLoan = language === 0 && NOUNS.has(sign);
      for (const pattern of split(words[sign] ?? '')) {
        const vote = voteOf(language, sign, pattern, voted);
        yield [pattern, packMeaning({ sign: SIGN[sign], language, vote, isLoan, name: '' })];
      }
    }
  }
  for (const [sign, names] of Object.entries({
    [NAME]: NAMES,
    [HOMOGRAPH]: HOMOGRAPHS,
    [EXTENSION]: EXTENSIONS,
    [TOPIC]: TOPICS,
    [NUMERAL]: NUMERALS,
  })) {
    for (const [name, text] of Object.entries(names)) {
      for (const pattern of split(text))
        yield [pattern, packMeaning({ sign: Number(sign), language: -1, vote: 0, isLoan: true, name })];
    }
  }
}

/** The vote of a word for its language. Function words weigh most, English nouns least. A word votes once, and is then in `voted`. */
function voteOf(language: number, sign: Sign, pattern: string, voted: Set<string>): number {
  if (voted.has(pattern)) return 0;
  voted.add(pattern);
  const vote = sign === 'words' ? 1 : NOUNS.has(sign) ? (language === 0 ? 0.2 : 0.3) : 0.6;
  return pattern.length === 1 && pattern < '\u0300' ? vote / 3 : vote;
}

/** Finds the meanings of words and phrases. */
export const LEXICON = new Trie(patterns());
