import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Crashes copy these files, and syncs prove nothing here: in memory where possible. */
export const scratchFolder = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
