import { LANGUAGES } from './lexicon/lexicon.ts';

/** Letters that are typical of one language among those of its script. */
const TYPICAL_LETTERS: Readonly<Record<string, string>> = {
  de: 'äöüß',
  pl: 'ąćęłńśźż',
  es: 'ñ¿¡',
  pt: 'ãõ',
  fr: 'çèêàùœ',
  it: 'òìù',
  tr: 'ğışİ',
  cs: 'řěůčšžť',
  vi: 'ơưđăạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ',
  uk: 'іїєґ',
  ru: 'ыэъё',
  ja: 'ーっ',
};

/** Scripts by ranges of code units, with their only or likeliest language. */
const SCRIPTS: readonly (readonly [from: number, to: number, language: string])[] = [
  [0x0370, 0x03ff, 'el'],
  [0x0400, 0x04ff, 'ru'],
  [0x0590, 0x05ff, 'he'],
  [0x0600, 0x06ff, 'ar'],
  [0x0900, 0x097f, 'hi'],
  [0x0980, 0x09ff, 'bn'],
  [0x0b80, 0x0bff, 'ta'],
  [0x0e00, 0x0e7f, 'th'],
  [0x3040, 0x30ff, 'ja'],
  [0x3400, 0x9fff, 'zh'],
  [0xac00, 0xd7a3, 'ko'],
];

/** All languages that can be recognized; those of the lexicon first, in its order. */
export const NATURAL: readonly string[] = [
  ...LANGUAGES,
  ...SCRIPTS.map(({ 2: language }) => language).filter((language) => !LANGUAGES.includes(language)),
];
const KANA = NATURAL.indexOf('ja');
const HAN = NATURAL.indexOf('zh');

/** By code unit: the index in `NATURAL` of the language that it votes for, plus one; 0 for none. */
export const VOTER = new Uint8Array(0x10000);
/** By code unit: the weight of its vote. */
export const VOTES = new Float32Array(0x10000);
const LETTER_VOTE = 0.12;
/** Several languages use Cyrillic. */
const SHARED_VOTE = 0.01;
const TYPICAL_VOTE = 0.6;

for (const [from, to, language] of SCRIPTS) {
  VOTER.fill(NATURAL.indexOf(language) + 1, from, to + 1);
  VOTES.fill(language === 'ru' ? SHARED_VOTE : LETTER_VOTE, from, to + 1);
}
for (const [language, letters] of Object.entries(TYPICAL_LETTERS)) {
  for (const letter of letters) {
    for (const either of [letter, letter.toUpperCase()]) {
      VOTER[either.charCodeAt(0)] = NATURAL.indexOf(language) + 1;
      VOTES[either.charCodeAt(0)] = TYPICAL_VOTE;
    }
  }
}

/** The language with the most votes; null where there is none. */
export function likeliest(votes: Readonly<Float64Array>): string | null {
  let best = -1;
  let most = 0;
  for (let at = 0; at < votes.length; at++) {
    // Japanese uses Chinese characters; Chinese never uses kana.
    const count = at === KANA && votes[KANA]! > 0.2 * votes[HAN]! ? votes[KANA]! + votes[HAN]! : votes[at]!;
    if (count <= most) continue;
    best = at;
    most = count;
  }
  return best < 0 ? null : NATURAL[best]!;
}
