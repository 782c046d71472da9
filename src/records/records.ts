import type { DecisionRecord } from '../core/decision-record.ts';
import { idAt } from '../core/id.ts';
import type { MeasuredCatalog } from '../core/readings.ts';
import type { Revision } from '../core/revision.ts';
import type { RecordQuery, RecordTables } from '../store/records.ts';
import type { Deferral, Store, Write } from '../store/store.ts';
import { findReadings, RENEW_MS, StoredReadings } from './stored-readings.ts';

export type RecordReader = ReturnType<typeof openRecordReader>;

/** Reads stored decisions. Everything is null if absent, or deleted. */
export const openRecordReader = ({ log, revisions, readings }: RecordTables) => ({
  /** @throws UnreadableRecord */
  find: log.find,
  /** Null, too, if its row was edited. */
  findRevision: revisions.find,
  /** The readings that a record names, under the policy of the record. */
  findReadings: (number: number, watched: MeasuredCatalog) => findReadings(readings, number, watched),
});

interface RecordsOptions {
  readonly store: Pick<Store, 'append' | 'commit' | 'flush' | 'written'> & Deferral;
  readonly tables: RecordTables;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called for each record that is added. Must not throw. */
  readonly onAdd?: (record: DecisionRecord) => void;
  /** Whether all records are counted, so that old ones may go; absent: they are. */
  readonly isCounted?: () => Promise<boolean>;
}

export type Records = ReturnType<typeof openRecords>;

async function prune({ store, tables, now, isCounted }: RecordsOptions, ageMs: number): Promise<number> {
  const { log, readings, revisions, contents } = tables;
  await contents.prune(now());
  if (isCounted && !(await isCounted())) return 0;
  const deleted = await log.prune(idAt(now() - ageMs));
  await readings.prune(idAt(now() - ageMs - RENEW_MS));
  await store.commit([revisions.pruneBefore(now() - ageMs)]);
  return deleted;
}

/** Opens the log of decisions and content. State: records. */
export function openRecords(options: RecordsOptions) {
  const { store, tables, now, onAdd = () => {} } = options;
  const { log, readings, revisions, contents } = tables;
  /** A row that is not found may wait for a later commit; a reader that needs it now flushes. */
  const flushed = async <Found>(find: () => Promise<Found | null>): Promise<Found | null> => {
    const found = await find();
    if (found) return found;
    await store.flush();
    return find();
  };
  return {
    ...openRecordReader(tables),
    /** The readings that records name. */
    readings: new StoredReadings(readings, store, now),
    contents,
    find: (id: number) => flushed(() => log.find(id)),
    /** Writes a record, soon: a crash may lose the last ones, which a reader has nevertheless. */
    add: (record: DecisionRecord) => {
      store.defer(log.add(record));
      onAdd(record);
    },
    /** Writes what belongs to a record without a settlement; durable within milliseconds. */
    append(writes: readonly Write[]) {
      if (writes.length > 0) store.append(writes, true);
    },
    async list(query: RecordQuery) {
      await store.flush();
      return log.list(query);
    },
    /** The stored content of a decision's request and answer; null if there is none. */
    findContent: (id: number) => flushed(() => contents.find(id, now())),
    /**
     * Deletes decisions older than `ageMs` in batches, readings and revisions that no decision can name, and expired
     * content.
     * @returns the number of decisions deleted
     */
    prune: (ageMs: number) => prune(options, ageMs),
    /** Stores a policy under its revision, as in force from now on. A text stored before stays unchanged. */
    saveRevision: (revision: Omit<Revision, 'saved'>) => store.commit([revisions.save({ ...revision, saved: now() })]),
  };
}
