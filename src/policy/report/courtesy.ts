/**
 * A courtesy answers a mistake with the text to write instead. Each courtesy is a row of a table next to what it is about, and states the
 * mistake that it answers. `test/policy/courtesies.test.ts` makes every mistake and checks that its row answers it, so a row without a
 * mistake cannot stay.
 */
export interface Courtesy<Found, Answer = string> {
  /** The mistake: a policy file, or for a table about expressions an expression. */
  readonly mistake: string;
  /** Returns what to write instead; undefined for any other mistake. */
  answer(found: Found): Answer | undefined;
}

/** Returns the answer of the first row that knows a mistake. */
export function answerTo<Found, Answer>(
  courtesies: readonly Courtesy<Found, Answer>[],
  found: Found,
): Answer | undefined {
  for (const courtesy of courtesies) {
    const answer = courtesy.answer(found);
    if (answer !== undefined) return answer;
  }
  return undefined;
}
