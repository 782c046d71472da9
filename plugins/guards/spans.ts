import type { GuardMatch, GuardText, GuardWindow, TextSpan } from 'signalbox/plugin';

/** A kind of match, with a function that finds its places in a text, in order and without overlap. */
export type Finder = readonly [kind: string, find: (text: string) => readonly TextSpan[]];

/** Returns the matches of all finders in a window. Of two places that overlap, only the place of the earlier finder counts. */
export function matchesIn({ texts }: GuardWindow, finders: readonly Finder[]): readonly GuardMatch[] {
  const matches: GuardMatch[] = [];
  for (let at = 0; at < texts.length; at++) addMatches(texts[at]!, at, finders, matches);
  return matches;
}

function addMatches({ text }: GuardText, index: number, finders: readonly Finder[], into: GuardMatch[]): void {
  let taken: readonly TextSpan[] = [];
  for (const [kind, find] of finders) {
    const found = apartFrom(taken, find(text));
    for (const [from, to] of found) into.push({ kind, at: { text: index, from, to } });
    if (found.length > 0) taken = [...taken, ...found].sort(([a], [b]) => a - b);
  }
}

/** Returns the places that overlap none of the taken places. Both lists are in order and without overlap. */
function apartFrom(taken: readonly TextSpan[], found: readonly TextSpan[]): readonly TextSpan[] {
  if (taken.length === 0) return found;
  let at = 0;
  return found.filter(([from, to]) => {
    while (at < taken.length && taken[at]![1] <= from) at++;
    return at === taken.length || taken[at]![0] >= to;
  });
}

/** Returns the places that are not within an exception. Both lists are in order and without overlap. */
export function outside(exceptions: readonly TextSpan[], found: readonly TextSpan[]): readonly TextSpan[] {
  let at = 0;
  return found.filter(([from, to]) => {
    while (at < exceptions.length && exceptions[at]![1] <= from) at++;
    const exception = exceptions[at];
    return !(exception && exception[0] <= from && to <= exception[1]);
  });
}
