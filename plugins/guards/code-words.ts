/** How many characters of a text decide, so that the result is the same before the rest has arrived. */
export const JUDGED = 128;

/** A number in a name, such as `sha512`, has at most this many digits. */
const DIGITS_MAX = 4;
/** The most letters after a number at the beginning of a name, such as `2fa` and `64bit`. They are small. */
const AFTER_NUMBER_MAX = 6;
/** A name changes at most this often between letters and digits, as `base64url` does, and a whole text at most `CHANGES_MAX` times. */
const NAME_CHANGES_MAX = 2;
const CHANGES_MAX = 3;
/** If a text has at least `WORDS_MIN` words, they have on average at least `LETTERS_MIN` letters. `camelCase` has two words. */
const WORDS_MIN = 4;
const LETTERS_MIN = 2.5;

/** The sorts of signs, as numbers, because many texts are judged. */
const OTHER = 0;
const DIGIT = 1;
const SMALL = 2;
const CAPITAL = 3;

function signAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 0x61 && code <= 0x7a) return SMALL;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code >= 0x41 && code <= 0x5a) return CAPITAL;
  return code >= 0x80 ? SMALL : OTHER;
}

/** Whether a text consists of words, as names, types, references and paths in code do. Random texts do not. */
export function isWords(text: string): boolean {
  const end = Math.min(text.length, JUDGED);
  let words = 0;
  let letters = 0;
  let changes = 0;
  for (let at = 0; at < end; at++) {
    if (signAt(text, at) === OTHER) continue;
    const run = runAt(text, at, end);
    if (!run.isName) return false;
    words += run.words;
    letters += run.letters;
    changes += run.changes;
    at = run.end;
  }
  return changes <= CHANGES_MAX && (words < WORDS_MIN || letters >= LETTERS_MIN * words);
}

/** Reads letters and digits without a sign between them. */
function runAt(text: string, from: number, end: number) {
  const first = signAt(text, from);
  let words = 0;
  let letters = 0;
  let capitals = 0;
  let changes = 0;
  let digits = 0;
  let digitsMost = 0;
  let before = OTHER;
  let sign = first;
  let at = from;
  while (sign !== OTHER) {
    const next = at + 1 < end ? signAt(text, at + 1) : OTHER;
    if (at > from && (sign === DIGIT) !== (before === DIGIT)) changes++;
    if (sign === DIGIT) {
      digits = before === DIGIT ? digits + 1 : 1;
      if (digits > digitsMost) digitsMost = digits;
    } else {
      letters++;
      if (sign === CAPITAL) capitals++;
      // A word begins after a digit or sign, and with a capital after or before a small letter.
      if (before < SMALL || (sign === CAPITAL && (before === SMALL || next === SMALL))) words++;
    }
    at++;
    before = sign;
    sign = next;
  }
  const isNumberFirst = first === DIGIT && (changes > 1 || capitals > 0 || letters > AFTER_NUMBER_MAX);
  const isName = changes === 0 || (changes <= NAME_CHANGES_MAX && digitsMost <= DIGITS_MAX && !isNumberFirst);
  return { isName, words, letters, changes, end: at };
}
