import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Keys } from '../access/keys.ts';
import type { Timers } from '../core/timers.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { OpenStore } from '../store/driver.ts';
import { keepDoing } from './keep-doing.ts';

/** Interval at which a server looks for changes of keys and grants by commands, ms. */
const LOOK_EVERY_MS = 100;

/** Holds the ID of the last change in the trail that the server has in force. */
const noteFile = (data: string): string => join(data, 'trail.seen');

type TrailReader = Pick<OpenStore, 'trail'>;

/** The parts of a server that take over changes by commands. */
interface TrailFollowers {
  readonly store: TrailReader & Pick<OpenStore, 'version'>;
  readonly keys: Pick<Keys, 'putInForce'>;
  readonly ledger: Pick<Ledger, 'refresh'>;
  readonly timers: Timers;
}

/**
 * Puts changes of keys and grants by commands in force, and notes in the data folder how far the server is.
 * @returns how to stop and remove the note: it never rejects.
 */
export async function keepTrailNote(data: string, { store, keys, ledger, timers }: TrailFollowers) {
  const file = noteFile(data);
  let noted: number | null = null;
  let version: number | null = null;
  const follow = async (): Promise<void> => {
    // Changes by this process are in force already.
    const now = await store.version();
    if (now === version) return;
    // Read before the changes are loaded: a later one is then not noted too early.
    const last = await lastChange(store);
    if (last !== noted) {
      await keys.putInForce();
      await ledger.refresh();
      await writeFile(file, `${last}\n`, { mode: 0o600 });
      noted = last;
    }
    version = now;
  };
  // The next look tries again. Until then commands wait, at most 5 seconds.
  const stop = await keepDoing(follow, LOOK_EVERY_MS, timers);
  return async () => {
    await stop();
    await rm(file, { force: true }).catch(() => {});
  };
}

/** Returns the ID of the last change in the trail; 0 for none. */
export async function lastChange({ trail }: TrailReader): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 });
  return last?.id ?? 0;
}

/** Whether the server of a data folder has noted a change of the trail as in force. A note that is being written can be empty. */
export function isChangeNoted(data: string, change: number): boolean {
  try {
    return Number(readFileSync(noteFile(data), 'utf8')) >= change;
  } catch {
    return false;
  }
}
