import { Database } from 'bun:sqlite';
import type { SpendRow } from '../journal-reader.ts';
import { postgresJournal } from '../postgres/books/journal-reader.ts';
import { first, type SqlReader, type SqlValue, sql } from '../sql/statement.ts';
import { openSqlite } from '../sqlite/database.ts';
import { failureOf } from '../sqlite/fault.ts';
import { FENCE_TABLE } from '../sqlite/fence.ts';
import { ALL_TABLES } from '../sqlite/open.ts';
import { type CopiedRow, type CopyTarget, copyTables, type TableChange, tablesOf } from './tables.ts';

const SELECT_EPOCH = sql(
  'SELECT coalesce(max(epoch), 0) AS epoch, coalesce(max(ids_through), 0) AS ids FROM instances',
);
const SELECT_TERMS = sql('SELECT usd_per_credit, budgets, rank FROM terms');
const SELECT_DONE = sql('SELECT name, amount, time FROM done_once ORDER BY name');
const SELECT_REQUESTED = sql(
  `SELECT kind, key_id, reservation, amount, note, time FROM adjustments WHERE adopted = 0 ORDER BY id`,
);

/** A SQLite database that is being created. It gets its triggers after all rows are copied. */
class SqliteTarget implements CopyTarget {
  readonly db: Database;
  readonly #triggers: readonly { readonly name: string; readonly sql: string }[];

  constructor(path: string) {
    this.db = new Database(path, { readwrite: true, strict: true });
    this.db.run('BEGIN IMMEDIATE');
    this.#triggers = this.db
      .query<{ name: string; sql: string }, []>(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`)
      .all();
    for (const { name } of this.#triggers) this.db.run(`DROP TRIGGER ${name}`);
    for (const table of ['news', 'identity', 'checkpoint', 'traffic_counting', 'instances', 'record_indexing', 'fence'])
      this.db.run(`DELETE FROM ${table}`);
  }

  async insert(table: string, rows: readonly CopiedRow[]): Promise<void> {
    const [some] = rows;
    if (!some) return;
    const columns = Object.keys(some);
    const names = columns.map((column) => `"${column}"`).join(', ');
    const statement = this.db.prepare<unknown, SqlValue[]>(
      `INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')})`,
    );
    try {
      for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null));
    } catch (cause) {
      throw failureOf(`Cannot copy the table ${table}`, cause);
    } finally {
      statement.finalize();
    }
  }

  finish(): void {
    for (const { sql } of this.#triggers) this.db.run(sql);
    this.db.run('COMMIT');
    this.db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  }
}

/**
 * Copies a consistent state of a PostgreSQL store to a new SQLite file.
 * @param path the path of the file. It appears there only when the copy is complete.
 */
export async function copyToSqlite(from: SqlReader, path: string): Promise<void> {
  await (await openSqlite(path, [...ALL_TABLES, FENCE_TABLE])).close();
  const to = new SqliteTarget(path);
  try {
    await copyTables(await tablesOf(readerOf(to.db)), from, to, CHANGES);
    to.db.run(INDEX_RECORDS);
    await copyBooks(from, to);
    const last = await first<{ epoch: number; ids: number }>(from, SELECT_EPOCH);
    await to.insert('instances', [{ slot: 0, ids_through: last?.ids ?? 0 }]);
    await to.insert('fence', [{ id: 1, epoch: last?.epoch ?? 0 }]);
    to.finish();
  } finally {
    to.db.close();
  }
}

const readerOf = (db: Database): SqlReader => ({
  query: async <Row>({ sql }: { readonly sql: string }, params: readonly SqlValue[] = []) =>
    db.query<Row, SqlValue[]>(sql).all(...params),
});

/** SQLite's index refers to records by their position, so the index is built after the records. */
const INDEX_RECORDS = `CREATE TEMP TABLE places AS SELECT id, seq FROM records;
  CREATE INDEX temp.places_id ON places (id);
  UPDATE record_index SET seq = (SELECT seq FROM places WHERE places.id = record_index.id);
  DROP TABLE places;
  INSERT INTO record_indexing (id, through) SELECT 1, coalesce(max(seq), 0) FROM records`;

const CHANGES: Readonly<Record<string, TableChange>> = {
  accounts: {},
  budgets: { without: ['retired'] },
  journal: { rowOf: (row) => ({ ...row, funds: namesOf(row.funds) }) },
  record_index: { without: ['seq'], rowOf: (row) => ({ ...row, seq: 0 }) },
  tariffs: {},
};

async function copyBooks(from: SqlReader, to: SqliteTarget): Promise<void> {
  const journal = postgresJournal(from, null);
  for await (const rows of journal.funds())
    await to.insert(
      'funds',
      rows.map(({ afterSeq: after_seq, counted: _, ...row }) => ({ ...row, after_seq })),
    );
  for await (const rows of journal.spend()) await to.insert('spend', rows.map(spendOf));
  const balances = await journal.balances();
  await to.insert(
    'balances',
    balances.map(({ keyId, granted, spent }) => ({ key_id: keyId, granted, spent })),
  );
  const end = await journal.checkpoint();
  const [terms] = await from.query<CopiedRow>(SELECT_TERMS);
  const { through = 0, charged = 0, open } = end ?? {};
  await to.insert('checkpoint', [{ id: 1, through, open: JSON.stringify(open ?? []), charged, ...terms }]);
  await copyAdjustments(from, to);
}

/** Converts an array from PostgreSQL's text form. */
function namesOf(funds: unknown): string | null {
  const names = typeof funds === 'string' ? funds.slice(1, -1).replaceAll(',', ' ') : '';
  return names === '' ? null : names;
}

const spendOf = ({ input, output, ...row }: SpendRow): CopiedRow => ({
  ...row,
  input_tokens: input,
  output_tokens: output,
});

/**
 * Copies grants and refunds as adjustments, because SQLite expects an adjustment for each grant and each refund. First results of other
 * operations are stored under their names as adjustments without a reservation.
 */
async function copyAdjustments(from: SqlReader, to: SqliteTarget): Promise<void> {
  const done = await from.query<{ name: string; amount: number; time: number }>(SELECT_DONE);
  const first = done.flatMap(({ name, amount, time }): CopiedRow[] => {
    const [, kind, id] = /^(grant|correct) (.*)$/s.exec(name) ?? [];
    const one = { key_id: '', note: '', time, adopted: 1 };
    if (kind === 'grant' && /^\d+$/.test(id ?? '')) return [{ ...one, id: Number(id), kind, amount, name: null }];
    return kind === 'correct' ? [{ ...one, id: null, kind, amount: 0 - amount, name: id ?? null }] : [];
  });
  await to.insert('adjustments', first);
  to.db.run(`INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time, adopted)
    SELECT j.kind, a.key_id, j.reservation, j.account, j.amount, coalesce(j.note, ''), j.time, 1
      FROM journal AS j JOIN accounts AS a ON a.id = j.account WHERE j.kind IN ('grant', 'correct') ORDER BY j.seq`);
  const ask = to.db.prepare<
    unknown,
    SqlValue[]
  >(`INSERT INTO adjustments (kind, key_id, reservation, account, amount, note, time)
    VALUES (?1, ?2, ?3, (SELECT account FROM journal WHERE kind = 'reserve' AND reservation = ?3), ?4, ?5, ?6)`);
  for (const { kind, key_id, reservation, amount, note, time } of await from.query<CopiedRow>(SELECT_REQUESTED))
    ask.run(kind ?? null, key_id ?? null, reservation ?? null, amount ?? null, note ?? null, time ?? null);
  ask.finalize();
}
