import { SEARCH_STEP } from '../core/text/search.ts';
import type { GuardMatch, GuardSteps, GuardText, GuardWindow, PreparedGuard } from './guard.ts';
import { MATCHES_MAX, matchFault } from './guard-matches.ts';

/** The longest window of a guard that states neither `reach` nor `longest`, in characters. */
export const LONGEST = 262_144;
/** The longest part in which the end of a match is searched. */
const PART_MAX = 1_048_576;

/** Thrown for a text that a guard cannot inspect because of its length. */
export class TooLongForGuard extends Error {}

/**
 * Inspects a window with a pure guard. A long window takes steps.
 * @param part the characters that are inspected without a pause
 * @throws TooLongForGuard, also by a step
 */
export function checkPure(
  guard: PreparedGuard,
  window: GuardWindow,
  part = SEARCH_STEP,
): ReturnType<PreparedGuard['check']> {
  if (guard.takesSteps) return guard.check(window);
  const length = lengthOf(window.texts);
  if (length <= part) return guard.check(window);
  if (guard.reach !== undefined) return inParts(guard, guard.reach, window, part);
  const { longest = LONGEST } = guard;
  if (length <= longest) return guard.check(window);
  throw new TooLongForGuard(`the guard inspects at most ${longest} characters together, and these are ${length}`);
}

export const isSteps = (found: ReturnType<PreparedGuard['check']>): found is GuardSteps =>
  typeof found === 'object' && found !== null && 'next' in found && typeof found.next === 'function';

/** Takes all steps at once. */
export function finished(found: readonly GuardMatch[] | GuardSteps): readonly GuardMatch[] {
  if (!isSteps(found)) return found;
  for (;;) {
    const { done, value } = found.next();
    if (done) return value;
  }
}

export const lengthOf = (texts: readonly GuardText[]): number => {
  let length = 0;
  for (const { text } of texts) length += text.length;
  return length;
};

/** Inspects a window in parts of some thousand characters: short texts together, and long texts in parts that overlap. */
function* inParts(guard: PreparedGuard, reach: number, { side, texts }: GuardWindow, partLength: number): GuardSteps {
  const found: GuardMatch[] = [];
  for (let first = 0; first < texts.length && found.length < MATCHES_MAX; ) {
    let next = first + 1;
    for (let length = texts[first]!.text.length; next < texts.length; next++) {
      length += texts[next]!.text.length;
      if (length > partLength) break;
    }
    const begun = first;
    if (texts[begun]!.text.length > partLength)
      yield* longText(guard, reach, { side, texts: [texts[begun]!] }, begun, partLength, found);
    else for (const match of matchesOf(guard, { side, texts: texts.slice(begun, next) }, begun, 0)) found.push(match);
    yield;
    first = next;
  }
  return found;
}

/**
 * Inspects a text in parts. A part has `reach` characters before its place and after it, and begins between two matches, so that matches
 * without a gap between them are found in the same places as in the whole text. Only matches count that begin within the place and that the
 * rest of the text cannot change.
 */
function* longText(
  guard: PreparedGuard,
  reach: number,
  { side, texts: [whole] }: { readonly side: GuardWindow['side']; readonly texts: readonly [GuardText] },
  index: number,
  partLength: number,
  into: GuardMatch[],
): Generator<void, void> {
  const { length } = whole.text;
  let size = Math.max(partLength, reach);
  let earlier: readonly Place[] = [];
  for (let at = 0; at < length && into.length < MATCHES_MAX; ) {
    const begin = between(earlier, Math.max(0, at - reach));
    const end = Math.min(length, at + size + reach);
    const part = { ...whole, text: whole.text.slice(begin, end) };
    const matches = matchesOf(guard, { side, texts: [part] }, index, begin);
    const until = end === length ? length : end - reach;
    let next = until;
    for (const { at: place } of matches) if (place && place.to > until) next = Math.min(next, Math.max(place.from, at));
    if (next === at && until < length) {
      size *= 2;
      if (size > PART_MAX) throw new TooLongForGuard(`a match has more than ${PART_MAX / 2} characters`);
    } else {
      const own = matches.filter(({ at: place }) => !place || (place.from >= at && place.from < next));
      for (const match of own) into.push(match);
      earlier = [...earlier, ...own.flatMap(({ at: place }) => place ?? [])].filter(({ to }) => to > next - reach);
      size = Math.max(partLength, reach);
      at = next;
    }
    yield;
  }
}

type Place = NonNullable<GuardMatch['at']>;

/** Returns the last offset up to `offset` that is within none of the places. */
function between(places: readonly Place[], offset: number): number {
  let begin = offset;
  for (const { from, to } of places) if (from < begin && begin < to) begin = from;
  return begin;
}

/** Returns the matches in a part of a window, with their places in the window. */
function matchesOf(guard: PreparedGuard, window: GuardWindow, first: number, begin: number): readonly GuardMatch[] {
  const matches = guard.check(window);
  const fault = matchFault(guard.kinds, window, matches);
  if (fault !== null) throw new Error(fault);
  return (matches as readonly GuardMatch[]).map((match) =>
    match.at
      ? { ...match, at: { text: first + match.at.text, from: begin + match.at.from, to: begin + match.at.to } }
      : match,
  );
}
