import { expect } from 'bun:test';
import { grantWrite } from '../../src/store/sqlite/books/ledger-table.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { StoreError } from '../../src/store/store.ts';
import { flaky } from '../store/support.ts';
import { ledgerTest } from './books-test.ts';
import { fundsOf } from './model/spending.ts';
import { NOON } from './support.ts';

ledgerTest('a grant by this server is applied at the next poll, even if the first poll failed', async (folder) => {
  let isBusy = false;
  const busy = (store: SqlStore): SqlStore => ({
    ...flaky(store),
    query: (statement, params) =>
      isBusy ? Promise.reject(new StoreError('the database is busy')) : store.query(statement, params),
  });
  const opened = await folder.open({ wrap: busy });
  await opened.store.commit([grantWrite('key', 100, '', NOON)]);
  isBusy = true;
  expect(await opened.ledger.refresh().catch(() => 'failed')).toBe('failed');
  isBusy = false;
  // The periodic refresh. The refresh has no other effect.
  await opened.ledger.refresh();
  expect(await fundsOf(opened)).toEqual([['key', '', 100, 0, 0]]);
});
