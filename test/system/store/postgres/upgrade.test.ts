import { expect, test } from 'bun:test';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import { MIGRATION_BOUNDS, migrate } from '../../../../src/store/postgres/migrate.ts';
import { SCHEMA } from '../../../../src/store/postgres/schema/versions.ts';
import { BASELINE } from '../../../../src/store/sqlite/statement.ts';
import {
  expectUpgraded,
  FIRST_ID,
  FORMER_ENTRIES,
  FORMER_KEY,
  FORMER_PRICES,
} from '../../../store/suites/former-journal.ts';
import { freshDatabase } from '../../../support/shared-postgres.ts';

const ADD_TARIFF = `INSERT INTO tariffs (id, digest, model, provider, upstream, price)
  OVERRIDING SYSTEM VALUE VALUES ($1, int4send($1), 'm', 'p', 'u', $2)`;
const ADD_ENTRY = `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, input_tokens, cached_input_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, note) VALUES ($1, $2, $3, 1, 10, 0, $4, $5, $6, $7, $8, $9, $10)`;

test('a database of the first version is upgraded, and its charges keep their figures, each with the rate of its price', async () => {
  await using database = await freshDatabase();
  const connection = await Connection.open(addressOf(database.url), MIGRATION_BOUNDS);
  await migrate(connection, { [BASELINE]: SCHEMA[BASELINE]! }, 'first');
  for (const [at, price] of FORMER_PRICES.entries()) await connection.run(ADD_TARIFF, [at + 1, price]);
  for (const [at, { kind, tariff, counts, note }] of FORMER_ENTRIES.entries()) {
    const row = [2 * at + 1, kind, FIRST_ID + at, tariff, ...(counts ?? [null, null, null, null, null]), note];
    await connection.run(ADD_ENTRY, row);
  }
  await connection.run(FORMER_KEY.replace('?', '$'), [new Uint8Array(32)]);
  await migrate(connection, SCHEMA, 'next');
  expect((await connection.run('SELECT id, imported_hash FROM keys')).rows).toEqual([{ id: 'k', imported_hash: null }]);
  const { rows } = await connection.run<{ bill: string | null; note: string | null }>(
    'SELECT bill, note FROM journal ORDER BY seq',
  );
  expectUpgraded(rows);
  await connection.close();
});
