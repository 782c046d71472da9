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

/** A row that is not as this program writes it: somebody has edited the database, or it is damaged. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
  constructor(options: ErrorOptions) {
    super('records: a row of `decisions` is not as it was written', options);
  }
}

/** What was written of decisions. All of it is null where there is none (any more). */
export interface RecordReader {
  /** Throws UnreadableRecord. */
  find(id: number): Promise<DecisionRecord | null>;
  /** Null, too, where somebody has edited its row. */
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
      try {
        return decoded(row);
      } catch (cause) {
        throw new UnreadableRecord({ cause });
      }
    },
    async findRevision(revision) {
      const [row] = await store.query<RevisionRow>(FIND_REVISION, [revision]);
      if (!row) return null;
      try {
        // Written by `saveRevision` alone.
        return { ...row, models: JSON.parse(row.models), surroundings: JSON.parse(row.surroundings ?? 'null') };
      } catch {
        return null;
      }
    },
    findFrame: (number, watched) => findFrame(store, number, watched),
  };
}

/** Throws whatever an edited row makes it throw. */
function decoded({ body, estimate, ...head }: FoundRow): DecisionRecord {
  const quality = new Float64Array(head.quality.slice().buffer);
  const record = { ...head, ...decodeBody(body), quality, ...decodeEstimate(estimate, quality) };
  const { facts, choice, fallbacks, lastResorts } = record;
  const lists: readonly unknown[] = [fallbacks, lastResorts, facts.languages, facts.mix, facts.cached];
  const isWhole = typeof choice === 'string' && typeof facts.needs === 'number' && lists.every(Array.isArray);
  if (!isWhole || typeof facts.ceilings !== 'object') throw new Error('a part is missing');
  return record;
}
