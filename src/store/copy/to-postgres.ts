import type { Tariff } from '../../core/accounting/entry.ts';
import { idAt, idSpan } from '../../core/id.ts';
import type { Budget } from '../../core/money/budget.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { type AccountRow, dimensionsOf } from '../account-row.ts';
import { addressOf } from '../postgres/address.ts';
import { accountText, budgetText, digestOf, tariffText } from '../postgres/books/names.ts';
import { Connection, literalOf } from '../postgres/connection.ts';
import { failureOf } from '../postgres/fault.ts';
import { MIGRATION_BOUNDS } from '../postgres/migrate.ts';
import { boundsFrom } from '../postgres/partitions.ts';
import { first, type SqlReader, sql } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import { BooksMapping } from './books-mapping.ts';
import { type CopiedRow, type CopyTarget, copyTables, type TableChange, tablesOf } from './tables.ts';

const SELECT_INSTANCE = sql('SELECT ids_through AS ids FROM instances');
const SELECT_FENCE = sql('SELECT epoch FROM fence');
const SELECT_CHECKPOINT = sql('SELECT through, charged, usd_per_credit, budgets, rank FROM checkpoint');
/**
 * The numbers that SQLite generates are below this limit. The numbers of adjustments, which programs derive from the time, are far above
 * this limit.
 */
const COUNTED_IDS = 1_000_000_000;
const SELECT_ADJUSTMENTS = sql(`SELECT id, kind, key_id, reservation, amount, note, time, adopted FROM adjustments
    WHERE adopted = 0 ORDER BY id`);
const SELECT_DONE =
  sql(`SELECT 'grant ' || id AS name, amount, time FROM adjustments WHERE adopted = 1 AND kind = 'grant'
    UNION ALL SELECT 'correct ' || name, -amount, time FROM adjustments WHERE adopted = 1 AND kind = 'correct' AND name IS NOT NULL`);
const SELECT_LAST_REQUEST = sql(`SELECT coalesce(max(id), 0) AS id FROM adjustments WHERE id < ${COUNTED_IDS}`);

/** The tables that contain a row from their creation on. */
const SEEDS = ['news', 'identity', 'terms', 'folded', 'traffic_counting'];
const TABLES = `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'signalbox_schema'`;
/** Selects the columns whose numbers PostgreSQL generates. After the copy, each sequence must continue after the greatest copied number. */
const NUMBERED = `SELECT table_name AS name, column_name AS "column" FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_identity = 'YES'`;

