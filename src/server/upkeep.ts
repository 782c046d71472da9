import type { Idempotency } from '../access/idempotency/idempotency.ts';
import { timeOfId } from '../core/id.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { DAY_MS, HOUR_MS, iso } from '../core/time/clock.ts';
import type { AnswerCache } from '../gateway/cache/answer-cache.ts';
import type { Conversations } from '../gateway/prompt/conversations.ts';
import type { Threads } from '../gateway/prompt/threads.ts';
import { keepIndexed } from '../gateway/records/keep-indexed.ts';
import type { Records } from '../gateway/records/records.ts';
import type { Scores } from '../gateway/records/scores.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { OpenStore } from '../store/driver.ts';
import type { Leadership } from '../store/leaders.ts';
import type { Host } from './host.ts';
import type { ServerResources } from './resources.ts';

/** The interval between deletions of old rows, ms. */
const PRUNE_EVERY_MS = HOUR_MS;

/** How many days ended logins are kept. */
const LOGIN_DAYS = 7;

/** How many days Signalbox recognizes a repeated operation on a hold. */
const HOLD_DAYS = 7;

/** The parts of a server whose old rows are deleted. */
interface PrunedParts {
  readonly records: Records;
  readonly idempotency: Idempotency;
  readonly scores: Pick<Scores, 'prune'>;
  readonly threads: Pick<Threads, 'prune'>;
  readonly conversations: Pick<Conversations, 'prune'>;
  readonly cache: Pick<AnswerCache, 'prune'>;
  readonly store: Pick<OpenStore, 'commit' | 'ledger' | 'logins' | 'rates' | 'traffic' | 'trail'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** How long the policy keeps answers of the cache, records and entries of the audit trail. */
type Retention = Pick<PolicySnapshot, 'cache' | 'records'>;

/** Deletes rows that are older than the policy's retention. State: pruning. */
async function prune(
  parts: PrunedParts,
  { cache: caching, records: { days, trailDays } }: Retention,
  log: Log,
): Promise<void> {
  const { records, idempotency, scores, threads, conversations, cache, store, now } = parts;
  try {
    await idempotency.prune();
    await threads.prune();
    await conversations.prune();
    await cache.prune(caching);
    await store.ledger.prune(now() - HOLD_DAYS * DAY_MS);
    await store.logins.prune(now() - LOGIN_DAYS * DAY_MS);
    await store.traffic.prune(now());
    await store.rates?.prune();
    await scores.prune(days * DAY_MS, now());
    const time = now();
    if (trailDays !== null) await store.commit([store.trail.prune(time - trailDays * DAY_MS, time)]);
    // The server deletes decision records last, because a long query may hold a lock that delays their deletion.
    await records.prune(days * DAY_MS);
  } catch (error) {
    log.warn('old records could not be deleted', { error: String(error) });
  }
}

/**
 * Deletes old rows, indexes records and counts traffic, at the start and then regularly, if this instance leads.
 * @param retention of the active policy
 */
export async function openUpkeep(
  parts: Omit<PrunedParts, 'store' | 'now'>,
  { store, log, host: { timers }, life }: ServerResources,
  leadership: Leadership,
  retention: () => Retention,
): Promise<void> {
  const { now } = store.instance;
  const [counts, prunes] = [leadership.of('count'), leadership.of('prune')];
  const pruneAsLeader = async () => {
    if (prunes.isHeld) await prune({ ...parts, store, now }, retention(), log);
  };
  const pruning = timers.every(PRUNE_EVERY_MS, () => void pruneAsLeader());
  life.stops.defer(() => pruning.close());
  await pruneAsLeader();
  const countAsLeader = async () => counts.isHeld && (await store.traffic.count(now()));
  const stopIndexing = keepIndexed(countAsLeader, timers, (error) =>
    log.warn('decision records could not be indexed and counted', { error: String(error) }),
  );
  life.stops.defer(stopIndexing);
}

/** If the system's clock is behind the books by more than this (ms), budgets count in the wrong window. */
const CLOCK_SLACK_MS = 60_000;

/**
 * Logs if the system's clock is behind the ledger. IDs and windows of budgets never go back, so the windows do not move until the clock has
 * caught up.
 */
export function watchClock(log: Log, lastId: number, { now, timers }: Pick<Host, 'now' | 'timers'>): void {
  const booked = lastId === 0 ? 0 : timeOfId(lastId);
  let isReported = false;
  const look = () => {
    const latest = Math.max(booked, now());
    const behind = latest - Date.now() > CLOCK_SLACK_MS;
    if (behind && !isReported) {
      log.error(
        'the system clock is behind the ledger: charges get the time of the last entry until the clock catches up',
        {
          clock: iso(Date.now()),
          booked: iso(latest),
        },
      );
    }
    isReported = behind;
  };
  look();
  timers.every(CLOCK_SLACK_MS, look).unref();
}

/** The time from the end of a start to the release of its memory, ms. */
const SETTLED_MS = 1_000;

/**
 * Releases memory that only the start needed: compiled code, and gaps between objects that stay. A server that already answers requests
 * keeps this memory, because its requests would wait until code is compiled again.
 * @param started resolves when the work of the start is done
 */
export async function settle(
  started: Promise<void>,
  { inFlight }: { readonly inFlight: { readonly size: number } },
  { timers, shrink }: Pick<Host, 'timers' | 'shrink'>,
): Promise<void> {
  await started;
  if (shrink) timers.after(SETTLED_MS, () => inFlight.size === 0 && shrink()).unref();
}
