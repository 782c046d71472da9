import { join } from 'node:path';
import { waitFor } from './answers.ts';
import type { Signalbox } from './signalbox.ts';

/** The environment of a server in a process of its own for `longestTurn`. */
export const TURN_ENV = { BUN_OPTIONS: `--preload=${join(import.meta.dir, 'longest-turn.fixture.ts')}` };

/**
 * The longest turn of a server's event loop since the last call, in ms of its main thread's own time. No other request waits longer because of
 * what the server does, and a busy machine adds nothing. Linux alone.
 */
export async function longestTurn({ lines, pid }: Pick<Signalbox, 'lines' | 'pid'>): Promise<number> {
  const before = lines.length;
  process.kill(pid, 'SIGUSR2');
  return JSON.parse(await waitFor(() => lines.slice(before).find((line) => line.includes('longest turn')))).ms;
}
