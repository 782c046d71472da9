import { readFileSync } from 'node:fs';
import file from './words.bin' with { type: 'file' };

/** The table that the program carries with it. `bun bench/fit-profile.ts` writes it. */
export const readWordTable = (): Int8Array => new Int8Array(readFileSync(file));
