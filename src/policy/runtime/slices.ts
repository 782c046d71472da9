import { setImmediate } from 'node:timers/promises';
import type { Awaitable } from '../../core/awaitable.ts';

/** Length of a slice, ms. A single step that takes longer is not interrupted. */
const SLICE_MS = 4;

/** An error for work that was abandoned because newer work replaced it. */
export class SupersededError extends Error {
  override readonly name = 'SupersededError';
}

/** Work in steps. A step may yield a promise, before whose end the work cannot go on. */
export type Steps<Result> = Generator<Awaitable<void>, Result>;

/**
 * Runs steps to their end in slices, and yields to the event loop between slices. `inSlices` throws SupersededError once `isStale` returns
 * true.
 */
export async function inSlices<Result>(
  steps: Steps<Result>,
  isStale: () => boolean,
  clock: () => number = () => performance.now(),
): Promise<Result> {
  for (;;) {
    const until = clock() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
      if (step.value instanceof Promise) {
        await step.value;
        if (isStale()) throw new SupersededError();
      }
    } while (clock() < until);
    await setImmediate();
    if (isStale()) throw new SupersededError();
  }
}
