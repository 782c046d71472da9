import { expect, test } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import { budget, NO_TERMS, NOON, terms } from '../ledger/support.ts';
import { figuresOf, findingsIn, holdOn, ledgerOn, sharedBooks, spend, swap } from './ledgers.ts';

const DAY_MS = 86_400_000;

test('the value of a Credit is set once: a server with another value cannot open the ledger', async () => {
  const shared = sharedBooks();
  const one = await ledgerOn(shared, NO_TERMS);
  await expect(ledgerOn(shared, { ...NO_TERMS, usdPerCredit: '0.01' })).rejects.toThrow(
    'Another server has started this ledger with a different value of a Credit, so usd_per_credit cannot be 0.01.',
  );
  expect(await spend(one, 10)).toBe(10);
  await expect(ledgerOn(shared, { ...NO_TERMS, usdPerCredit: '0.01' })).rejects.toThrow(
    'The ledger has entries with a Credit worth 0.001 USD, so usd_per_credit cannot change to 0.01.',
  );
});

test('two servers that open empty books at the same time agree on the value of a Credit', async () => {
  const shared = sharedBooks();
  const worths = ['0.001', '0.01'].map((usdPerCredit) => ledgerOn(shared, { ...NO_TERMS, usdPerCredit }));
  const opened = await Promise.allSettled(worths);
  expect(opened.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('the limit of the newest policy also applies on servers that have not read it yet', async () => {
  const shared = sharedBooks();
  let now = NOON;
  const daily = (limit: number) => budget(limit, { window: 'day' });
  const [one, other] = [
    await ledgerOn(shared, terms(daily(100)), () => now),
    await ledgerOn(shared, terms(daily(100)), () => now),
  ];
  expect(await spend(one, 30)).toBe(30);
  await swap(other, daily(50));
  expect(await holdOn(one, 21)).toBeNull();
  expect(await spend(one, 20)).toBe(20);
  // The newest limit also applies in the next window, and if the older policy is prepared again, as after a change of keys.
  now += DAY_MS;
  await swap(one, daily(100));
  const at = (n: number) => ({ id: idAt(now) + n });
  expect(await holdOn(one, 51, at(0))).toBeNull();
  expect(await spend(one, 50, at(1))).toBe(50);
  expect(await figuresOf(one)).toEqual({ 'all/': [50, 50, 0] });
  // Once both servers have read the newest policy, either may change the limit.
  await swap(one, daily(50));
  await swap(one, daily(70));
  expect(await spend(other, 20, at(2))).toBe(20);
  expect(await spend(other, 1, at(3))).toBe(0);
  expect(await findingsIn(shared)).toEqual([]);
});
