import { join } from 'node:path';
import { waitFor } from './answers.ts';
import type { Signalbox } from './signalbox.ts';

/** The environment that a server process needs for `longestTurn`. */
export const TURN_ENV = { BUN_OPTIONS: `--preload=${join(import.meta.dir, 'longest-turn.fixture.ts')}` };

/**
 * Returns the longest turn of a server's event loop since the last call, in ms of CPU time of its main thread. The server delays no other
 * request for longer than this, and a busy machine adds nothing to it. Linux only.
 */
export async function longestTurn({ lines, pid }: Pick<Signalbox, 'lines' | 'pid'>): Promise<number> {
  const before = lines.length;
  process.kill(pid, 'SIGUSR2');
  return JSON.parse(await waitFor(() => lines.slice(before).find((line) => line.includes('longest turn')))).ms;
}
