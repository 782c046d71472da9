/** How many characters of a text decide, so that the result is the same before the rest has arrived. */
export const JUDGED = 128;

/** Letters and digits without a sign between them. */
const RUN = /[A-Za-z0-9\u0080-\uffff]+/g;
/** The words of a run, as `camelCase` has two, and its numbers. */
const PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[\u0080-\uffff]+/g;

/** A number in a name, such as `sha512`, has at most this many digits. */
const DIGITS_MAX = 4;
/** A run that begins with a number, such as `2fa` and `64bit`. */
const NUMBER_FIRST = /^\d{1,4}[a-z]{0,6}$/;
/** A name changes at most this often between letters and digits, as `base64url` does, and a whole text at most `CHANGES_MAX` times. */
const NAME_CHANGES_MAX = 2;
const CHANGES_MAX = 3;
/** If a text has at least `WORDS_MIN` words, they have on average at least `LETTERS_MIN` letters. */
const WORDS_MIN = 4;
const LETTERS_MIN = 2.5;

/** Whether a text consists of words, as names, types, references and paths in code do. Random texts do not. */
export function isWords(text: string): boolean {
  let [words, letters, changes] = [0, 0, 0];
  for (const run of text.slice(0, JUDGED).match(RUN) ?? []) {
    const parts = run.match(PART) ?? [];
    const named = parts.filter((part) => !isNumber(part));
    const inRun = parts.filter((part, at) => at > 0 && isNumber(part) !== isNumber(parts[at - 1]!)).length;
    if (inRun > NAME_CHANGES_MAX || (inRun > 0 && !isName(run, parts))) return false;
    changes += inRun;
    words += named.length;
    letters += named.join('').length;
  }
  return changes <= CHANGES_MAX && (words < WORDS_MIN || letters >= LETTERS_MIN * words);
}

const isNumber = (part: string): boolean => part.charAt(0) >= '0' && part.charAt(0) <= '9';

/** Whether a run with letters and numbers can be a name: no long number, and letters first. */
const isName = (run: string, parts: readonly string[]): boolean =>
  (!isNumber(run) || NUMBER_FIRST.test(run)) && parts.every((part) => !isNumber(part) || part.length <= DIGITS_MAX);
