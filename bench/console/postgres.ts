import { Database } from 'bun:sqlite';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { idSpan } from '../../src/core/id.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { databaseIn, openStore } from '../../src/store/open.ts';
import { addressOf } from '../../src/store/postgres/address.ts';
import { Connection } from '../../src/store/postgres/connection.ts';
import { MIGRATION_BOUNDS, migrate, schemaOf } from '../../src/store/postgres/migrate.ts';
import { boundsFrom } from '../../src/store/postgres/partitions.ts';
import { postgresRecords } from '../../src/store/postgres/records.ts';
import { SCHEMA } from '../../src/store/postgres/schema/versions.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { postgresTraffic } from '../../src/store/postgres/traffic.ts';

type Value = string | number | Uint8Array | null;
type Row = Readonly<Record<string, Value>>;

/** A table that is filled from the SQLite table with the same name. */
interface FilledTable {
  readonly name: string;
  /** Columns that differ from the SQLite columns with the same name, or exist only in PostgreSQL. */
  readonly own?: Readonly<Record<string, (row: Row) => Value>>;
  /** A sequence, and the column that it numbers. */
  readonly numbers?: readonly [sequence: string, column: string];
}

const digestOf = (row: Row): Value => new Bun.CryptoHasher('sha256').update(JSON.stringify(row)).digest();
const idsOf = (text: Value | undefined): Value => (typeof text === 'string' ? `{${text.replaceAll(' ', ',')}}` : null);

const TABLES: readonly FilledTable[] = [
  { name: 'accounts', own: { digest: digestOf }, numbers: ['accounts_id_seq', 'id'] },
  { name: 'tariffs', own: { digest: digestOf }, numbers: ['tariffs_id_seq', 'id'] },
  { name: 'journal', own: { funds: ({ funds }) => idsOf(funds) }, numbers: ['journal_seq', 'seq'] },
  { name: 'records', numbers: ['records_seq', 'seq'] },
  { name: 'record_index', own: { seq: () => null } },
  { name: 'record_labels' },
  { name: 'revisions' },
  { name: 'frames' },
  { name: 'traffic' },
  { name: 'traffic_series' },
  { name: 'traffic_waiting' },
];
/** The number of rows that are copied at once. */
const PIECE = 100_000;

/** Returns a value in the text format that COPY reads. */
function textOf(value: Value | undefined): string {
  if (value === null || value === undefined) return '\\N';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `\\\\x${value.toHex()}`;
  return /[\\\t\n\r]/.test(value)
    ? value.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
    : value;
}

/** Returns whether a database has tables. */
export async function isFilled(url: string): Promise<boolean> {
  const connection = await Connection.open(addressOf(url));
  try {
    return (await schemaOf(connection)).version > 0;
  } finally {
    await connection.close();
  }
}

/** Fills an empty database on this machine with the decisions, entries and traffic of a generated folder, using COPY. */
export async function fillPostgres(folder: string, url: string, onProgress: (table: string) => void): Promise<void> {
  const connection = await Connection.open(addressOf(url), MIGRATION_BOUNDS);
  const pieces = mkdtempSync(join(tmpdir(), 'signalbox-copy-'));
  chmodSync(pieces, 0o755);
  using source = new Database(databaseIn(folder), { readonly: true });
  try {
    await migrate(connection, SCHEMA, 'bench');
    await connection.script(`SET session_replication_role = replica; SET maintenance_work_mem = '1GB'`);
    await divideByDay(source, connection);
    for (const table of TABLES) {
      onProgress(table.name);
      await fillTable(table, { source, connection, file: join(pieces, table.name) });
    }
    const counting = source.query<Row, []>('SELECT * FROM traffic_counting').get()!;
    const { records_through, journal_through, version } = counting;
    await connection.script(`UPDATE traffic_counting SET version = ${version}, records_through = ${records_through},
      journal_through = ${journal_through}`);
    onProgress('VACUUM');
    await connection.script('VACUUM ANALYZE');
  } finally {
    await connection.close();
    rmSync(pieces, { recursive: true, force: true });
  }
}

/** Creates the daily partitions that a server would have created. */
async function divideByDay(source: Database, connection: Connection): Promise<void> {
  const ends = source
    .query<{ from: number; to: number }, []>('SELECT min(id) AS "from", max(id) AS "to" FROM records')
    .get()!;
  const day = idSpan(86_400_000);
  const [last] = boundsFrom(ends.to, day);
  const days = Math.min(50, Math.ceil((last! - ends.from) / day));
  const past = Array.from({ length: days }, (_, at) => last! - (days - at) * day);
  await connection.script(`SELECT records_partition_1(0, '{${[...past, ...boundsFrom(ends.to, day)]}}')`);
}

interface Filling {
  readonly source: Database;
  readonly connection: Connection;
  readonly file: string;
}

/** Fills a table. The indexes of the table are created at the end, because sorting once is faster. */
async function fillTable({ name, own = {}, numbers }: FilledTable, { source, connection, file }: Filling) {
  const { rows: indexes } = await connection.run<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
      WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`,
    [name],
  );
  for (const { name } of indexes) await connection.script(`DROP INDEX ${name}`);
  const { rows } = await connection.run<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0`,
    [name],
  );
  const known = new Set(
    source
      .query<{ name: string }, [string]>('SELECT name FROM pragma_table_info(?)')
      .all(name)
      .map(({ name }) => name),
  );
  const columns = rows.map(({ name }) => name).filter((column) => column in own || known.has(column));
  const copy = `COPY ${name} (${columns.map((column) => `"${column}"`).join(', ')}) FROM`;
  let copying: Promise<unknown> = Promise.resolve();
  let count = 0;
  for (const piece of piecesOf(source, name)) {
    const path = `${file}-${count++ % 2}`;
    const handle = await open(path, 'w', 0o644);
    const lines = piece.map((row) =>
      columns.map((column) => textOf(own[column] ? own[column](row) : row[column])).join('\t'),
    );
    await handle.writeFile(`${lines.join('\n')}\n`);
    await handle.close();
    await copying;
    copying = connection.script(`${copy} '${path}'`);
    copying.catch(() => {});
  }
  await copying;
  if (numbers) await connection.script(`SELECT setval('${numbers[0]}', (SELECT max(${numbers[1]}) FROM ${name}))`);
  // The definition for a partitioned table names only the table itself.
  for (const { definition } of indexes) await connection.script(definition.replace(' ON ONLY ', ' ON '));
}

function* piecesOf(source: Database, table: string): Generator<readonly Row[]> {
  let piece: Row[] = [];
  for (const row of source.query<Row, []>(`SELECT * FROM ${table}`).iterate()) {
    piece.push(row);
    if (piece.length < PIECE) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}

/** Opens the store of a generated folder, whose records and traffic are read from a database. */
export async function openBeside(folder: string, url: string): Promise<OpenStore> {
  const store = await openStore(databaseIn(folder), { mode: 'serve' });
  const database = await openPostgres({ url });
  return Object.assign(store, { records: postgresRecords(database), traffic: postgresTraffic(database) });
}
