import { expect } from 'bun:test';
import { threadMs } from './thread-time.ts';

const TRIES = 10;

/**
 * The smallest figure of up to ten measurements; the first below `bound` ends them.
 * Whatever else runs on a machine only adds to a time or a delay: what the code itself causes comes every time.
 */
export async function leastOf(bound: number, measure: () => number | Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < TRIES && least >= bound; tried++) least = Math.min(least, await measure());
  return least;
}

/** The result of an attempt that took less than `ms`; it is made up to ten times, so it must be one that can be made again. */
export async function inTime<T>(ms: number, attempt: () => T | Promise<T>): Promise<T> {
  let result: { readonly of: T } | undefined;
  const took = await leastOf(ms, async () => {
    const began = performance.now();
    result = { of: await attempt() };
    return performance.now() - began;
  });
  expect(took).toBeLessThan(ms);
  if (!result) throw new Error('nothing was attempted');
  return result.of;
}

/** Makes an input of so many parts; the function that it returns reads it, as often as it is called, and may return a promise. */
export type Shape = (parts: number) => () => unknown;

/** How many times as large the larger of two inputs is. */
const LARGER = 8;
/** The most times as long that it may take: a linear reader takes 8 times as long, a square one 64 times. */
export const GROWTH_MAX = 20;
/** No step of the machine seems as much. */
const SQUARE = 2 * GROWTH_MAX;
/** A time below it, ms, is measured badly: it counts as this much. */
const MEASURABLE_MS = 0.25;
/** Measurements of the smaller input for one of the larger. */
const SMALL_RUNS = 3;
/** Parts of the first input that is tried. */
const PARTS_MIN = 64;
/** How often an input is doubled that seems to grow too much. */
const LARGER_TRIES = 2;

export interface GrowthOptions {
  /** Parts of the smaller input at most. */
  readonly partsMax: number;
  /** How long the smaller input takes at least, ms, unless it has `partsMax`; 0 for an input of `partsMax` at once. */
  readonly leastMs: number;
}

/**
 * How many times as long a reader takes for eight times the input: the least figure of up to ten measurements, each of both inputs.
 * The first below `GROWTH_MAX` ends them. A step of the machine, such as the size of a cache, does not come again with a larger
 * input, as a square does: a growth a little above `GROWTH_MAX` is tried with such. The time is that of the thread.
 */
export async function growthOf(shape: Shape, { partsMax, leastMs }: GrowthOptions): Promise<number> {
  let parts = leastMs === 0 ? partsMax : await measurableParts(shape, leastMs, partsMax);
  let growth = await growthAt(shape, parts);
  for (let larger = 0; growth >= GROWTH_MAX && growth < SQUARE && larger < LARGER_TRIES; larger++) {
    parts *= 2;
    growth = await growthAt(shape, parts);
  }
  return growth;
}

async function growthAt(shape: Shape, parts: number): Promise<number> {
  const large = shape(parts * LARGER);
  // The smaller one cannot take so little that it matters.
  let largeMs = await threadTime(large);
  if (largeMs < GROWTH_MAX * MEASURABLE_MS) return largeMs / MEASURABLE_MS;
  const small = shape(parts);
  let smallMs = Number.POSITIVE_INFINITY;
  return leastOf(GROWTH_MAX, async () => {
    smallMs = Math.min(smallMs, await leastTime(small));
    largeMs = Math.min(largeMs, await threadTime(large));
    return largeMs / Math.max(smallMs, MEASURABLE_MS);
  });
}

async function measurableParts(shape: Shape, leastMs: number, partsMax: number): Promise<number> {
  for (let parts = Math.min(PARTS_MIN, partsMax); ; ) {
    const read = shape(parts);
    // The first runs of a program are slow.
    const share = ((await threadTime(read)) < leastMs ? 0 : await leastTime(read)) / leastMs;
    if (share >= 1 || parts * 2 > partsMax) return parts;
    parts = Math.min(partsMax, parts * (share < 0.1 ? 4 : 2));
  }
}

async function leastTime(read: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < SMALL_RUNS; run++) least = Math.min(least, await threadTime(read));
  return least;
}

/** ms */
async function threadTime(read: () => unknown): Promise<number> {
  const began = threadMs();
  await read();
  return threadMs() - began;
}
