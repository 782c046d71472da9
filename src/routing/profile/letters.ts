/** The value in `FOLDED` for characters between words. */
const GAP = 0;
/** The value in `FOLDED` for combining marks and joiners, which are skipped within a word. */
export const MARK = 1;
export const DIGIT = 2;

/** Letters that cannot be decomposed into a base letter and a mark. */
const WHOLE: ReadonlyMap<string, string> = new Map(
  Object.entries({ ł: 'l', ø: 'o', đ: 'd', ß: 's', ı: 'i', æ: 'a', œ: 'o' }),
);

/**
 * For each UTF-16 code unit: `GAP`, `MARK`, `DIGIT` or the letter without case and accents, so that `RÉSUMÉ`, `résumé` and `resume` are the
 * same word. `FOLDED` is a table because every request is read character by character.
 */
export const FOLDED: Uint16Array = foldedTable();

function foldedTable(): Uint16Array {
  const table = new Uint16Array(0x10000);
  for (let code = 0; code < 0x10000; code++) table[code] = foldedUnit(code);
  return table;
}

function foldedUnit(code: number): number {
  // Ideographs, kana and Hangul have no case or accents, so they stay unchanged.
  if (isUnspaced(code)) return code;
  if (code >= 0xd800 && code < 0xf900) return GAP;
  if (code >= 0xff10 && code <= 0xff19) return DIGIT;
  if (code >= 0xff21 && code <= 0xff5a) return foldedUnit(code - 0xfee0);
  const letter = String.fromCharCode(code);
  if (/\p{Nd}/u.test(letter)) return DIGIT;
  if (isMark(code)) return MARK;
  if (!/[\p{L}\p{M}]/u.test(letter)) return GAP;
  const lower = letter.toLowerCase();
  return (WHOLE.get(lower) ?? lower.normalize('NFD')).charCodeAt(0);
}

/** Whether a code unit is an accent, an Arabic vowel, the Indic dot below or a joiner. */
function isMark(code: number): boolean {
  if (code < 0x0656) return (code >= 0x0300 && code < 0x0370) || code >= 0x064b;
  return code === 0x0670 || code === 0x093c || code === 0x200c || code === 0x200d || code === 0xfeff;
}

/**
 * Whether the script has no spaces between words, so that a word may begin and end anywhere. Korean counts as a script without spaces,
 * because its words run together.
 */
export function isUnspaced(code: number): boolean {
  return (
    code > 0x0e00 &&
    ((code >= 0x3040 && code <= 0x30ff) ||
      (code >= 0x3400 && code <= 0x9fff) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      code <= 0x0eff)
  );
}