/** A database that is being filled in one transaction. The triggers of the database are disabled until the copy ends. */
class PostgresTarget implements CopyTarget {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws StoreError if the database already has rows */
  async begin(): Promise<void> {
    await this.run('BEGIN');
    // All copied records lie in the past, so a single partition gets these records, and the partitions for the future stay empty.
    await this.run(`SELECT records_partition_1(0, '{${boundsFrom(idAt(Date.now()), idSpan(DAY_MS))}}')`);
    const { rows } = await this.#connection.run<{ name: string }>(TABLES);
    for (const { name } of rows) {
      // This table has confirmations by operators (`StoreDriver.accept`), so its rows do not make the database count as used.
      if (name === 'timelines') continue;
      await this.run(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
      if (SEEDS.includes(name)) await this.run(`DELETE FROM ${name}`);
      const found = await this.#connection.run(`SELECT 1 FROM ${name} LIMIT 1`);
      if (found.count > 0)
        throw new StoreError(`The database already has rows in the table ${name}; use a new database.`, {
          reason: 'denied',
        });
      await this.run(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    }
  }

  async run(text: string): Promise<void> {
    await this.#connection.script(text);
  }

  async insert(table: string, rows: readonly CopiedRow[]): Promise<void> {
    const [some] = rows;
    if (!some) return;
    const columns = Object.keys(some);
    const values = rows.map((row) => `(${columns.map((column) => literalOf(row[column] ?? null)).join(', ')})`);
    const names = columns.map((column) => `"${column}"`).join(', ');
    try {
      await this.run(`INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE VALUES ${values.join(',\n')}`);
    } catch (cause) {
      throw failureOf(`Cannot copy the table ${table}`, cause);
    }
  }

  async finish(lastRequest: number): Promise<void> {
    const numbered = await this.#connection.run<{ name: string; column: string }>(NUMBERED);
    for (const { name, column } of numbered.rows) {
      const last = name === 'adjustments' ? `${lastRequest}::bigint` : `(SELECT max("${column}") FROM ${name})`;
      await this.run(
        `SELECT setval(pg_get_serial_sequence('${name}', '${column}'), greatest(coalesce(${last}, 0), 1))`,
      );
    }
    await this.run(`SELECT setval('journal_seq', (SELECT coalesce(max(seq), 0) + 1 FROM journal));
      SELECT setval('records_seq', (SELECT coalesce(max(seq), 0) + 1 FROM records))`);
    const { rows } = await this.#connection.run<{ name: string }>(TABLES);
    for (const { name } of rows) await this.run(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    await this.run('COMMIT');
  }
}

/** Copies a consistent state of a SQLite store to a PostgreSQL database without rows. If the copy fails, no row is left. */
export async function copyToPostgres(from: SqlReader, url: string): Promise<void> {
  const connection = await Connection.open(addressOf(url), { ...MIGRATION_BOUNDS, idleInTransactionMs: 600_000 });
  try {
    const to = new PostgresTarget(connection);
    await to.begin();
    const tables = await tablesOf(from);
    const mapping = await BooksMapping.of(from);
    await copyTables(tables, from, to, changesFor(mapping));
    await to.run(INDEX_RECORDS);
    await copyBooks(from, to, mapping);
    const fence = tables.has('fence') ? await first<{ epoch: number }>(from, SELECT_FENCE) : null;
    const instance = await first<{ ids: number }>(from, SELECT_INSTANCE);
    const last = { slot: 0, epoch: fence?.epoch ?? 0, until: 0, ids_through: instance?.ids ?? 0, is_released: 1 };
    await to.insert('instances', [last]);
    await to.finish((await first<{ id: number }>(from, SELECT_LAST_REQUEST))?.id ?? 0);
  } catch (cause) {
    throw cause instanceof StoreError ? cause : failureOf('Cannot copy to the database', cause);
  } finally {
    await connection.close();
  }
}

/** SQLite's index can lack recent records. The statement after the copy adds these records to the index. */
const INDEX_RECORDS = `WITH missing AS (
      INSERT INTO record_index (id, key_id, operation, status, model, task, session, team_id, user_id, code, request)
        SELECT id, key_id, operation, status, model, task, session, team_id, user_id, code, request FROM records ON CONFLICT DO NOTHING RETURNING id
    )
    INSERT INTO record_labels (name, value, id)
      SELECT l.key, l.value, r.id FROM records AS r JOIN missing AS m ON m.id = r.id, json_each_text(r.labels::json) AS l
      ON CONFLICT DO NOTHING`;

const changesFor = (mapping: BooksMapping): Readonly<Record<string, TableChange>> => ({
  // Only the books write these rows, so the rows need no check.
  accounts: {
    rowOf: named(({ key_id: keyId, team_id: team, user_id: user, ...row }) =>
      accountText(dimensionsOf({ ...row, keyId, team, user } as unknown as AccountRow)),
    ),
  },
  tariffs: { rowOf: named((row) => tariffText(row as unknown as Tariff)) },
  budgets: {
    rowOf: ({ retired, ...row }) =>
      retired === 1 ? null : { ...row, digest: bytesOf(budgetText(row as unknown as Budget)) },
  },
  journal: { rowOf: (row) => mapping.entry(row) },
  record_index: { without: ['seq'] },
  spend: {},
});

/** Copies the tables that belong to the books, after all journal entries are copied. */
async function copyBooks(from: SqlReader, to: PostgresTarget, mapping: BooksMapping): Promise<void> {
  for (const [table, rows] of mapping.rest()) {
    for (let at = 0; at < rows.length; at += 500) await to.insert(table, rows.slice(at, at + 500));
  }
  const [{ through, charged, ...terms } = {}] = await from.query<CopiedRow>(SELECT_CHECKPOINT);
  await to.insert('folded', [{ id: 1, through: through ?? 0, charged: charged ?? 0, at: 0 }]);
  await to.insert('terms', [{ id: 1, ...terms }]);
  await to.insert('adjustments', await from.query<CopiedRow>(SELECT_ADJUSTMENTS));
  await to.insert('done_once', await from.query<CopiedRow>(SELECT_DONE));
}

/**
 * Adds to a row the digest of the row's text. If SQLite has the same text twice, each later row gets a digest that the program never looks
 * up, and is found only by its number.
 */
function named(textOf: (row: CopiedRow) => string): (row: CopiedRow) => CopiedRow {
  const seen = new Set<string>();
  return (row) => {
    const text = textOf(row);
    const digest = bytesOf(seen.has(text) ? `${text} ${row.id}` : text);
    seen.add(text);
    return { ...row, digest };
  };
}

const bytesOf = (text: string): Uint8Array => Uint8Array.fromHex(digestOf(text));
