import type { GuardMatch, GuardWindow } from './guard.ts';

/**
 * The most matches of a guard that count, in one request or one whole answer. Further ones are not searched: a guard that blocks does so in
 * any case, and one that masks blocks as soon as it has so many, because replacing millions of places would stop other requests.
 */
export const MATCHES_MAX = 65_536;

/**
 * Returns what is wrong with the matches that a guard returned for a window, which may not be type-checked; null if nothing is.
 * @param kinds the kinds that the guard reports
 */
export function matchFault(kinds: readonly string[], { side, texts }: GuardWindow, matches: unknown): string | null {
  if (!Array.isArray(matches)) return '`check` returns no list of matches';
  for (const match of matches as readonly (GuardMatch | null | undefined)[]) {
    if (!match || !kinds.includes(match.kind)) return 'a match has a kind that is not in `kinds`';
    const { at, repaired } = match;
    if (repaired !== undefined && (typeof repaired !== 'string' || side !== 'output' || at === undefined))
      return '`repaired` of a match must be a text for a place in an answer';
    if (at === undefined) continue;
    const length = texts[at.text]?.text.length ?? -1;
    const isWhole = Number.isSafeInteger(at.from) && Number.isSafeInteger(at.to);
    if (!isWhole || at.from < 0 || at.from >= at.to || at.to > length)
      return `a match is at ${at.from} to ${at.to} of text ${at.text}, which has ${length} characters`;
  }
  return null;
}
