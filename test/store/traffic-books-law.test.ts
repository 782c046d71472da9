import { test } from 'bun:test';
import fc from 'fast-check';
import { openStore } from '../../src/store/open.ts';
import type { SqlTables } from '../../src/store/sql/statement.ts';
import { sqliteTraffic } from '../../src/store/sqlite/traffic/table.ts';
import { tries } from '../deep/effort.ts';
import { layStore } from '../support/empty-store.ts';
import { tempFolder } from './support.ts';
import { LAW, type Laid, lawOf } from './traffic-books-law.ts';

const laidInSqlite: Laid = async (size) => {
  const folder = tempFolder();
  await layStore(folder.file);
  return {
    async start(now) {
      const store = await openStore(folder.file, { mode: 'serve' });
      const traffic = sqliteTraffic(store as unknown as SqlTables, size);
      return { store, traffic, books: await store.openBooks(now), close: () => store.close() };
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
};

test(`in SQLite ${LAW}`, async () => {
  await fc.assert(lawOf(laidInSqlite), tries(LAW, 2, 1_000));
}, 3_600_000);
