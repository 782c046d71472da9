import type { Keys } from '../access/keys.ts';
import type { Timers } from '../core/timers.ts';
import type { OpenStore } from '../store/driver.ts';
import { keepDoing } from './keep-doing.ts';

/** The subjects that the changes in the trail raise. */
const TRAIL_NEWS = ['keys', 'people', 'logins', 'wallets', 'funds'] as const;

type TrailReader = Pick<OpenStore, 'trail'>;

/** The parts of a server that take over changes by commands; each follows the news of its own copy. */
interface TrailFollowers {
  readonly store: TrailReader & Pick<OpenStore, 'news'>;
  readonly keys: Pick<Keys, 'putInForce'>;
  readonly timers: Timers;
  /** Tells commands up to which place of the trail all changes are in force. Resolves with whether they can see it. */
  readonly noteSeen: (through: number) => Promise<boolean>;
}

/**
 * Looks for the news of the store, which puts changes by commands in force, and notes how far the server is. State: trail note.
 * @returns how to stop: it never rejects.
 */
export async function keepTrailNote({ store, keys, timers, noteSeen }: TrailFollowers) {
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
      if (!(await noteSeen(through))) isStale = true;
      // A change beyond it may be visible before one below it.
      isStale ||= through < (await lastChange(store));
    } catch (cause) {
      isStale = true;
      throw cause;
    }
  };
  // The next look tries again. Until then commands wait, at most 5 seconds.
  const stop = await keepDoing(follow, news.lookEveryMs, timers);
  return async () => {
    for (const end of ends) end();
    await stop();
  };
}

/** Returns the ID of the last change in the trail; 0 for none. */
export async function lastChange({ trail }: TrailReader): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 });
  return last?.id ?? 0;
}
