import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Crashes are copies of the files here, so what a sync costs proves nothing: in memory where there is such a place. */
export const scratchFolder = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
