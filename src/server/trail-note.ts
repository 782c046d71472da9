import type { Keys } from '../access/keys.ts';
import { type Timers, within } from '../core/time/timers.ts';
import type { OpenStore } from '../store/driver.ts';
import type { InstanceReporter } from './instance-report.ts';
import { keepDoing } from './keep-doing.ts';
import type { ServerResources } from './resources.ts';
import { keepTrailHead } from './trail-head.ts';

/** The subjects of news that the changes in the audit trail raise. */
const TRAIL_NEWS = ['keys', 'people', 'logins', 'wallets', 'funds'] as const;

/** If a poll of the news takes longer than this (ms), the next poll starts in parallel. */
const LOOK_MS = 1_000;

type TrailReader = Pick<OpenStore, 'trail'>;

/** The parts of a server that apply changes made by commands. Each of these parts also follows the news for its own copy. */
interface TrailFollowers {
  readonly store: TrailReader & Pick<OpenStore, 'news'>;
  readonly keys: Pick<Keys, 'putInForce'>;
  readonly timers: Timers;
  /**
   * Reports to commands up to which entry of the audit trail all changes are applied. Resolves to true if commands can see the report,
   * otherwise to false.
   */
  readonly noteSeen: (through: number) => Promise<boolean>;
}

/**
 * Polls the news of the store, which applies changes made by commands, and reports which changes this server has applied. State: trail
 * note.
 * @returns a function that stops the polling; it never rejects
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
      // The server reads the horizon before the poll that applies the changes, so that it does not report a later change too early.
      const through = await store.trail.horizon();
      await news.look();
      await keys.putInForce();
      if (!(await noteSeen(through))) isStale = true;
      // A later entry of the audit trail may become visible before an earlier entry, so the report may not yet cover the latest entry.
      isStale ||= through < (await lastChange(store));
    } catch {
      // The next poll of the news tries again. Until a later poll succeeds, commands wait, at most 5 seconds.
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
  // With a distant database, applying a change may take long. The next poll does not wait until the change is applied, so that the other
  // copies stay up to date.
  const begin = async (): Promise<void> => {
    const begun = look().finally(() => looks.delete(begun));
    looks.add(begun);
    await within(timers, LOOK_MS, begun, undefined);
  };
  const stop = await keepDoing(begin, news.lookEveryMs, timers);
  // A start waits until its first poll is complete.
  await Promise.allSettled(looks);
  return async () => {
    for (const end of ends) end();
    await stop();
    await Promise.allSettled(looks);
  };
}

/** Returns the ID of the latest change in the audit trail; 0 for none. */
export async function lastChange({ trail }: TrailReader): Promise<number> {
  const [last] = await trail.list({ keyId: null, limit: 1 });
  return last?.id ?? 0;
}

/** Keeps the note of applied changes, and the head of the audit trail in the data folder, while the server runs. */
export async function keepTrail(
  data: string,
  { store, keys, log, host: { timers, now }, life }: ServerResources,
  reporter: Pick<InstanceReporter, 'noteSeen'>,
): Promise<void> {
  const stopNote = await keepTrailNote({ store, keys, timers, noteSeen: (through) => reporter.noteSeen(through) });
  const stopHead = await keepTrailHead(data, { store, log, timers, now });
  life.closes.defer(stopHead);
  life.closes.defer(stopNote);
}
