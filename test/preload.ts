import { setDefaultTimeout } from 'bun:test';
import fc from 'fast-check';
import { isDeep, seedOf } from './deep/effort.ts';
import { DEEP_TIME_LIMIT_MS, TIME_LIMIT_MS } from './time-limit.ts';

/** Loaded before the tests (`bunfig.toml`): the seed of the laws that name none, which fast-check prints when a law fails. */
fc.configureGlobal({ seed: seedOf('laws') });
setDefaultTimeout(isDeep ? DEEP_TIME_LIMIT_MS : TIME_LIMIT_MS);
