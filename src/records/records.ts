import type { DecisionRecord } from '../core/decision-record.ts';
import { idAt } from '../core/id.ts';
import type { Revision } from '../core/revision.ts';
import type { ContentTable, RecordLog, RecordTables, StoredContent } from '../store/records.ts';
import type { Store, Write } from '../store/store.ts';
import { FrameStore, RENEW_MS } from './frames.ts';
import { openRecordReader, type RecordReader } from './reader.ts';

interface RecordsOptions {
  readonly store: Pick<Store, 'append' | 'commit' | 'flush' | 'written'>;
  readonly tables: RecordTables;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface Records extends RecordReader, Pick<RecordLog, 'list' | 'index'> {
  /** The frames of readings that records name. */
  readonly frames: FrameStore;
  readonly contents: ContentTable;
  /** @returns the write of a record, for the commit of its settlement */
  write(record: DecisionRecord): Write;
  /** Writes a record without a settlement; durable within milliseconds. */
  add(writes: readonly Write[]): void;
  /** The greatest ID in use; 0 without any. */
  lastId(): Promise<number>;
  /** The stored content of a decision's request and answer; null if there is none. */
  findContent(id: number): Promise<StoredContent | null>;
  /**
   * Deletes decisions older than `ageMs` in batches, frames and revisions that no decision can name, and expired
   * content.
   * @returns the number of decisions deleted
   */
  prune(ageMs: number): Promise<number>;
  /** Stores a policy under its revision, as in force from now on. A text stored before stays unchanged. */
  saveRevision(revision: Omit<Revision, 'saved'>): Promise<void>;
}

export function openRecords({ store, tables, now }: RecordsOptions): Records {
  const { log, frames, revisions, contents } = tables;
  const reader = openRecordReader(tables);
  /** A row that is not found may wait for a later commit; a reader that needs it now flushes. */
  const flushed = async <Found>(find: () => Promise<Found | null>): Promise<Found | null> => {
    const found = await find();
    if (found) return found;
    await store.flush();
    return find();
  };
  return {
    ...reader,
    frames: new FrameStore(frames, store, now),
    contents,
    find: (id) => flushed(() => log.find(id)),
    write: (record) => log.add(record),
    add: (writes) => store.append(writes, true),
    async list(query) {
      await store.flush();
      return log.list(query);
    },
    index: () => log.index(),
    lastId: async () => Math.max(await log.lastId(), await frames.lastNumber()),
    findContent: (id) => flushed(() => contents.find(id, now())),
    async prune(ageMs) {
      await contents.prune(now());
      const deleted = await log.prune(idAt(now() - ageMs));
      await frames.prune(idAt(now() - ageMs - RENEW_MS));
      await store.commit([revisions.pruneBefore(now() - ageMs)]);
      return deleted;
    },
    saveRevision: (revision) => store.commit([revisions.save({ ...revision, saved: now() })]),
  };
}
