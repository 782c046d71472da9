import type { MeasuredCatalog } from '../../core/decision/readings.ts';
import type { DecisionRecord } from '../../core/decision/record.ts';
import { idAt, idSpan } from '../../core/id.ts';
import type { Revision } from '../../core/text/revision.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import type { Timers } from '../../core/time/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import type { RecordQuery, RecordTables } from '../../store/records.ts';
import type { Deferral, Store, Write } from '../../store/store.ts';
import { findRequest } from './find-request.ts';
import { RefusalLog } from './refusal-log.ts';
import { findReadings, RENEW_MS, StoredReadings } from './stored-readings.ts';

export type RecordReader = ReturnType<typeof openRecordReader>;

/** Reads stored decisions. Each function returns null if the data is absent or deleted. */
export const openRecordReader = ({ log, revisions, readings }: RecordTables) => ({
  /** Finds a record. @throws UnreadableRecord if its row is damaged */
  find: log.find,
  /** Finds the record of a request by the number of the request: a decision or a refusal. */
  findRequest: (request: number) => findRequest(log, request),
  /** Returns the policy of a revision; null also if the row of the revision was edited. */
  findRevision: revisions.find,
  /** Returns the readings that a record refers to, under the policy of the record. */
  findReadings: (number: number, watched: MeasuredCatalog) => findReadings(readings, number, watched),
});

interface RecordsOptions {
  readonly store: Pick<Store, 'append' | 'commit' | 'flush' | 'written'> & Deferral;
  readonly tables: RecordTables;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly timers?: Timers;
  /** A function that is called for each added record, and must not throw. */
  readonly onAdd?: (record: DecisionRecord) => void;
  /**
   * Returns a decision whose request is running in this process, without an outcome, by its ID or the ID of its request; null for any other
   * ID. If this function is absent, no request is running.
   */
  readonly running?: (id: number) => DecisionRecord | null;
  /** Whether all records are counted, so that old records may be deleted. If this function is absent, all records are counted. */
  readonly isCounted?: () => Promise<boolean>;
}

export type Records = ReturnType<typeof openRecords>;

/** About the most partitions that the retained records are in; each partition covers whole days. */
const PARTITIONS = 50;

async function prune({ store, tables, now, isCounted }: RecordsOptions, ageMs: number): Promise<number> {
  const { log, readings, revisions, contents, partition } = tables;
  await contents.prune(now());
  const widthMs = partition ? Math.ceil(ageMs / DAY_MS / PARTITIONS) * DAY_MS : 0;
  const failure = await partition?.(idAt(now()), idSpan(widthMs)).then(
    () => null,
    (cause: unknown) => cause,
  );
  let deleted = 0;
  if (!isCounted || (await isCounted())) {
    deleted = await log.prune(idAt(now() - ageMs), idSpan(widthMs));
    const keptFrom = now() - ageMs - widthMs;
    await readings.prune(idAt(keptFrom - RENEW_MS));
    await store.commit([revisions.pruneBefore(keptFrom)]);
  }
  if (failure) throw failure;
  return deleted;
}

/** Opens the log of decisions and content. State: records. */
export function openRecords(options: RecordsOptions) {
  const { store, tables, now, timers = processTimers, onAdd = () => {}, running = () => null } = options;
  const { log, readings, revisions, contents } = tables;
  const refusals = new RefusalLog({ store, log, timers, now });
  const flush = async () => {
    await refusals.flush();
    await store.flush();
  };
  let prunedAt = 0;
  /** If a row is not found, the commit of the row may still be waiting, so the store is flushed and read again. */
  const flushed = async <Found>(find: () => Promise<Found | null>): Promise<Found | null> => {
    const found = await find();
    if (found) return found;
    await store.flush();
    return find();
  };
  return {
    ...openRecordReader(tables),
    /** The readings that records refer to. */
    readings: new StoredReadings(readings, store, now),
    contents,
    /** Finds the record of a decision, also while its request is running. */
    async find(id: number): Promise<DecisionRecord | null> {
      // Running requests are checked before the store, because a request may end while the store is read.
      const found = running(id);
      if (!found) return flushed(() => log.find(id));
      // The readings of a running decision may not be written yet.
      await store.flush();
      return found;
    },
    /** Writes a record soon. A crash may lose the latest records, but readers in this process see them at once. */
    add: (record: DecisionRecord) => {
      store.defer(log.add(record));
      onAdd(record);
    },
    /** Writes data that belongs to a record without a settlement. It is durable within milliseconds. */
    append(writes: readonly Write[]) {
      if (writes.length > 0) store.append(writes, true);
    },
    async list(query: RecordQuery) {
      await flush();
      return log.list(query);
    },
    async findRequest(request: number) {
      await flush();
      return findRequest(log, request);
    },
    /** The log of answers with a status from 400 up that have no decision record. */
    refusals,
    /** Returns the stored content of a decision's request and answer; null if there is none. */
    findContent: (id: number) => flushed(() => contents.find(id, now())),
    /**
     * Deletes decisions older than `ageMs`, readings and revisions that no decision can refer to, and expired content. A store with
     * partitions deletes a partition only when all of its decisions are older.
     * @returns the number of decisions deleted one by one
     */
    async prune(ageMs: number): Promise<number> {
      const deleted = await prune(options, ageMs);
      prunedAt = now();
      return deleted;
    },
    /** The time when `prune` last succeeded in this process, ms since 1970; 0 for never. */
    get prunedAt() {
      return prunedAt;
    },
    /** Stores a policy under its revision, as active from now on. A text that is already stored stays unchanged. */
    saveRevision: (revision: Omit<Revision, 'saved'>) => store.commit([revisions.save({ ...revision, saved: now() })]),
  };
}
