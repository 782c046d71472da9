import { setDefaultTimeout } from 'bun:test';
import fc from 'fast-check';
import { isDeep, seedOf } from './deep/effort.ts';

/**
 * Loaded before every test file (`bunfig.toml`): the seed of the laws that name none, which fast-check prints when a law fails,
 * and the time limit of a test, ms: ten times the time of the slowest. A test that takes longer states its own; in a section of
 * `npm run test:deep` it is an hour.
 */
fc.configureGlobal({ seed: seedOf('laws') });
setDefaultTimeout(isDeep ? 3_600_000 : 120_000);
