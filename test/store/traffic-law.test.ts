import { test } from 'bun:test';
import fc from 'fast-check';
import { openStore } from '../../src/store/open.ts';
import { WrittenTraffic } from '../../src/store/record-traffic.ts';
import type { SqlTables } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { sqliteRecordLog } from '../../src/store/sqlite/records/log.ts';
import { sqliteTraffic } from '../../src/store/sqlite/traffic/table.ts';
import { tries } from '../deep/effort.ts';
import { layStore } from '../support/empty-store.ts';
import { tempFolder } from './support.ts';
import { countsRightly, type History, histories } from './traffic-history.ts';
import { pausing } from './traffic-support.ts';

/** Runs a history in a folder with two counters: a server that remembers the records it wrote, and another process that reads them. */
async function holds(history: History): Promise<boolean> {
  using folder = tempFolder();
  await layStore(folder.file);
  const store = await openStore(folder.file, { mode: 'serve' });
  const db = await openSqlite(folder.file, ALL_TABLES, { asItIs: true });
  try {
    const own = store as unknown as SqlTables;
    const written = new WrittenTraffic();
    return await countsRightly(history, {
      counters: [sqliteTraffic(own, written), sqliteTraffic(pausing(db))],
      log: sqliteRecordLog(own, written),
      prepare: (writes) => db.commit(writes),
      write: (write) => store.commit([write]),
      written: async () => {},
    });
  } finally {
    await db.close();
    await store.close();
  }
}

const law = fc.asyncProperty(histories, holds);
const NAME =
  'traffic buckets equal a count over records and journal, in any order of writing and with any counting process';

test(NAME, async () => {
  await fc.assert(law, tries(NAME, 1, 40));
});
