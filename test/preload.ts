import { setDefaultTimeout } from 'bun:test';
import fc from 'fast-check';
import { isDeep, seedOf } from './deep/effort.ts';
import { DEEP_TIME_LIMIT_MS, TIME_LIMIT_MS } from './time-limit.ts';

/** Loaded before the tests (`bunfig.toml`): the seed of the laws that name none, which fast-check prints when a law fails. */
fc.configureGlobal({ seed: seedOf('laws') });
setDefaultTimeout(isDeep ? DEEP_TIME_LIMIT_MS : TIME_LIMIT_MS);

/**
 * Elysia requests a garbage collection for each application that it compiles, and three for a server that starts. In a process that
 * has run hundreds of tests each one takes 20 ms and frees little. A test that forces a collection gets it.
 */
const collect = Bun.gc;
Object.defineProperty(Bun, 'gc', { value: (force = false) => (force ? collect(true) : undefined) });
