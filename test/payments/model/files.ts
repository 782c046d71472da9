import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** The files are in memory if possible, because the test copies them at each crash and does not test syncs. */
export const scratchFolder = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
