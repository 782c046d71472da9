import type { Idempotency } from '../access/idempotency/idempotency.ts';
import { iso } from '../core/clock.ts';
import { timeOfId } from '../core/id.ts';
import type { ServerLearner } from '../learning/stored-learner.ts';
import type { Records } from '../records/records.ts';
import type { Log } from '../telemetry/log.ts';

const DAY_MS = 86_400_000;

interface Kept {
  readonly records: Records;
  readonly idempotency: Idempotency;
  readonly learner: Pick<ServerLearner, 'prune'>;
}

/** Deletes what has been kept for long enough. */
export async function prune({ records, idempotency, learner }: Kept, days: number, log: Log): Promise<void> {
  try {
    await idempotency.prune();
    await records.prune(days * DAY_MS);
    await learner.prune(days * DAY_MS);
  } catch (error) {
    log.warn('old records could not be pruned', { error: String(error) });
  }
}

/** A clock that is so far behind what was booked makes budgets count in a window that is not the present one. */
const CLOCK_SLACK_MS = 60_000;

/** Tells when the system's clock is behind: IDs and windows never go back, so budgets stand still until it has caught up. */
export function watchClock(log: Log, lastId: number, now: () => number): void {
  const booked = lastId === 0 ? 0 : timeOfId(lastId);
  let isTold = false;
  const look = () => {
    const latest = Math.max(booked, now());
    const behind = latest - Date.now() > CLOCK_SLACK_MS;
    if (behind && !isTold) {
      log.error('the clock is behind the ledger: charges count at the later time until it catches up', {
        clock: iso(Date.now()),
        booked: iso(latest),
      });
    }
    isTold = behind;
  };
  look();
  setInterval(look, CLOCK_SLACK_MS).unref();
}
