import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Keys } from '../access/keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OpenStore } from '../store/driver.ts';

/** Interval at which a server looks for changes of keys and grants by commands, ms. A look reads one row. */
const LOOK_EVERY_MS = 100;
/** How long a command waits for a running server, ms. */
export const SERVER_WAIT_MS = 5_000;
const POLL_EVERY_MS = 20;

/** The note of a command whose wait was in vain. */
export const NOT_SERVED = `The server that uses this data folder has not read it after ${SERVER_WAIT_MS / 1000} seconds. It does so as soon as it can.`;

/** Holds the ID of the last change in the trail that the server has in force. */
const noteFile = (data: string): string => join(data, 'trail.seen');

type TrailReader = Pick<OpenStore, 'trail'>;

export interface TrailNote {
  /** Stops and removes the note. Never rejects. */
  close(): Promise<void>;
}

/** The parts of a server that take over changes by commands. */
export interface TrailFollowers {
  readonly store: TrailReader;
  readonly keys: Pick<Keys, 'putInForce'>;
  readonly ledger: Pick<Ledger, 'refresh'>;
}

/** Puts changes of keys and grants by commands in force, and notes in the data folder how far the server is. */
export async function keepTrailNote(data: string, { store, keys, ledger }: TrailFollowers): Promise<TrailNote> {
  const file = noteFile(data);
  let noted: number | null = null;
  const follow = async (): Promise<void> => {
    // Read before the changes are loaded: a later one is then not noted too early.
    const last = await lastChange(store);
    if (last === noted) return;
    await keys.putInForce();
    await ledger.refresh();
    await writeFile(file, `${last}\n`, { mode: 0o600 });
    noted = last;
  };
  // The next look tries again. Until then commands wait, at most SERVER_WAIT_MS.
  const look = (): Promise<void> => follow().catch(() => {});
  await look();
  let looking: Promise<void> | null = null;
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = null;
    });
  }, LOOK_EVERY_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await looking;
      await rm(file, { force: true }).catch(() => {});
    },
  };
}

/** Returns the ID of the last change in the trail; 0 for none. */
export async function lastChange({ trail }: TrailReader): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 });
  return last?.id ?? 0;
}

/**
 * Waits until the server of a data folder has a change in force, at most SERVER_WAIT_MS.
 * @param isServed resolves with whether a server holds the folder; without one nothing is waited for.
 * @returns false when a server still lacks the change.
 */
export async function servedChange(data: string, change: number, isServed: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + SERVER_WAIT_MS;
  while (await isServed()) {
    if (changeNotedIn(data) >= change) return true;
    if (performance.now() > end) return false;
    await Bun.sleep(POLL_EVERY_MS);
  }
  return true;
}

/** A note that is being written can be empty, and counts as 0. */
function changeNotedIn(data: string): number {
  try {
    return Number(readFileSync(noteFile(data), 'utf8'));
  } catch {
    return 0;
  }
}
