import { expect } from 'bun:test';
import { threadMs } from './thread-time.ts';

const TRIES = 10;

/**
 * Returns the smallest of up to ten measurements; stops at the first one below `bound`. Other work on the machine only adds to a time. A
 * delay that the code itself causes appears in every measurement.
 */
export async function leastOf(bound: number, measure: () => number | Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < TRIES && least >= bound; tried++) least = Math.min(least, await measure());
  return least;
}

/** Returns the result of an attempt that took less than `ms`. The function makes up to ten attempts, so the attempt must be repeatable. */
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

/**
 * Makes an input with this many parts, and returns a function that reads it. The function may be called several times and may return a
 * promise.
 */
export type Shape = (parts: number) => () => unknown;

/** The size of the larger input, as a multiple of the smaller input. */
export const LARGER = 8;
/** The limit for the time of the larger input, as a multiple. A linear reader takes 8 times as long, a quadratic reader 64 times. */
export const GROWTH_MAX = 20;
/** Steps of the machine, such as cache sizes, never cause a growth this large. */
const SQUARE = 2 * GROWTH_MAX;
/** Shorter times cannot be measured well, so they count as this, ms. */
const MEASURABLE_MS = 0.25;
/** How often the smaller input is measured for each measurement of the larger one. */
const SMALL_RUNS = 3;
/** Parts of the first input. */
const PARTS_MIN = 64;
/** How often an input is doubled if its time seems to grow too much. */
const LARGER_TRIES = 2;

export interface GrowthOptions {
  /** The most parts of the smaller input. */
  readonly partsMax: number;
  /** The shortest time for reading the smaller input, ms, unless it has `partsMax` parts; 0 starts with `partsMax` parts. */
  readonly leastMs: number;
}

/**
 * Returns how many times as long a reader takes for eight times the input: the smallest of up to ten measurements of both inputs, stopping
 * at the first below `GROWTH_MAX`. The function measures a growth slightly above `GROWTH_MAX` again with larger inputs: a quadratic reader
 * grows there too, but a step of the machine, such as a full cache, does not. The function measures the time of the thread.
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
  // The smaller input counts as at least `MEASURABLE_MS`, so a short time of the larger one decides at once.
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
    // The first run includes compilation, so measure again.
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

/** @returns the time of the thread, ms */
async function threadTime(read: () => unknown): Promise<number> {
  const began = threadMs();
  await read();
  return threadMs() - began;
}
