import { setImmediate } from 'node:timers/promises';

/** The longest that other work waits for a slice, ms; a step that takes longer by itself is not cut. */
const SLICE_MS = 4;

/** Work that was given up because newer work took its place. */
export class Superseded extends Error {
  override readonly name = 'Superseded';
}

/** Runs steps to their end, and lets everything else have its turn between slices. Throws Superseded once stale. */
export async function inSlices<Result>(
  steps: Generator<undefined, Result>,
  isStale: () => boolean,
  clock: () => number = () => performance.now(),
): Promise<Result> {
  for (;;) {
    const until = clock() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (clock() < until);
    await setImmediate();
    if (isStale()) throw new Superseded();
  }
}
