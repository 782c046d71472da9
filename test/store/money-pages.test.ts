import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { sql, write } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { tries } from '../deep/effort.ts';
import { temporaryFolder } from '../support/signalbox.ts';

/** An export reads the journal in limited searches, because a running server reads it, too. */

const folder = temporaryFolder();
let store: Awaited<ReturnType<typeof openSqlite>>;
beforeAll(async () => {
  store = await openSqlite(join(folder, 'signalbox.db'), ALL_TABLES);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const CLEAR = sql('DELETE FROM journal');
const INSERT = sql(`INSERT INTO journal (seq, kind, account, amount, time)
  SELECT value, 'grant', 0, value, 1 FROM json_each(?)`);
const ALL = { from: 0, to: Number.POSITIVE_INFINITY, keyId: null, model: null };

/** Numbers of rows: runs of rows next to each other, with gaps of any size between them, as damage leaves them. */
const numbers = fc
  .array(fc.tuple(fc.integer({ min: -1e12, max: 1e12 }), fc.integer({ min: 1, max: 2_500 })), { maxLength: 4 })
  .map((runs) => [...new Set(runs.flatMap(([first, count]) => Array.from({ length: count }, (_, at) => first + at)))]);

const LAW = 'the pages of an export have each entry of the journal once and in order, whatever the numbers of its rows';

test(LAW, async () => {
  await fc.assert(
    fc.asyncProperty(numbers, async (seqs) => {
      await store.commit([write(CLEAR), write(INSERT, JSON.stringify(seqs))]);
      const pages = await Array.fromAsync(store.journal.money(ALL));
      const wanted = seqs.filter((seq) => seq !== 0).toSorted((one, other) => one - other);
      expect(pages.flat().map(({ amount }) => amount)).toEqual(wanted);
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(2_000);
    }),
    tries(LAW, 20, 500),
  );
});
