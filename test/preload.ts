import { afterAll, setDefaultTimeout } from 'bun:test';
import fc from 'fast-check';
import { isDeep, seedOf } from './deep/effort.ts';
import { reuseWorkers } from './reused-workers.ts';
import { DEEP_TIME_LIMIT_MS, TIME_LIMIT_MS } from './time-limit.ts';
import { timeWriter } from './times.ts';

/**
 * `bunfig.toml` loads this file before the tests. The file sets the seed of the laws that name none; fast-check prints the seed when a law
 * fails.
 */
fc.configureGlobal({ seed: seedOf('laws') });
setDefaultTimeout(isDeep ? DEEP_TIME_LIMIT_MS : TIME_LIMIT_MS);

/**
 * Elysia forces a garbage collection for each application that it compiles, and three for each server that starts. In a process that has
 * run hundreds of tests, each of them takes 20 ms and frees little. A test that forces a collection itself still gets one.
 */
const collect = Bun.gc;
Object.defineProperty(Bun, 'gc', { value: (force = false) => (force ? collect(true) : undefined) });

reuseWorkers();

/** `test/run.ts` prints the times of the files. Hooks of the preload run once for each file. */
const times = process.env.SIGNALBOX_TEST_TIMES;
if (times !== undefined) {
  const write = timeWriter(times);
  afterAll(() => write(Bun.main));
}
