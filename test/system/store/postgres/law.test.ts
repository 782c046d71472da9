import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { openSqlite } from '../../../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../../../src/store/sqlite/open.ts';
import { effort } from '../../../deep/effort.ts';
import { openInPostgres } from '../../../store/postgres/opened.ts';
import { lawOf } from '../../../store/repository-law.ts';
import { tempFolder } from '../../../store/support.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

const { runs, seed, proved } = effort('postgres', 10, 300);

test('the stores in SQLite and PostgreSQL agree after any commits of access and payments by two instances', async () => {
  await fc.assert(
    lawOf(() => openInPostgres(2)),
    { numRuns: runs, seed },
  );
  proved('commits of keys, their trail and payments give the same answers and content in SQLite and in PostgreSQL');
});

describe('The tables', () => {
  /** Tables of the books, and tables that only SQLite has. */
  const APART =
    /^(?:accounts|adjust|balances|budget|charge|checkpoint|fence|fund|identity|journal|ledger|migrations|spend|sqlite_|state|tariffs)/;
  /** The table of SQLite's only server, and the index that SQLite builds after its records. */
  const OF_SQLITE = ['instances', 'record_indexing', 'record_index.seq'];

  test('PostgreSQL’s tables have the columns of SQLite’s tables', async () => {
    using folder = tempFolder();
    const store = await openSqlite(folder.file, ALL_TABLES);
    const columns = await store.query<{ name: string }>({
      sql: `SELECT m.name || '.' || c.name AS name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'`,
    });
    await store.close();
    await using database = await laidDatabase();
    const others = await database.server.run(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'public'`,
      database.name,
    );
    const known = new Set(others.map(({ name }) => name));
    const isOurs = (name: string) =>
      !APART.test(name) && !OF_SQLITE.some((one) => name === one || name.startsWith(`${one}.`));
    const missing = columns.map(({ name }) => name).filter((name) => isOurs(name) && !known.has(name));
    expect(missing).toEqual([]);
  });
});
