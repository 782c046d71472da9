/** The start and end of a match, in UTF-16 units. */
export type TextSpan = readonly [from: number, to: number];

/**
 * Finds matches in order, without overlap, and adds them to `found`.
 * @param from where the search begins; what comes before can still decide whether something is a match
 * @param until the search stops at the first place that something after `until` can decide; the length of the text for a whole text
 * @returns where a search of a longer text with the same beginning has to continue
 */
export type TextFinder = (text: string, from: number, until: number, found: TextSpan[]) => number;

/** Finds all matches in a text. */
export function allIn(find: TextFinder, text: string): TextSpan[] {
  const found: TextSpan[] = [];
  find(text, 0, text.length, found);
  return found;
}

/**
 * Makes a finder of a pattern with the flag `g`, which matches no empty text.
 * @param spanOf returns the place that counts in a match of the pattern; null for none. Default: the whole match
 */
export const patternFinder =
  (
    pattern: RegExp,
    spanOf: (match: RegExpExecArray, text: string) => TextSpan | null = ({ index, 0: found }) => [
      index,
      index + found.length,
    ],
  ): TextFinder =>
  (text, from, until, found) => {
    pattern.lastIndex = from;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      if (match.index + match[0].length > until) return Math.min(match.index, until);
      const span = spanOf(match, text);
      if (span) found.push(span);
    }
    return until;
  };

/** The characters of a text that are inspected in one step, without a pause. */
export const SEARCH_STEP = 16_384;

/**
 * Finds all matches in a text in steps of some thousand characters. The result is the same as of `allIn`. A match that goes on is searched
 * again from its beginning, each time in twice the text.
 * @param ahead how many characters after a place can decide whether a match begins there
 * @param step the characters that one step looks at
 */
export function* stepsIn(
  find: TextFinder,
  text: string,
  ahead: number,
  step = SEARCH_STEP,
): Generator<void, TextSpan[]> {
  const found: TextSpan[] = [];
  yield* searchIn(find, text, ahead, step, (spans) => {
    for (const span of spans) found.push(span);
  });
  return found;
}

/** Does the same as `stepsIn`, and keeps no match. @param take called with the matches of each step */
export function* searchIn(
  find: TextFinder,
  text: string,
  ahead: number,
  step: number,
  take: (found: readonly TextSpan[]) => void,
): Generator<void, void> {
  let size = step;
  for (let at = 0; ; ) {
    const found: TextSpan[] = [];
    const end = at + size + ahead;
    const isLast = end >= text.length;
    const next = isLast ? find(text, at, text.length, found) : find(text.slice(0, end), at, at + size, found);
    take(found);
    if (isLast) return;
    size = next > at ? step : 2 * size;
    at = next;
    yield;
  }
}
