import type { GuardMatch, GuardText, GuardWindow, TextSpan } from 'signalbox/plugin';

/** A kind of match, with a function that finds its places in a text, in order and without overlap. */
export type Finder = readonly [kind: string, find: (text: string) => readonly TextSpan[]];

/** Returns the matches of all finders in a window, without places within the places of an earlier finder. */
export function matchesIn({ texts }: GuardWindow, finders: readonly Finder[]): readonly GuardMatch[] {
  const matches: GuardMatch[] = [];
  for (let at = 0; at < texts.length; at++) addMatches(texts[at]!, at, finders, matches);
  return matches;
}

function addMatches({ text }: GuardText, index: number, finders: readonly Finder[], into: GuardMatch[]): void {
  let taken: readonly TextSpan[] = [];
  for (const [kind, find] of finders) {
    const found = outside(taken, find(text));
    for (const [from, to] of found) into.push({ kind, at: { text: index, from, to } });
    if (found.length > 0) taken = joined([...taken, ...found]);
  }
}

/** Returns places in order, with one place for places that overlap. */
function joined(places: readonly TextSpan[]): readonly TextSpan[] {
  const all: TextSpan[] = [];
  for (const [from, to] of places.toSorted(([a], [b]) => a - b)) {
    const last = all.at(-1);
    if (last && from < last[1]) all[all.length - 1] = [last[0], Math.max(last[1], to)];
    else all.push([from, to]);
  }
  return all;
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
