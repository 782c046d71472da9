import type { GuardMatch, GuardText, GuardWindow, TextSpan } from 'signalbox/plugin';

/** A kind of match, with a function that finds its places in a text, in order. */
export type Finder = readonly [kind: string, find: (text: string) => readonly TextSpan[]];

/** Returns the matches of all finders in a window. Of two places that overlap, only the place of the earlier finder counts. */
export function matchesIn({ texts }: GuardWindow, finders: readonly Finder[]): readonly GuardMatch[] {
  const matches: GuardMatch[] = [];
  for (let at = 0; at < texts.length; at++) addMatches(texts[at]!, at, finders, matches);
  return matches;
}

function addMatches({ text }: GuardText, index: number, finders: readonly Finder[], into: GuardMatch[]): void {
  const taken: TextSpan[] = [];
  for (const [kind, find] of finders) {
    const before = taken.length;
    for (const [from, to] of find(text)) {
      if (overlaps(taken, before, from, to)) continue;
      taken.push([from, to]);
      into.push({ kind, at: { text: index, from, to } });
    }
  }
}

/** Whether a place overlaps one of the first `most` places. */
function overlaps(taken: readonly TextSpan[], most: number, from: number, to: number): boolean {
  for (let at = 0; at < most; at++) if (taken[at]![0] < to && from < taken[at]![1]) return true;
  return false;
}
