import type { Keys } from '../access/keys.ts';
import { type Timers, within } from '../core/timers.ts';
import type { OpenStore } from '../store/driver.ts';
import { keepDoing } from './keep-doing.ts';

/** The subjects that the changes in the trail raise. */
const TRAIL_NEWS = ['keys', 'people', 'logins', 'wallets', 'funds'] as const;

/** A look that takes longer has another one beside it, ms. */
const LOOK_MS = 1_000;

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
  const note = async (): Promise<void> => {
    isStale = false;
    try {
      // Read before the look that puts it in force: a later change is then not noted too early.
      const through = await store.trail.horizon();
      await news.look();
      await keys.putInForce();
      if (!(await noteSeen(through))) isStale = true;
      // A change beyond it may be visible before one below it.
      isStale ||= through < (await lastChange(store));
    } catch {
      // The next look tries again. Until then commands wait, at most 5 seconds.
      isStale = true;
    }
  };
  let noting: Promise<void> | null = null;
  const looks = new Set<Promise<void>>();
  const look = async (): Promise<void> => {
    await news.look();
    if (!isStale) return;
    noting ??= note().finally(() => {
      noting = null;
    });
    await noting;
  };
  // What a change costs, at a database that is far, must not age the copies of all else: the next look does not wait for it.
  const begin = async (): Promise<void> => {
    const begun = look().finally(() => looks.delete(begun));
    looks.add(begun);
    await within(timers, LOOK_MS, begun, undefined);
  };
  const stop = await keepDoing(begin, news.lookEveryMs, timers);
  // A start waits for the whole of its first look.
  await Promise.allSettled(looks);
  return async () => {
    for (const end of ends) end();
    await stop();
    await Promise.allSettled(looks);
  };
}

/** Returns the ID of the last change in the trail; 0 for none. */
export async function lastChange({ trail }: TrailReader): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 });
  return last?.id ?? 0;
}
