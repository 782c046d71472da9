import { test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import fc from 'fast-check';
import type { OpenStore } from '../../src/store/driver.ts';
import { openStore } from '../../src/store/open.ts';
import { WrittenTraffic } from '../../src/store/record-traffic.ts';
import type { SqlTables } from '../../src/store/sql/statement.ts';
import { sqliteTraffic } from '../../src/store/sqlite/traffic/table.ts';
import { tries } from '../deep/effort.ts';
import { layStore } from '../support/empty-store.ts';
import { tempFolder } from './support.ts';
import { LAW, type Laid, lawOf } from './traffic-books-law.ts';

const laidInSqlite: Laid = async (size) => {
  const folder = tempFolder();
  let { file } = folder;
  await layStore(file);
  const dead: OpenStore[] = [];
  return {
    async start(now) {
      const store = await openStore(file, { mode: 'serve' });
      const traffic = sqliteTraffic(store as unknown as SqlTables, new WrittenTraffic(), size);
      const crash = async () => {
        const next = `${folder.file}-${dead.push(store)}`;
        for (const end of ['', '-wal']) copyFileSync(file + end, next + end);
        file = next;
      };
      return { store, traffic, crash, books: await store.openBooks(now), close: () => store.close() };
    },
    async [Symbol.asyncDispose]() {
      for (const store of dead) await store.close().catch(() => {});
      folder[Symbol.dispose]();
    },
  };
};

test(`in SQLite ${LAW}`, async () => {
  await fc.assert(lawOf(laidInSqlite), tries(LAW, 1, 40));
});
