import { expect, test } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import { budget, caller, keyBudgets, line, NOON, terms } from '../ledger/support.ts';
import { figuresOf, findingsIn, holdOn, ledgerOn, sharedBooks, spend, swap } from './ledgers.ts';

const DAY_MS = 86_400_000;
const each = ({ key }: { readonly key: { readonly id: string } }): string => key.id;

test('two servers that share their books together never spend more than a budget', async () => {
  const shared = sharedBooks();
  const daily = budget(1_000, { window: 'day' });
  const [one, other] = [await ledgerOn(shared, terms(daily)), await ledgerOn(shared, terms(daily))];
  let spent = 0;
  for (const ledger of [one, other, one, other]) {
    for (let more = 1; more > 0; spent += more) more = await spend(ledger, 33);
  }
  expect(spent).toBe(990);
  // Money that is held on one server is not available on the other.
  const hold = await holdOn(one, 8);
  expect([hold === null, await holdOn(other, 3)]).toEqual([false, null]);
  hold!.settle(line(2), () => []);
  for (const ledger of [one, other]) expect(await figuresOf(ledger)).toEqual({ 'all/': [1_000, 992, 0] });
  expect(await findingsIn(shared)).toEqual([]);
});

test('two servers also share the next window, whichever server starts it', async () => {
  const shared = sharedBooks();
  let now = NOON;
  const policy = terms(budget(100, { window: 'day', each }));
  const [one, other] = [await ledgerOn(shared, policy, () => now), await ledgerOn(shared, policy, () => now)];
  expect(await spend(one, 60)).toBe(60);
  now += DAY_MS;
  const id = { id: idAt(now) };
  expect(await spend(other, 70, id)).toBe(70);
  expect(await spend(one, 31, { id: id.id + 1 })).toBe(0);
  expect(await spend(one, 30, { id: id.id + 2 })).toBe(30);
  expect(await findingsIn(shared)).toEqual([]);
});

test('a budget that was removed and added again counts what was spent in between, on every server', async () => {
  const shared = sharedBooks();
  const all = budget(100);
  const [one, other] = [await ledgerOn(shared, terms(all)), await ledgerOn(shared, terms(all))];
  await spend(one, 20);
  await swap(one);
  expect(await spend(one, 500)).toBe(500);
  await swap(other);
  await spend(other, 7);
  await swap(one, budget(1_000));
  expect(await figuresOf(one)).toEqual({ 'all/': [1_000, 527, 0] });
  await swap(other, budget(1_000));
  expect(await figuresOf(other)).toEqual({ 'all/': [1_000, 527, 0] });
  expect(await spend(other, 474)).toBe(0);
  expect(await spend(one, 473)).toBe(473);
  expect(await findingsIn(shared)).toEqual([]);
});

test('before a renamed budget is active, it has counted all earlier charges; each request draws on the old or the new budget', async () => {
  const shared = sharedBooks();
  const old = budget(1_000, { name: 'old' });
  const ledger = await ledgerOn(shared, terms(old));
  const other = await ledgerOn(shared, terms(old));
  await spend(other, 10);
  const running = await holdOn(ledger, 100);
  const prepared = ledger.prepare(terms(budget(1_000, { name: 'new' })));
  // These charges happen while the budget is being counted, and after that.
  await spend(ledger, 20);
  const put = await prepared;
  await spend(ledger, 30);
  await spend(other, 40);
  put();
  expect(await figuresOf(ledger)).toEqual({ 'new/': [1_000, 100, 100] });
  running!.settle(line(50), () => []);
  expect(await figuresOf(ledger)).toEqual({ 'new/': [1_000, 150, 0] });
  // The second server still has the old policy, and its charges are counted in the new budget later.
  await spend(other, 5);
  await ledger.refresh();
  await other.refresh();
  expect(await figuresOf(ledger)).toEqual({ 'new/': [1_000, 155, 0] });
  expect(await figuresOf(other)).toEqual({ 'old/': [1_000, 155, 0] });
  expect(await findingsIn(shared)).toEqual([]);
});

test('two servers that know different keys together never spend more than the budget of a key', async () => {
  const shared = sharedBooks();
  const own = (limit: number) => [{ limit, window: 'month', timeZone: 'UTC', onExhausted: 'reject' }] as const;
  const keys = [
    { keyId: 'a', budgets: own(100) },
    { keyId: 'b', budgets: own(50) },
  ];
  const one = await ledgerOn(shared, terms(...keyBudgets(keys.slice(0, 1))));
  const other = await ledgerOn(shared, terms(...keyBudgets(keys)));
  const [a, b] = [{ caller: caller('a') }, { caller: caller('b') }];
  expect(await spend(one, 60, a)).toBe(60);
  expect(await spend(other, 41, a)).toBe(0);
  expect(await spend(other, 40, a)).toBe(40);
  expect(await spend(other, 30, b)).toBe(30);
  await swap(one, ...keyBudgets(keys));
  expect(await spend(one, 21, b)).toBe(0);
  expect(await spend(one, 20, b)).toBe(20);
  expect(await findingsIn(shared)).toEqual([]);
});
