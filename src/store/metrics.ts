import { revisionsIn } from '../core/text/revision.ts';
import { gauge, gaugeBy, spread, total } from '../host/telemetry/counts.ts';
import type { Family } from '../host/telemetry/families.ts';
import { COMMIT_BOUNDS, type StoreActivity } from './activity.ts';
import type { OpenStore } from './driver.ts';
import type { LiveInstance } from './instance-reports.ts';
import { LEADER_JOBS, type Leadership } from './leaders.ts';
import { NEWS_SUBJECTS } from './news.ts';

/** Metrics about this server's slot at the database, and about its copies of stored data. */
export const instanceFamilies = ({ instance, news }: Pick<OpenStore, 'instance' | 'news'>): readonly Family[] => [
  gauge(
    'signalbox_instance_slot',
    'The slot of this server among the servers that share the database.',
    () => instance.slot,
  ),
  gauge('signalbox_instance_epoch', 'A number that grows each time a server takes this slot.', () => instance.epoch),
  gauge('signalbox_instance_current', '1 while this server may write to the database.', () =>
    instance.isCurrent ? 1 : 0,
  ),
  gaugeBy('signalbox_instance_copy_age_seconds', 'Age of the copies of database tables in memory.', 'subject', () =>
    NEWS_SUBJECTS.map((subject) => [subject, news.ageOf(subject) / 1_000]),
  ),
];

/**
 * Metrics about all servers of the database, as this server knows them.
 * @param rank the rank of the budgets that are active on this server
 */
export const clusterFamilies = (
  instance: Pick<OpenStore['instance'], 'clockOffsetMs'>,
  live: () => readonly LiveInstance[],
  rank: () => number,
): readonly Family[] => [
  gauge('signalbox_instances', 'Running servers that share the database.', () => live().length),
  gauge('signalbox_instance_policies', 'Different active policies on the servers that share the database.', () => {
    return revisionsIn(live()).length;
  }),
  gauge(
    'signalbox_policy_rank',
    'Rank of the budgets in the active policy of this server; the highest rank applies to all servers.',
    rank,
  ),
  gauge('signalbox_instance_clock_offset_seconds', 'Time of the database minus time of this server.', () => {
    return instance.clockOffsetMs / 1_000;
  }),
];

/**
 * Metrics about the jobs that one server does for all.
 * @param prunedAt when this server last deleted old rows, ms since 1970; 0 for never
 */
export const leaderFamilies = (leadership: Pick<Leadership, 'of'>, prunedAt: () => number): readonly Family[] => [
  // The label is `work`, because Prometheus uses a label `job` of its own.
  gaugeBy('signalbox_instance_leads', '1 while this server does this work for all servers.', 'work', () =>
    LEADER_JOBS.map((job) => [job, leadership.of(job).isHeld ? 1 : 0]),
  ),
  gauge(
    'signalbox_pruned_timestamp_seconds',
    'Unix time at which this server last deleted old rows; 0 for never.',
    () => {
      return prunedAt() / 1_000;
    },
  ),
];

/** Metrics about the database. */
export function storeFamilies(activity: StoreActivity): readonly Family[] {
  return [
    spread('signalbox_store_commit_seconds', 'Time to write one transaction.', COMMIT_BOUNDS, () => activity.commits),
    gauge('signalbox_store_writes_waiting', 'Writes waiting for a transaction.', () => activity.waiting),
    total('signalbox_store_errors_total', 'Failed reads, transactions and writes.', () => activity.errors),
    gauge('signalbox_store_failing', '1 while the disk or database refuses writes.', () =>
      activity.isFailing ? 1 : 0,
    ),
    total('signalbox_store_connections_failed_total', 'Connections to PostgreSQL that could not be made.', () => {
      return activity.failedConnections ?? 0;
    }),
  ];
}
