import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { ALL_TABLES } from '../../src/store/sqlite/open.ts';
import { BASELINE } from '../../src/store/sqlite/statement.ts';
import { expectUpgraded, FIRST_ID, FORMER_ENTRIES, FORMER_KEY, FORMER_PRICES } from './suites/former-journal.ts';
import { tempFolder } from './support.ts';

/** The tables of the first version. */
const FORMER_TABLES = ALL_TABLES.map((one) =>
  Object.keys(one.versions).length === 1 ? one : { ...one, versions: { [BASELINE]: one.versions[BASELINE]! } },
);

test('the keys of a database of the first version stay, and are no imported keys', async () => {
  using folder = tempFolder();
  await (await openSqlite(folder.file, FORMER_TABLES)).close();
  {
    using db = new Database(folder.file);
    db.run(FORMER_KEY, [new Uint8Array(32).fill(7)]);
  }
  const store = await openSqlite(folder.file, ALL_TABLES);
  expect((await store.keys.find('k'))?.key).toMatchObject({ importedHash: null, hash: new Uint8Array(32).fill(7) });
  await store.close();
});

test('a database of the first version is upgraded, and its charges keep their figures, each with the rate of its price', async () => {
  using folder = tempFolder();
  await (await openSqlite(folder.file, FORMER_TABLES)).close();
  {
    using db = new Database(folder.file);
    db.run(`INSERT INTO accounts (id, key_id, labels, selector) VALUES (1, 'key', '{}', 'auto')`);
    for (const price of FORMER_PRICES)
      db.run(`INSERT INTO tariffs (model, provider, upstream, price) VALUES ('m', 'p', 'u', ?)`, [price]);
    for (const [at, { kind, tariff, counts, note }] of FORMER_ENTRIES.entries())
      db.run(
        `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, input_tokens, cached_input_tokens, cache_write_tokens,
          output_tokens, reasoning_tokens, note) VALUES (?, ?, ?, 1, 10, 0, ?, ?, ?, ?, ?, ?, ?)`,
        [2 * at + 1, kind, FIRST_ID + at, tariff, ...(counts ?? [null, null, null, null, null]), note],
      );
  }
  const store = await openSqlite(folder.file, ALL_TABLES);
  expectUpgraded(await store.query({ sql: 'SELECT bill, note FROM journal ORDER BY seq' }));
  await store.close();
});
