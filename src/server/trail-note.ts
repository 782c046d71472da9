import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Keys } from '../access/keys.ts';
import type { Timers } from '../core/timers.ts';
import type { OpenStore } from '../store/driver.ts';
import { keepDoing } from './keep-doing.ts';

/** Interval at which a server looks for changes by commands, ms. */
const LOOK_EVERY_MS = 100;
/** The subjects that the changes in the trail raise. */
const TRAIL_NEWS = ['keys', 'people', 'logins', 'wallets', 'funds'] as const;

/** Holds the place in the trail up to which the server has all changes in force. */
const noteFile = (data: string): string => join(data, 'trail.seen');

type TrailReader = Pick<OpenStore, 'trail'>;

/** The parts of a server that take over changes by commands; each follows the news of its own copy. */
interface TrailFollowers {
  readonly store: TrailReader & Pick<OpenStore, 'news'>;
  readonly keys: Pick<Keys, 'putInForce'>;
  readonly timers: Timers;
}

/**
 * Looks for the news of the store, which puts changes by commands in force, and notes in the data folder how far the server is.
 * State: trail note.
 * @returns how to stop and remove the note: it never rejects.
 */
export async function keepTrailNote(data: string, { store, keys, timers }: TrailFollowers) {
  const file = noteFile(data);
  const { news } = store;
  let isStale = true;
  const ends = TRAIL_NEWS.map((subject) =>
    news.on(subject, () => {
      isStale = true;
    }),
  );
  const follow = async (): Promise<void> => {
    await news.look();
    if (!isStale) return;
    isStale = false;
    try {
      // Read before the look that puts it in force: a later change is then not noted too early.
      const through = await store.trail.horizon();
      await news.look();
      await keys.putInForce();
      await writeFile(file, `${through}\n`, { mode: 0o600 });
      // A change beyond it may be visible before one below it.
      isStale ||= through < (await lastChange(store));
    } catch (cause) {
      isStale = true;
      throw cause;
    }
  };
  // The next look tries again. Until then commands wait, at most 5 seconds.
  const stop = await keepDoing(follow, LOOK_EVERY_MS, timers);
  return async () => {
    for (const end of ends) end();
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
