import { expect, test } from 'bun:test';
import { openKeys } from '../../src/access/keys.ts';
import { KEY_COMMANDS } from '../../src/admin/keys.ts';
import { operatorAs } from '../../src/admin/use-cases/principal.ts';
import { operationRoutes } from '../../src/http/kit/operations.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { MORNING } from '../access/support.ts';
import { tempFolder } from '../store/support.ts';

test('a stored grant is reported as done, even if the ledger cannot be read at that moment', async () => {
  using folder = tempFolder();
  const store = await openSqlite(folder.file, [accessMigrations, ledgerMigrations]);
  const keys = await openKeys({ store, now: () => MORNING });
  const { info } = await keys.create({ name: 'a', scopes: ['chat'] });
  const ledger = {
    refresh: () => Promise.reject(new Error('the database is busy')),
    budgetUses: async () => [],
    balanceOf: () => null,
  };
  const principalOf = () => operatorAs({ kind: 'key', name: 'ops', requestId: 'req_1' });
  // The operation uses only this part of the server.
  const lease = () => ({ snapshot: { usdPerCredit: '0.001' } });
  const services = {
    gateway: { now: () => MORNING, lease },
    ...{ principalOf, repeatChecks: new Map(), keys, store },
    checkLedger: async () => {},
    refresh: ledger.refresh,
    fundsOf: async () => ({ uses: await ledger.budgetUses(), balance: ledger.balanceOf(), usdPerCredit: null }),
  };
  const app = operationRoutes('keys', KEY_COMMANDS, services as never);
  const answer = await app.handle(
    new Request(`http://localhost/admin/keys/${info.id}/grant`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"credits":5}',
    }),
  );
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ id: info.id });
  expect((await keys.trail({ keyId: info.id, limit: 5 }))[0]).toMatchObject({ action: 'grant' });
  keys.close();
  await store.close();
});
