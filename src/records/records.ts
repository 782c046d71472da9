import type { DecisionRecord } from '../core/decision-record.ts';
import { idAt } from '../core/id.ts';
import type { Revision } from '../core/revision.ts';
import type { Migrations, Statement, Store, Write } from '../store/store.ts';
import { hasSecret, scrub } from '../telemetry/secrets.ts';
import { encodeBody } from './codec.ts';
import { CONTENTS_TABLE, findContent, pruneContents, type StoredContent } from './contents.ts';
import { encodeEstimate } from './estimate-codec.ts';
import { FRAMES_TABLE, FrameStore, RENEW_MS } from './frames.ts';
import { openRecordReader, type RecordReader } from './reader.ts';

/** Rows deleted per transaction, so that a long deletion does not delay requests. */
const PRUNE_BATCH = 1_000;

/** `body` is one text, see `codec.ts`, `estimate` one BLOB, see `estimate-codec.ts`. Numbers stay exact. */
export const recordsMigrations: Migrations = {
  room: 'records',
  versions: [
    `CREATE TABLE decisions (
      id INTEGER PRIMARY KEY,
      time INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind = 'chat' OR kind = 'route'),
      revision TEXT NOT NULL,
      quality BLOB NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE revisions (
      revision TEXT PRIMARY KEY,
      source TEXT NOT NULL,
      models TEXT NOT NULL,
      saved INTEGER NOT NULL
    ) STRICT;`,
    CONTENTS_TABLE,
    `${FRAMES_TABLE}
    ALTER TABLE decisions ADD COLUMN frame INTEGER;
    ALTER TABLE revisions ADD COLUMN surroundings TEXT;`,
    'ALTER TABLE decisions ADD COLUMN estimate BLOB;',
  ],
};

const INSERT: Statement = {
  sql: 'INSERT INTO decisions (id, time, key_id, kind, revision, frame, quality, body, estimate) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
};
const LAST: Statement = {
  sql: 'SELECT max((SELECT ifnull(max(id), 0) FROM decisions), (SELECT ifnull(max(number), 0) FROM frames)) AS id',
};
const COUNT_OLD: Statement = { sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM decisions WHERE id < ? LIMIT ?)' };
const DELETE_OLD: Statement = {
  sql: 'DELETE FROM decisions WHERE id IN (SELECT id FROM decisions WHERE id < ? ORDER BY id LIMIT ?)',
};
const COUNT_OLD_FRAMES: Statement = {
  sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM frames WHERE number < ? LIMIT ?)',
};
const DELETE_OLD_FRAMES: Statement = {
  sql: 'DELETE FROM frames WHERE number IN (SELECT number FROM frames WHERE number < ? ORDER BY number LIMIT ?)',
};
const SAVE_REVISION: Statement = {
  sql: `INSERT INTO revisions (revision, source, models, surroundings, saved) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET saved = excluded.saved, surroundings = excluded.surroundings`,
};
/** The policy in force at a time is the last saved before it. Earlier ones have no decisions since. */
const DELETE_OLD_REVISIONS: Statement = {
  sql: 'DELETE FROM revisions WHERE saved < (SELECT max(saved) FROM revisions WHERE saved < ?)',
};

interface RecordsOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface Records extends RecordReader {
  /** The frames of readings that records name. */
  readonly frames: FrameStore;
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

/** The writes of a record, for the commit of its settlement. Copies the qualities, so scratch arrays are allowed. */
export function recordWrite(record: DecisionRecord): Write[] {
  const { id, time, keyId, kind, revision, frame, quality } = record;
  const figures = new Uint8Array(quality.buffer, quality.byteOffset, quality.byteLength).slice();
  const params = [id, time, keyId, kind, revision, frame, figures, bodyOf(record), encodeEstimate(record)];
  return [{ statement: INSERT, params }];
}

/** Languages are the only text in it from a caller. */
function bodyOf(record: DecisionRecord): string {
  const body = encodeBody(record);
  return record.facts.languages.length > 0 && hasSecret(body) ? scrub(body) : body;
}

export function openRecords({ store, now }: RecordsOptions): Records {
  const reader = openRecordReader(store);
  return {
    ...reader,
    frames: new FrameStore(store, now),
    async find(id) {
      const found = await reader.find(id);
      if (found) return found;
      // A record may wait for a later commit; a reader that needs it now flushes.
      await store.flush();
      return reader.find(id);
    },
    add(writes) {
      store.append(writes, true);
    },
    async lastId() {
      const [row] = await store.query<{ id: number }>(LAST);
      return row?.id ?? 0;
    },
    async findContent(id) {
      const found = await findContent(store, id, now());
      if (found) return found;
      // The same holds for content.
      await store.flush();
      return findContent(store, id, now());
    },
    async prune(ageMs) {
      await pruneContents(store, now());
      const deleted = await deleteBefore(idAt(now() - ageMs), COUNT_OLD, DELETE_OLD, store);
      await deleteBefore(idAt(now() - ageMs - RENEW_MS), COUNT_OLD_FRAMES, DELETE_OLD_FRAMES, store);
      await store.commit([{ statement: DELETE_OLD_REVISIONS, params: [now() - ageMs] }]);
      return deleted;
    },
    saveRevision({ revision, source, models, surroundings }) {
      const params = [revision, source, JSON.stringify(models), JSON.stringify(surroundings), now()];
      return store.commit([{ statement: SAVE_REVISION, params }]);
    },
  };
}

/**
 * Deletes a table's rows below an ID, in batches.
 * @returns the number deleted
 */
async function deleteBefore(id: number, count: Statement, deletion: Statement, store: Store): Promise<number> {
  for (let deleted = 0; ; ) {
    const [old] = await store.query<{ n: number }>(count, [id, PRUNE_BATCH]);
    if (!old?.n) return deleted;
    await store.commit([{ statement: deletion, params: [id, PRUNE_BATCH] }]);
    deleted += old.n;
  }
}
