import type { LetterFile } from './lexicon/data-shapes.ts';
import letters from './lexicon/letters.json' with { type: 'json' };
import { LANGUAGES } from './lexicon/lexicon.ts';

const file: LetterFile = letters;

/**
 * All languages that can be recognized. The languages of the lexicon come first in the list of all languages, in the order of the lexicon.
 */
export const NATURAL: readonly string[] = [
  ...LANGUAGES,
  ...file.scripts.map(({ language }) => language).filter((language) => !LANGUAGES.includes(language)),
];
const KANA = NATURAL.indexOf('ja');
const HAN = NATURAL.indexOf('zh');

/** For each code unit, the index in `NATURAL` of the language that it votes for, plus one; 0 for none. */
export const VOTER = new Uint8Array(0x10000);
/** For each code unit, the weight of its vote. */
export const VOTES = new Float32Array(0x10000);

const { script, shared_script, typical_letter } = file.votes;
for (const { from, to, language, shared } of file.scripts) {
  const [begin, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16) + 1];
  VOTER.fill(NATURAL.indexOf(language) + 1, begin, end);
  VOTES.fill(shared ? shared_script : script, begin, end);
}
for (const [language, letters] of Object.entries(file.typical_letters)) {
  for (const letter of letters) {
    for (const either of [letter, letter.toUpperCase()]) {
      VOTER[either.charCodeAt(0)] = NATURAL.indexOf(language) + 1;
      VOTES[either.charCodeAt(0)] = typical_letter;
    }
  }
}

/** Returns the language with the most votes; null if there are no votes. */
export function likeliest(votes: Readonly<Float64Array>): string | null {
  let best = -1;
  let most = 0;
  for (let at = 0; at < votes.length; at++) {
    // Japanese texts also use Chinese characters, but Chinese texts never use kana.
    const count = at === KANA && votes[KANA]! > 0.2 * votes[HAN]! ? votes[KANA]! + votes[HAN]! : votes[at]!;
    if (count <= most) continue;
    best = at;
    most = count;
  }
  return best < 0 ? null : NATURAL[best]!;
}
