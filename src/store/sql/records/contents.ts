import type { ContentTable } from '../../records.ts';
import { batchDeletion } from '../delete-batches.ts';
import { first, type SqlTables, sql, write } from '../statement.ts';

const INSERT = sql('INSERT INTO contents (id, until, prompt, answer, is_cut) VALUES (?, ?, ?, ?, ?)');
const FIND = sql('SELECT until, prompt, answer, is_cut AS isCut FROM contents WHERE id = ? AND until > ?');
const deleteExpired = batchDeletion({
  table: 'contents',
  key: 'id',
  by: 'until',
  comparison: '<=',
  // The batch of deleted rows is small because each row may be large.
  batch: 32,
  // Makes SQLite overwrite deleted rows with zeros. Overwriting is slow, so it is enabled only for the table of contents: no other table of
  // records has text of prompts or answers.
  around: [
    write(sql('PRAGMA secure_delete = ON', { inPostgres: '' })),
    write(sql('PRAGMA secure_delete = OFF', { inPostgres: '' })),
  ],
});
/** Moves the write-ahead log into the database and truncates the log. The call has no effect while a reader uses the log. */
const EMPTY_LOG = sql('PRAGMA wal_checkpoint(TRUNCATE)', { inPostgres: '' });

interface ContentRow {
  readonly until: number;
  readonly prompt: string | null;
  readonly answer: string | null;
  readonly isCut: number;
}

const jsonOrNull = (value: readonly unknown[] | null): string | null => value && JSON.stringify(value);

/** The texts are parsed without a check, because only this file writes them. */
const contentOf = (text: string | null): readonly unknown[] | null => (text === null ? null : JSON.parse(text));

export const sqlContents = (db: SqlTables): ContentTable => ({
  add: (decision, { until, prompt, answer, isCut }) =>
    write(INSERT, decision, until, jsonOrNull(prompt), jsonOrNull(answer), isCut ? 1 : 0),
  async find(decision, now) {
    const row = await first<ContentRow>(db, FIND, decision, now);
    if (!row) return null;
    return { until: row.until, prompt: contentOf(row.prompt), answer: contentOf(row.answer), isCut: row.isCut === 1 };
  },
  async prune(now) {
    const deleted = await deleteExpired(db, now);
    if (deleted > 0) await db.query(EMPTY_LOG);
    return deleted;
  },
});
