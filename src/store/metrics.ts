import { gauge, spread, total } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';
import { COMMIT_BOUNDS, type StoreActivity } from './activity.ts';

/** Metrics on the database. */
export function storeFamilies(activity: StoreActivity): readonly Family[] {
  return [
    spread('signalbox_store_commit_seconds', 'Time to write one transaction.', COMMIT_BOUNDS, () => activity.commits),
    gauge('signalbox_store_writes_waiting', 'Writes waiting for a transaction.', () => activity.waiting),
    total('signalbox_store_errors_total', 'Failed reads, transactions and writes.', () => activity.errors),
    gauge('signalbox_store_failing', '1 while the disk refuses writes.', () => (activity.isFailing ? 1 : 0)),
  ];
}
