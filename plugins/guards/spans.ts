import {
  allIn,
  type GuardMatch,
  type GuardSteps,
  type GuardText,
  type GuardWindow,
  stepsIn,
  type TextFinder,
  type TextSpan,
} from 'signalbox/plugin';

/**
 * A kind of match, with a function that finds its places in a text; optionally with exceptions, within which nothing counts, and with the
 * characters that a slow search looks at in one step.
 */
export type Finder = readonly [kind: string, find: TextFinder, except?: TextFinder | undefined, step?: number];

/** The characters that one step of a search looks at, unless it is slow. */
const STEP = 16_384;
/** The most characters, multiplied by the number of finders, that are searched without a pause: some milliseconds. */
const AT_ONCE = 262_144;
/** The most places that are compared without a pause. */
const PLACES = 16_384;
/** The most characters after its beginning that decide whether there is a match. */
const AHEAD = 1_024;

/**
 * Returns the matches of all finders in a window, without places within the places of an earlier finder.
 * @param ahead the most characters after its beginning that decide whether there is a match
 */
export function matchesIn(
  { texts }: GuardWindow,
  finders: readonly Finder[],
  ahead = AHEAD,
): readonly GuardMatch[] | GuardSteps {
  let length = 0;
  for (const { text } of texts) length += text.length;
  let weight = 0;
  for (const [, , , step = STEP] of finders) weight += STEP / step;
  return length * weight > AT_ONCE ? matchesInSteps(texts, finders, ahead) : matchesAtOnce(texts, finders);
}

/** Does the work of `matchesIn` without a pause. */
export function matchesAtOnce(texts: readonly GuardText[], finders: readonly Finder[]): readonly GuardMatch[] {
  const matches: GuardMatch[] = [];
  for (let at = 0; at < texts.length; at++) addMatches(texts[at]!, at, finders, matches);
  return matches;
}

function addMatches({ text }: GuardText, index: number, finders: readonly Finder[], into: GuardMatch[]): void {
  let taken: readonly TextSpan[] = [];
  for (const [kind, find, except] of finders) {
    const all = allIn(find, text);
    if (all.length === 0) continue;
    const found = outside(taken, except ? outside(allIn(except, text), all) : all);
    for (const [from, to] of found) into.push({ kind, at: { text: index, from, to } });
    if (found.length > 0) taken = joined([...taken, ...found]);
  }
}

/** Returns places in order, with one place for places that overlap. */
function joined(places: readonly TextSpan[]): readonly TextSpan[] {
  const all: TextSpan[] = [];
  for (const place of places.toSorted(([a], [b]) => a - b)) addJoined(all, place);
  return all;
}

/** Adds a place to places that begin before it, or extends the last one if they overlap. */
function addJoined(all: TextSpan[], place: TextSpan): void {
  const last = all.at(-1);
  if (last && place[0] < last[1]) all[all.length - 1] = [last[0], Math.max(last[1], place[1])];
  else all.push(place);
}

/** Does the work of `matchesIn` in steps, with the same result. */
export function* matchesInSteps(
  texts: readonly GuardText[],
  finders: readonly Finder[],
  ahead: number,
): Generator<void, readonly GuardMatch[]> {
  const matches: GuardMatch[] = [];
  let searched = 0;
  for (let at = 0; at < texts.length; at++) {
    const { text } = texts[at]!;
    let taken: readonly TextSpan[] = [];
    for (const [kind, find, except, step = STEP] of finders) {
      const all = yield* stepsIn(find, text, ahead, step);
      const found = except && all.length > 0 ? outside(yield* stepsIn(except, text, ahead), all) : all;
      taken = yield* addOutside(taken, found, (from, to) => matches.push({ kind, at: { text: at, from, to } }));
      searched += text.length;
      if (searched < PLACES) continue;
      searched = 0;
      yield;
    }
  }
  return matches;
}

/**
 * Reports the places that are not within a taken place, and returns them together with the taken ones, with one place for places that
 * overlap. Both lists are in order and without overlap.
 */
function* addOutside(
  taken: readonly TextSpan[],
  found: readonly TextSpan[],
  report: (from: number, to: number) => void,
): Generator<void, readonly TextSpan[]> {
  if (found.length === 0) return taken;
  const all: TextSpan[] = [];
  let at = 0;
  for (const place of found) {
    const [from, to] = place;
    while (at < taken.length && taken[at]![0] <= from) addJoined(all, taken[at++]!);
    if (at > 0 && to <= taken[at - 1]![1]) continue;
    addJoined(all, place);
    report(from, to);
    if (all.length % PLACES === 0) yield;
  }
  while (at < taken.length) addJoined(all, taken[at++]!);
  return all;
}

/** Returns the places that are not within an exception. Both lists are in order and without overlap. */
function outside(exceptions: readonly TextSpan[], found: readonly TextSpan[]): readonly TextSpan[] {
  let at = 0;
  return found.filter(([from, to]) => {
    while (at < exceptions.length && exceptions[at]![1] <= from) at++;
    const exception = exceptions[at];
    return !(exception && exception[0] <= from && to <= exception[1]);
  });
}
