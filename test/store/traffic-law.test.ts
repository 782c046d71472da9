import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openStore } from '../../src/store/open.ts';
import type { SqlTables } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { sqliteRecordLog } from '../../src/store/sqlite/records/log.ts';
import { sqliteTraffic } from '../../src/store/sqlite/traffic/table.ts';
import { someOf, tries } from '../deep/effort.ts';
import { layStore } from '../support/empty-store.ts';
import { tempFolder } from './support.ts';
import { countsRightly, type History, histories } from './traffic-history.ts';
import { type Mutation, mutated } from './traffic-support.ts';

/** In a folder with two counters: a server, and a process beside it. */
async function holds(history: History, mutation: Mutation): Promise<boolean> {
  using folder = tempFolder();
  await layStore(folder.file);
  const store = await openStore(folder.file, { mode: 'serve' });
  const db = await openSqlite(folder.file, ALL_TABLES, { asItIs: true });
  try {
    const own = mutated(store as unknown as SqlTables, mutation);
    return await countsRightly(history, {
      counters: [sqliteTraffic(own), sqliteTraffic(mutated(db, mutation, true))],
      log: sqliteRecordLog(own),
      prepare: (writes) => db.commit(writes),
      write: (write) => store.commit([write]),
      written: async () => {},
    });
  } finally {
    await db.close();
    await store.close();
  }
}

const lawOf = (mutation: Mutation) => fc.asyncProperty(histories, (history) => holds(history, mutation));
const NAME = 'buckets of traffic are a count over records and journal, in whatever order these come and whoever counts';

test(NAME, async () => {
  await fc.assert(lawOf({}), tries(NAME, 3, 1_000));
}, 3_600_000);

const MUTANTS: Readonly<Record<string, Mutation>> = {
  'counts though another has counted': {
    ' WHERE version = $version': '',
    'INSERT INTO traffic_waiting': 'INSERT OR IGNORE INTO traffic_waiting',
  },
  'does not wait for the record of a charge': {
    'VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)': 'SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE false',
  },
  'forgets the key of a charge that waits': { 'SELECT seq, id, key_id AS key': `SELECT seq, id, '' AS key` },
  'sums up another figure': { 'sum(t.output) AS output': 'sum(t.input) AS output' },
  'leaves refunds out': { ", 'correct') AND j.amount": ') AND j.amount' },
  'takes a last row twice': { 'WHERE r.seq BETWEEN ?1 AND ?2': 'WHERE r.seq BETWEEN ?1 - 1 AND ?2' },
  'keeps old buckets when it counts again': {
    'SELECT 1 AS one FROM traffic WHERE width = ?1 AND bucket >= ?2': 'SELECT 1 AS one FROM traffic WHERE 0 * ?1 * ?2',
  },
  'forgets how far records were numbered': {
    'records_through = min(records_through, ': 'records_through = max(records_through, ',
  },
};

for (const [name, mutation] of someOf(Object.entries(MUTANTS))) {
  test(`a count that ${name} is found`, async () => {
    const { errorInstance, counterexample } = await fc.check(lawOf(mutation), {
      ...{ numRuns: 150, seed: 7, endOnFailure: true },
    });
    // Not by an error of SQL, and not where the count itself is wrong.
    expect(String(errorInstance)).toContain('returning false');
    expect(await holds(counterexample![0], {})).toBe(true);
  }, 600_000);
}
