import { idAt } from '../core/id.ts';
import type { Migrations, Statement, Store, Write } from '../store/store.ts';
import { hasSecret, scrub } from '../telemetry/secrets.ts';
import { decodeBody, encodeBody } from './codec.ts';
import { CONTENTS_TABLE, type Content, findContent, pruneContents } from './contents.ts';
import type { DecisionRecord, Revision } from './record.ts';

/** Rows deleted in one transaction: a long prune must not hold up the requests beside it. */
const PRUNE_BATCH = 1_000;

/** `body` is one text, see `codec.ts`; figures stay exact as doubles. */
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
  ],
};

const INSERT: Statement = {
  sql: 'INSERT INTO decisions (id, time, key_id, kind, revision, quality, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
};
const FIND: Statement = {
  sql: 'SELECT id, time, key_id AS keyId, kind, revision, quality, body FROM decisions WHERE id = ?',
};
const LAST: Statement = { sql: 'SELECT max(id) AS id FROM decisions' };
const COUNT_OLD: Statement = { sql: 'SELECT count(*) AS n FROM (SELECT 1 FROM decisions WHERE id < ? LIMIT ?)' };
const DELETE_OLD: Statement = {
  sql: 'DELETE FROM decisions WHERE id IN (SELECT id FROM decisions WHERE id < ? ORDER BY id LIMIT ?)',
};
const SAVE_REVISION: Statement = {
  sql: 'INSERT INTO revisions (revision, source, models, saved) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET saved = excluded.saved',
};
/** The one in force at a moment is the last saved before it; those before that one have no decisions since. */
const DELETE_OLD_REVISIONS: Statement = {
  sql: 'DELETE FROM revisions WHERE saved < (SELECT max(saved) FROM revisions WHERE saved < ?)',
};
const FIND_REVISION: Statement = { sql: 'SELECT revision, source, models, saved FROM revisions WHERE revision = ?' };

type Head = Pick<DecisionRecord, 'id' | 'time' | 'keyId' | 'kind' | 'revision'>;
type FoundRow = Head & { quality: Uint8Array; body: string };

export interface RecordsOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface Records {
  /** The record of a decision; null when there is none (any more). */
  find(id: number): Promise<DecisionRecord | null>;
  /** Keeps a record that no settlement carries; durable within milliseconds. */
  add(record: DecisionRecord): void;
  /** The greatest ID in use; 0 for none. */
  lastId(): Promise<number>;
  /** What was kept of the words of a decision's request and answer; null for nothing. */
  findContent(id: number): Promise<Content | null>;
  /**
   * Deletes decisions older than `ageMs`, a batch at a time, revisions that none can name any more, and words whose
   * own time is over. Returns how many decisions.
   */
  prune(ageMs: number): Promise<number>;
  /** Keeps a policy's text and models under its revision, as in force from now on. What was kept once stays as it is. */
  saveRevision(revision: string, source: string, models: readonly string[]): Promise<void>;
  findRevision(revision: string): Promise<Revision | null>;
}

/** The writes of a record, to go with the settlement of its request. Copies the figures, so scratch arrays may be given. */
export function recordWrite(record: DecisionRecord): Write[] {
  const { id, time, keyId, kind, revision, quality } = record;
  const figures = new Uint8Array(quality.buffer, quality.byteOffset, quality.byteLength).slice();
  return [{ statement: INSERT, params: [id, time, keyId, kind, revision, figures, bodyOf(record)] }];
}

/** Languages are the one thing in it that a caller words. */
function bodyOf(record: DecisionRecord): string {
  const body = encodeBody(record);
  return record.facts.languages.length > 0 && hasSecret(body) ? scrub(body) : body;
}

export function openRecords({ store, now }: RecordsOptions): Records {
  return {
    async find(id) {
      let [row] = await store.query<FoundRow>(FIND, [id]);
      if (!row) {
        // A record rides with a later commit; whoever asks for it at once waits for that.
        await store.flush();
        [row] = await store.query<FoundRow>(FIND, [id]);
      }
      if (!row) return null;
      const { quality, body, ...head } = row;
      return { ...head, ...decodeBody(body), quality: new Float64Array(quality.slice().buffer) };
    },
    add(record) {
      store.append(recordWrite(record), true);
    },
    async lastId() {
      const [row] = await store.query<{ id: number | null }>(LAST);
      return row?.id ?? 0;
    },
    async findContent(id) {
      const found = await findContent(store, id, now());
      if (found) return found;
      // Words ride with a later commit, as records do.
      await store.flush();
      return findContent(store, id, now());
    },
    async prune(ageMs) {
      await pruneContents(store, now());
      const before = idAt(now() - ageMs);
      let deleted = 0;
      for (;;) {
        const [old] = await store.query<{ n: number }>(COUNT_OLD, [before, PRUNE_BATCH]);
        if (!old?.n) break;
        await store.commit([{ statement: DELETE_OLD, params: [before, PRUNE_BATCH] }]);
        deleted += old.n;
      }
      await store.commit([{ statement: DELETE_OLD_REVISIONS, params: [now() - ageMs] }]);
      return deleted;
    },
    saveRevision(revision, source, models) {
      const params = [revision, source, JSON.stringify(models), now()];
      return store.commit([{ statement: SAVE_REVISION, params }]);
    },
    async findRevision(revision) {
      const [row] = await store.query<Omit<Revision, 'models'> & { models: string }>(FIND_REVISION, [revision]);
      return row ? { ...row, models: JSON.parse(row.models) } : null;
    },
  };
}
