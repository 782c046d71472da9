import type { DecisionRecord } from '../core/decision-record.ts';
import type { MeasuredCatalog, Readings } from '../core/readings.ts';
import type { Revision } from '../core/revision.ts';
import type { Statement, Store } from '../store/store.ts';
import { decodeBody } from './codec.ts';
import { decodeEstimate } from './estimate-codec.ts';
import { findFrame } from './frames.ts';

const FIND: Statement = {
  sql: 'SELECT id, time, key_id AS keyId, kind, revision, frame, quality, body, estimate FROM decisions WHERE id = ?',
};
const FIND_REVISION: Statement = {
  sql: 'SELECT revision, source, models, surroundings, saved FROM revisions WHERE revision = ?',
};
const FIND_BY_PREFIX: Statement = {
  sql: 'SELECT revision FROM revisions WHERE substr(revision, 1, length(?1)) = ?1 ORDER BY saved DESC LIMIT 100',
};
const FIND_COLUMN: Statement = { sql: `SELECT 1 FROM pragma_table_info('decisions') WHERE name = 'estimate'` };

type Head = Pick<DecisionRecord, 'id' | 'time' | 'keyId' | 'kind' | 'revision' | 'frame'>;
type FoundRow = Head & { quality: Uint8Array; body: string; estimate: Uint8Array | null };
type RevisionRow = Omit<Revision, 'models' | 'surroundings'> & { models: string; surroundings: string | null };

/** The row was not written by this program: the database was edited, or is damaged. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
  constructor(options: ErrorOptions) {
    super('records: a row of `decisions` is not as it was written', options);
  }
}

/** Reads stored decisions. Everything is null if absent, or deleted. */
export interface RecordReader {
  /** @throws UnreadableRecord */
  find(id: number): Promise<DecisionRecord | null>;
  /** Null, too, if its row was edited. */
  findRevision(revision: string): Promise<Revision | null>;
  /** The readings of a record's frame, under the policy of the record. */
  findFrame(number: number, watched: MeasuredCatalog): Promise<Readings | null>;
}

/** Whether a store has the tables of this version. */
export async function hasRecords(store: Pick<Store, 'query'>): Promise<boolean> {
  return (await store.query(FIND_COLUMN)).length > 0;
}

/** The stored revisions with a prefix, the last saved first, at most 100. */
export async function findRevisions(store: Pick<Store, 'query'>, prefix: string): Promise<string[]> {
  const rows = await store.query<{ readonly revision: string }>(FIND_BY_PREFIX, [prefix]);
  return rows.map(({ revision }) => revision);
}

export function openRecordReader(store: Pick<Store, 'query'>): RecordReader {
  return {
    async find(id) {
      const [row] = await store.query<FoundRow>(FIND, [id]);
      if (!row) return null;
      try {
        return decodeRow(row);
      } catch (cause) {
        throw new UnreadableRecord({ cause });
      }
    },
    async findRevision(revision) {
      const [row] = await store.query<RevisionRow>(FIND_REVISION, [revision]);
      if (!row) return null;
      try {
        // Only `saveRevision` writes them.
        return { ...row, models: JSON.parse(row.models), surroundings: JSON.parse(row.surroundings ?? 'null') };
      } catch {
        return null;
      }
    },
    findFrame: (number, watched) => findFrame(store, number, watched),
  };
}

/** Throws any error that an edited row can cause. */
function decodeRow({ body, estimate, ...head }: FoundRow): DecisionRecord {
  const quality = new Float64Array(head.quality.slice().buffer);
  const record = { ...head, ...decodeBody(body), quality, ...decodeEstimate(estimate, quality) };
  const { facts, choice, fallbacks, lastResorts } = record;
  const lists: readonly unknown[] = [fallbacks, lastResorts, facts.languages, facts.mix, facts.cached];
  const isWhole = typeof choice === 'string' && typeof facts.needs === 'number' && lists.every(Array.isArray);
  if (!isWhole || typeof facts.ceilings !== 'object') throw new Error('a part is missing');
  return record;
}
