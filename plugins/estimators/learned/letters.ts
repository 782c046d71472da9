/** What `FOLDED` gives for what is no letter; letters are above all of these. */
export const SPACE = 0;
const SINGLE = 1;
export const DIGIT = 2;
export const LETTER = 3;

/** Code units from here on are in no table: ideographs, kana, symbols, surrogates. */
const BEYOND = 0x2000;

/** For each code unit below `BEYOND`: `SPACE`, `SINGLE`, `DIGIT`, or the letter in lower case. */
const FOLDED: Uint16Array = foldedTable();

function foldedTable(): Uint16Array {
  const table = new Uint16Array(BEYOND);
  for (let code = 0; code < BEYOND; code++) table[code] = foldedUnit(code);
  return table;
}

function foldedUnit(code: number): number {
  const letter = String.fromCharCode(code);
  if (/\s/.test(letter)) return SPACE;
  if (/\p{Nd}/u.test(letter)) return DIGIT;
  if (isUnspaced(code) || !/[\p{L}\p{M}]/u.test(letter)) return SINGLE;
  return letter.toLowerCase().charCodeAt(0);
}

/** Thai, Lao, Tibetan, Burmese and Khmer have no blanks between words: a sentence would be one word. */
function isUnspaced(code: number): boolean {
  return (code >= 0x0e00 && code < 0x10a0) || (code >= 0x1780 && code < 0x1800);
}

/** Wider blanks, ends of line, and the mark of byte order. */
function isWideSpace(code: number): boolean {
  return code <= 0x200b || code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x3000 || code === 0xfeff;
}

/** Which of the four a code unit is: all letters are `LETTER`. */
const KINDS: Uint8Array = Uint8Array.from(FOLDED, (unit) => Math.min(LETTER, unit));

export function kindOf(code: number): number {
  if (code < BEYOND) return KINDS[code]!;
  return isWideSpace(code) ? SPACE : SINGLE;
}

export function folded(code: number): number {
  if (code < BEYOND) return FOLDED[code]!;
  return isWideSpace(code) ? SPACE : SINGLE;
}
