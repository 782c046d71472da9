import type { Revision } from '../../../core/text/revision.ts';
import type { RevisionTable } from '../../records.ts';
import { first, type SqlReader, sql, write } from '../statement.ts';

const SAVE = sql(`INSERT INTO revisions (revision, source, models, surroundings, saved) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (revision) DO UPDATE SET saved = excluded.saved, surroundings = excluded.surroundings`);
const FIND = sql('SELECT revision, source, models, surroundings, saved FROM revisions WHERE revision = ?');
const FIND_BY_PREFIX = sql(
  'SELECT revision FROM revisions WHERE substr(revision, 1, length(?1)) = ?1 ORDER BY saved DESC LIMIT 100',
);
/** Finds the table, which a file without any tables lacks. */
const FIND_TABLE = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'revisions'`, {
  inPostgres: 'SELECT 1',
});
/** Keeps the policy that was active at the given time, which is the last policy saved before that time. */
const PRUNE = sql('DELETE FROM revisions WHERE saved < (SELECT max(saved) FROM revisions WHERE saved < ?)');

type RevisionRow = Omit<Revision, 'models' | 'surroundings'> & { models: string; surroundings: string };

export const sqlRevisions = (db: SqlReader): RevisionTable => ({
  save: ({ revision, source, models, surroundings, saved }) =>
    write(SAVE, revision, source, JSON.stringify(models), JSON.stringify(surroundings), saved),
  async find(revision) {
    const row = await first<RevisionRow>(db, FIND, revision);
    if (!row) return null;
    try {
      // The JSON is parsed without a check, because only `save` writes it.
      return { ...row, models: JSON.parse(row.models), surroundings: JSON.parse(row.surroundings) };
    } catch {
      return null;
    }
  },
  async findByPrefix(prefix) {
    if ((await db.query(FIND_TABLE)).length === 0) return [];
    const rows = await db.query<{ readonly revision: string }>(FIND_BY_PREFIX, [prefix]);
    return rows.map(({ revision }) => revision);
  },
  pruneBefore: (time) => write(PRUNE, time),
});
