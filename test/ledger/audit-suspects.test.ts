import { expect } from 'bun:test';
import { isShortage } from '../../src/ledger/available-funds.ts';
import { flaky } from '../store/support.ts';
import { BOB, EACH_KEY, EVERYONE, findingsOf } from './audit-support.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, journal, line, order, refused, terms } from './support.ts';

ledgerTest('a raise after a limit was raised is within the limit that the journal names', async (folder) => {
  const { ledger } = await folder.open({ terms: terms(budget(100)) });
  const hold = await held(ledger, order(90));
  (await ledger.prepare(terms(budget(200))))();
  expect(await hold.raise([90])).toBe(true);
  hold.settle(line(180), () => []);
  await folder.prove();
});

ledgerTest('numbers that no row got, for the disk failed, are not given again below the checkpoint', async (folder) => {
  let broken = false;
  const first = await folder.open({ wrap: (store) => flaky(store, () => broken) });
  await held(first.ledger, order(100));
  broken = true;
  await first.ledger.reserve(order(10)).catch(() => {});
  broken = false;
  // The checkpoint goes through row 2, and there is only row 1.
  await first.ledger.close();
  await first.store.close();

  const second = await folder.open();
  expect(second.ledger.recovered).toMatchObject({ charged: 100 });
  // It dies before its next checkpoint.
  await second.store.close();
  expect(await findingsOf(folder.file)).toEqual([]);

  const third = await folder.open();
  expect(third.ledger.recovered).toMatchObject({ ids: [], charged: 0 });
  expect((await third.ledger.status()).charged).toBe(100);
  await folder.prove();
});

ledgerTest(
  'a request that got money from a waiting line while the budgets changed draws on the new ones',
  async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const first = await held(ledger, order(100));
    const waiting = ledger.reserve(order(60, { waitMs: 5_000 }));
    const swap = await ledger.prepare(terms(budget(100), budget(50, { name: 'new' })));
    // Both in one turn: the waiter has its money, and its row is not written yet.
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

ledgerTest('a post after the end writes nothing', async (folder) => {
  const { ledger, store } = await folder.open({ terms: terms(EACH_KEY, EVERYONE) });
  const hold = await held(ledger, order(10, { caller: BOB }));
  hold.settle(null, () => []);
  hold.post(line(5));
  expect((await journal(store)).map(({ kind }) => kind)).toEqual(['reserve', 'settle']);
});
