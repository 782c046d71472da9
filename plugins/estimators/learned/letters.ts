/** The values of `FOLD_TABLE` for code units other than letters; letters are greater. */
export const SPACE = 0;
const SINGLE = 1;
export const DIGIT = 2;
export const LETTER = 3;

/** Code units from here on are not in the tables: ideographs, kana, symbols, surrogates. */
const TABLE_SIZE = 0x2000;

/** For each code unit below `TABLE_SIZE`: `SPACE`, `SINGLE`, `DIGIT`, or the letter in lower case. */
const FOLD_TABLE: Uint16Array = Uint16Array.from({ length: TABLE_SIZE }, (_, code) => foldUnit(code));

function foldUnit(code: number): number {
  const letter = String.fromCharCode(code);
  if (/\s/.test(letter)) return SPACE;
  if (/\p{Nd}/u.test(letter)) return DIGIT;
  if (isUnspaced(code) || !/[\p{L}\p{M}]/u.test(letter)) return SINGLE;
  return letter.toLowerCase().charCodeAt(0);
}

/** Thai, Lao, Tibetan, Burmese and Khmer have no spaces between words: a sentence would be one word. */
function isUnspaced(code: number): boolean {
  return (code >= 0x0e00 && code < 0x10a0) || (code >= 0x1780 && code < 0x1800);
}

/** Wide spaces, line separators and the byte order mark. */
function isWideSpace(code: number): boolean {
  return code <= 0x200b || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x3000 || code === 0xfeff;
}

export function foldCase(code: number): number {
  if (code < TABLE_SIZE) return FOLD_TABLE[code]!;
  return isWideSpace(code) ? SPACE : SINGLE;
}
