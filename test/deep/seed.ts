import fc from 'fast-check';
import { seedOf } from './effort.ts';

/** Loaded before every test (`bunfig.toml`): the seed of the laws that name none. fast-check prints that of a law that fails. */
fc.configureGlobal({ seed: seedOf('laws') });
