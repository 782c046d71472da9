import { gauge, gaugeBy, spread, total } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';
import { COMMIT_BOUNDS, type StoreActivity } from './activity.ts';
import type { OpenStore } from './driver.ts';
import { NEWS_SUBJECTS } from './news.ts';

/** Metrics on the place of this server among those of its database, and on its copies of what is there. */
export const instanceFamilies = ({ instance, news }: Pick<OpenStore, 'instance' | 'news'>): readonly Family[] => [
  gauge('signalbox_instance_slot', 'The place of this server at the database.', () => instance.slot),
  gauge('signalbox_instance_epoch', 'Grows with each server that takes the place.', () => instance.epoch),
  gauge('signalbox_instance_current', '1 while this server may write.', () => (instance.isCurrent ? 1 : 0)),
  gaugeBy('signalbox_instance_copy_age_seconds', 'Age of copies of the database in memory.', 'subject', () =>
    NEWS_SUBJECTS.map((subject) => [subject, news.ageOf(subject) / 1_000]),
  ),
];

/** Metrics on the database. */
export function storeFamilies(activity: StoreActivity): readonly Family[] {
  return [
    spread('signalbox_store_commit_seconds', 'Time to write one transaction.', COMMIT_BOUNDS, () => activity.commits),
    gauge('signalbox_store_writes_waiting', 'Writes waiting for a transaction.', () => activity.waiting),
    total('signalbox_store_errors_total', 'Failed reads, transactions and writes.', () => activity.errors),
    gauge('signalbox_store_failing', '1 while the disk refuses writes.', () => (activity.isFailing ? 1 : 0)),
  ];
}
