import { LANGUAGES } from './lexicon/lexicon.ts';

/** Letters that tell one language among those that share its script. */
const TELLING: Readonly<Record<string, string>> = {
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

/** Scripts of one language, or of the likeliest one, by ranges of code units; how much a letter of it tells. */
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

/** Every language that can be told: those of the lexicon first, as its votes have them. */
export const NATURAL: readonly string[] = [
  ...LANGUAGES,
  ...SCRIPTS.map(({ 2: language }) => language).filter((language) => !LANGUAGES.includes(language)),
];
const KANA = NATURAL.indexOf('ja');
const HAN = NATURAL.indexOf('zh');

/** For each code unit: the place in `NATURAL`, plus one, of the language that it votes for; and how much it does. */
export const VOTER = new Uint8Array(0x10000);
export const VOTES = new Float32Array(0x10000);
const LETTER_VOTE = 0.12;
/** Cyrillic is shared: a letter of it says little more than the script. */
const SHARED_VOTE = 0.01;
const TELLING_VOTE = 0.6;

for (const [from, to, language] of SCRIPTS) {
  VOTER.fill(NATURAL.indexOf(language) + 1, from, to + 1);
  VOTES.fill(language === 'ru' ? SHARED_VOTE : LETTER_VOTE, from, to + 1);
}
for (const [language, letters] of Object.entries(TELLING)) {
  for (const letter of letters) {
    for (const either of [letter, letter.toUpperCase()]) {
      VOTER[either.charCodeAt(0)] = NATURAL.indexOf(language) + 1;
      VOTES[either.charCodeAt(0)] = TELLING_VOTE;
    }
  }
}

/** The language with the most votes; null where there is none. */
export function likeliest(votes: Float64Array): string | null {
  // Japanese is written with Chinese characters too; Chinese never with kana.
  if (votes[KANA]! > 0.2 * votes[HAN]!) votes[KANA]! += votes[HAN]!;
  let best = -1;
  for (let at = 0; at < votes.length; at++) if (votes[at]! > 0 && (best < 0 || votes[at]! > votes[best]!)) best = at;
  return best < 0 ? null : NATURAL[best]!;
}
