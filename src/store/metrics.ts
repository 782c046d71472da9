import { gauge, total } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';
import { COMMIT_BOUNDS, type StoreActivity } from './activity.ts';

/** Metrics on the database. */
export function storeFamilies(activity: StoreActivity): readonly Family[] {
  return [
    {
      name: 'signalbox_store_commit_seconds',
      type: 'histogram',
      help: 'Time to write one transaction; most of it is the sync to the disk.',
      labels: [],
      bounds: COMMIT_BOUNDS,
      spreads: () => [{ labels: {}, counts: activity.commits.counts, sum: activity.commits.sum }],
    },
    gauge(
      'signalbox_store_writes_waiting',
      'Commits and appends that no transaction has taken yet.',
      () => activity.waiting,
    ),
    total(
      'signalbox_store_errors_total',
      'Reads and transactions that failed, and writes that were refused or lost.',
      () => activity.errors,
    ),
    gauge(
      'signalbox_store_failing',
      '1 while the disk refuses what is written, which no request is served without.',
      () => (activity.isFailing ? 1 : 0),
    ),
  ];
}
