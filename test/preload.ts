import {} from 'bun:test';
import fc from 'fast-check';
import { isDeep, seedOf } from './deep/effort.ts';

/**
 * Loaded before every test file (`bunfig.toml`): the seed of the laws that name none, which fast-check prints when a law fails,
 * and the time limit of tests, ms. It is ten times the time of the slowest one; those that take longer state their own. A section of `npm run test:deep` has an hour.
 */
fc.configureGlobal({ seed: seedOf('laws') });
