import { expect } from 'bun:test';
import { isShortage } from '../../src/ledger/available-funds.ts';
import { flaky } from '../store/support.ts';
import { BOB, EACH_KEY, EVERYONE, findingsOf } from './audit-support.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, journal, line, order, refused, terms } from './support.ts';

ledgerTest('the audit accepts a raise above the old limit after the limit was raised', async (folder) => {
  const { ledger } = await folder.open({ terms: terms(budget(100)) });
  const hold = await held(ledger, order(90));
  (await ledger.prepare(terms(budget(200))))();
  expect(await hold.raise([90])).toBe(true);
  hold.settle(line(180), () => []);
  await folder.prove();
});

ledgerTest('row numbers that were lost in a disk failure are not used again below the checkpoint', async (folder) => {
  let broken = false;
  const first = await folder.open({ wrap: (store) => flaky(store, () => broken) });
  await held(first.ledger, order(100));
  broken = true;
  await first.ledger.reserve(order(10)).catch(() => {});
  broken = false;
  // The checkpoint includes row 2, but the journal has only row 1.
  await first.ledger.close();
  await first.store.close();

  const second = await folder.open();
  expect(second.ledger.recovered).toMatchObject({ charged: 100 });
  // The process ends before its next checkpoint.
  await second.store.close();
  expect(await findingsOf(folder.file)).toEqual([]);

  const third = await folder.open();
  expect(third.ledger.recovered).toMatchObject({ ids: [], charged: 0 });
  expect((await third.ledger.status()).charged).toBe(100);
  await folder.prove();
});

ledgerTest(
  'a request that gets money from the queue during a change of budgets draws on the new budgets',
  async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const first = await held(ledger, order(100));
    const waiting = ledger.reserve(order(60, { waitMs: 5_000 }));
    const swap = await ledger.prepare(terms(budget(100), budget(50, { name: 'new' })));
    // The settlement and the swap happen in the same turn: the waiting request gets its money, and its row is not written yet.
    first.settle(null, () => []);
    swap();
    const second = await waiting;
    if (isShortage(second)) throw new Error('there was room');
    expect(await refused(ledger, order(1))).toMatchObject({ name: 'new', held: 60 });
    second.settle(line(60), () => []);
    const [fund] = (await ledger.status()).funds.filter(({ title }) => title.name === 'new');
    expect(fund?.spent).toBe(60);
    await ledger.close();
  },
);

ledgerTest('a post after the settlement writes no row', async (folder) => {
  const { ledger, store } = await folder.open({ terms: terms(EACH_KEY, EVERYONE) });
  const hold = await held(ledger, order(10, { caller: BOB }));
  hold.settle(null, () => []);
  hold.post(line(5));
  expect((await journal(store)).map(({ kind }) => kind)).toEqual(['reserve', 'settle']);
});
