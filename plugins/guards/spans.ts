import {
  allIn,
  type GuardMatch,
  type GuardSteps,
  type GuardText,
  type GuardWindow,
  MATCHES_MAX,
  SEARCH_STEP,
  searchIn,
  type TextFinder,
  type TextSpan,
} from 'signalbox/plugin';

/**
 * A kind of match, with a function that finds its places in a text; optionally with exceptions, within which nothing counts, and with the
 * characters that a slow search looks at in one step.
 */
export type Finder = readonly [kind: string, find: TextFinder, except?: TextFinder | undefined, step?: number];

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
  for (const [, , , step = SEARCH_STEP] of finders) weight += SEARCH_STEP / step;
  return length * weight > AT_ONCE ? matchesInSteps(texts, finders, ahead) : matchesAtOnce(texts, finders);
}

/** Does the work of `matchesIn` without a pause. */
export function matchesAtOnce(texts: readonly GuardText[], finders: readonly Finder[]): readonly GuardMatch[] {
  const matches: GuardMatch[] = [];
  for (let at = 0; at < texts.length && matches.length < MATCHES_MAX; at++)
    addMatches(texts[at]!, at, finders, matches);
  return matches;
}

function addMatches({ text }: GuardText, index: number, finders: readonly Finder[], into: GuardMatch[]): void {
  let taken: readonly TextSpan[] = [];
  for (const [kind, find, except] of finders) {
    const all = allIn(find, text);
    if (all.length === 0) continue;
    const found = outside(taken, except ? outside(allIn(except, text), all) : all);
    for (const [from, to] of found) {
      if (into.length === MATCHES_MAX) return;
      into.push({ kind, at: { text: index, from, to } });
    }
    if (found.length > 0) taken = joined([...taken, ...found]);
  }
}

/** Returns places in order, with one place for places that overlap. */
function joined(places: readonly TextSpan[]): readonly TextSpan[] {
  const all: TextSpan[] = [];
  for (const place of places.toSorted(([a], [b]) => a - b)) {
    const last = all.at(-1);
    if (last && place[0] < last[1]) all[all.length - 1] = [last[0], Math.max(last[1], place[1])];
    else all.push(place);
  }
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
    let taken = NONE;
    for (const [kind, find, except, step = SEARCH_STEP] of finders) {
      const found = yield* placesIn(find, text, ahead, step);
      const exceptions = except && found.length > 0 ? yield* placesIn(except, text, ahead, SEARCH_STEP) : NONE;
      taken = yield* addOutside(taken, found, exceptions, (from, to) => {
        matches.push({ kind, at: { text: at, from, to } });
        return matches.length < MATCHES_MAX;
      });
      if (matches.length === MATCHES_MAX) return matches;
      searched += text.length;
      if (searched < PLACES) continue;
      searched = 0;
      yield;
    }
  }
  return matches;
}

/** Places of a text in order and without overlap, in a compact form: a text of some megabytes can have millions. */
class Places {
  length = 0;
  readonly #blocks: Int32Array[] = [];

  add(from: number, to: number): void {
    const at = this.length % PLACES;
    if (at === 0) this.#blocks.push(new Int32Array(2 * PLACES));
    const block = this.#blocks.at(-1)!;
    block[2 * at] = from;
    block[2 * at + 1] = to;
    this.length++;
  }

  from(index: number): number {
    return this.#blocks[Math.floor(index / PLACES)]![2 * (index % PLACES)]!;
  }

  to(index: number): number {
    return this.#blocks[Math.floor(index / PLACES)]![2 * (index % PLACES) + 1]!;
  }

  /** Adds a place that begins after the others, or extends the last one if they overlap. */
  join(from: number, to: number): void {
    if (this.length === 0 || from >= this.to(this.length - 1)) this.add(from, to);
    else this.#blocks.at(-1)![2 * ((this.length - 1) % PLACES) + 1] = Math.max(this.to(this.length - 1), to);
  }
}

const NONE = new Places();

function* placesIn(find: TextFinder, text: string, ahead: number, step: number): Generator<void, Places> {
  const places = new Places();
  yield* searchIn(find, text, ahead, step, (found) => {
    for (const [from, to] of found) places.add(from, to);
  });
  return places;
}

/**
 * Reports the places that are neither within a taken place nor within an exception, and returns them together with the taken ones, with one
 * place for places that overlap.
 * @param report returns whether further places count
 */
function* addOutside(
  taken: Places,
  found: Places,
  exceptions: Places,
  report: (from: number, to: number) => boolean,
): Generator<void, Places> {
  if (found.length === 0) return taken;
  const all = new Places();
  let [at, except] = [0, 0];
  for (let index = 0; index < found.length; index++) {
    if (index % PLACES === PLACES - 1) yield;
    const [from, to] = [found.from(index), found.to(index)];
    for (; except < exceptions.length && exceptions.to(except) <= from; except++)
      if (except % PLACES === PLACES - 1) yield;
    if (except < exceptions.length && exceptions.from(except) <= from && to <= exceptions.to(except)) continue;
    for (; at < taken.length && taken.from(at) <= from; at++) all.join(taken.from(at), taken.to(at));
    if (at > 0 && to <= taken.to(at - 1)) continue;
    all.join(from, to);
    if (!report(from, to)) return all;
  }
  for (; at < taken.length; at++) all.join(taken.from(at), taken.to(at));
  return all;
}
