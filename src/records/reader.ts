import type { Readings, Watched } from '../core/readings.ts';
import type { Statement, Store } from '../store/store.ts';
import { decodeBody } from './codec.ts';
import { decodeEstimate } from './estimate-codec.ts';
import { findFrame } from './frames.ts';
import type { DecisionRecord, Revision } from './record.ts';

const FIND: Statement = {
  sql: 'SELECT id, time, key_id AS keyId, kind, revision, frame, quality, body, estimate FROM decisions WHERE id = ?',
};
const FIND_REVISION: Statement = {
  sql: 'SELECT revision, source, models, surroundings, saved FROM revisions WHERE revision = ?',
};
const FIND_COLUMN: Statement = { sql: `SELECT 1 FROM pragma_table_info('decisions') WHERE name = 'estimate'` };

type Head = Pick<DecisionRecord, 'id' | 'time' | 'keyId' | 'kind' | 'revision' | 'frame'>;
type FoundRow = Head & { quality: Uint8Array; body: string; estimate: Uint8Array | null };
type RevisionRow = Omit<Revision, 'models' | 'surroundings'> & { models: string; surroundings: string | null };

/** What was written of decisions. All of it is null where there is none (any more). */
export interface RecordReader {
  find(id: number): Promise<DecisionRecord | null>;
  findRevision(revision: string): Promise<Revision | null>;
  /** The readings that a record names, for the policy that it was made under. */
  findFrame(number: number, watched: Watched): Promise<Readings | null>;
}

/** Whether a store has tables of this version. */
export async function hasRecords(store: Pick<Store, 'query'>): Promise<boolean> {
  return (await store.query(FIND_COLUMN)).length > 0;
}

export function readRecords(store: Pick<Store, 'query'>): RecordReader {
  return {
    async find(id) {
      const [row] = await store.query<FoundRow>(FIND, [id]);
      if (!row) return null;
      const { body, estimate, ...head } = row;
      const quality = new Float64Array(row.quality.slice().buffer);
      return { ...head, ...decodeBody(body), quality, ...decodeEstimate(estimate, quality) };
    },
    async findRevision(revision) {
      const [row] = await store.query<RevisionRow>(FIND_REVISION, [revision]);
      if (!row) return null;
      // Written by `saveRevision` alone.
      return { ...row, models: JSON.parse(row.models), surroundings: JSON.parse(row.surroundings ?? 'null') };
    },
    findFrame: (number, watched) => findFrame(store, number, watched),
  };
}
