import { describe, expect, test } from 'bun:test';
import type { KeyBudget } from '../../src/core/people/caller.ts';
import type { HolderBudgets, KeyLines } from '../../src/core/people/holder.ts';
import { holderBudgets } from '../../src/ledger/holder-budgets.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, fundsOf, spent } from './model/spending.ts';
import { budget, caller, held, keyBudgets, order, refused, terms } from './support.ts';

const month = (limit: number, over: Partial<KeyBudget> = {}): KeyBudget => ({
  limit,
  window: 'month',
  timeZone: 'UTC',
  onExhausted: 'reject',
  ...over,
});

describe('budgets of keys', () => {
  ledgerTest(
    'budgets of keys with the same window share one budget, with a limit for each key; they do not apply to other keys',
    async (folder) => {
      const budgets = keyBudgets([
        { keyId: 'a', budgets: [month(100)] },
        { keyId: 'b', budgets: [month(30), month(20)] },
      ]);
      expect(budgets.map(({ name }) => name)).toEqual(['key-month']);
      const { ledger } = await folder.open({ terms: terms(...budgets) });
      const [a, b, c] = [caller('a'), caller('b'), caller('c')];
      expect(await refused(ledger, order(101, { caller: a }))).toMatchObject({
        name: 'key-month',
        subject: 'a',
        limit: 100,
      });
      await held(ledger, order(100, { caller: a }));
      // If a key states the same window twice, the lower limit applies.
      expect(await refused(ledger, order(21, { caller: b }))).toMatchObject({ subject: 'b', limit: 20 });
      await held(ledger, order(20, { caller: b }));
      await held(ledger, order(1_000_000, { caller: c }));
    },
  );

  ledgerTest(
    'budgets with windows of a length share one budget if their windows are the same, and renew together',
    async (folder) => {
      const every = (from: number): KeyBudget => ({
        ...month(100),
        window: 'every',
        every: { seconds: 2 * 86_400, from: Date.UTC(2026, 10, from, 8) },
      });
      const all = ['a', 'b', 'c'].map((keyId, at) => ({ keyId, budgets: [every([10, 12, 11][at]!)] }));
      const budgets = keyBudgets(all);
      expect(budgets.map(({ limits }) => [...limits!.keys()])).toEqual([['a', 'b'], ['c']]);
      const opened = await folder.open({ terms: terms(...budgets) });
      await spent(opened, 60, { caller: caller('a') });
      expect(await refused(opened.ledger, order(41, { caller: caller('a') }))).toMatchObject({
        subject: 'a',
        limit: 100,
      });
      await held(opened.ledger, order(100, { caller: caller('c') }));
    },
  );

  test('budgets of keys with another window, time zone or action have different names', () => {
    const zone = { timeZone: 'Europe/Berlin' };
    const all = [month(1), month(2, { onExhausted: 'downgrade' }), month(3, zone), month(4, { window: 'day' })];
    expect(keyBudgets([{ keyId: 'a', budgets: all }]).map(({ name }) => name)).toEqual([
      'key-month',
      'key-month:downgrade',
      'key-month@Europe/Berlin',
      'key-day',
    ]);
  });

  ledgerTest(
    'a budget that a key gets later counts the earlier charges of the key, and other keys keep their sums',
    async (folder) => {
      const first = keyBudgets([{ keyId: 'a', budgets: [month(100)] }]);
      const opened = await folder.open({ terms: terms(...first) });
      await spent(opened, 40, { caller: caller('a') });
      await spent(opened, 60, { caller: caller('b') });
      const both = keyBudgets([
        { keyId: 'a', budgets: [month(90)] },
        { keyId: 'b', budgets: [month(70)] },
      ]);
      (await opened.ledger.prepare(terms(...both)))();
      expect((await fundsOf(opened)).sort()).toEqual([
        ['key-month', 'a', 90, 40, 0],
        ['key-month', 'b', 70, 60, 0],
      ]);
      // Budgets of keys are not budgets of the policy, so the policy cannot rename them.
      expect(opened.ledger.state().budgets).toEqual([]);
    },
  );
});

/** A key that another key made, in the team search, of the user Ada. */
const LINES: KeyLines = {
  lineOf: (id) => (id === 'child' ? ['root'] : []),
  linesOf: async () => (id) => (id === 'child' ? ['root'] : []),
  descendantsOf: async (id) => (id === 'root' ? ['child'] : []),
};
const ROOT = { ...caller('root'), team: 'search', user: 'ada' };
const CHILD = { ...caller('child'), team: 'search', user: 'ada', line: ['root'] };
const BOB = { ...caller('bob'), team: 'search' };

const holder = (kind: HolderBudgets['kind'], id: string, limit: number): HolderBudgets => ({
  ...{ kind, id, budgets: [month(limit)] },
});

describe('budgets of levels', () => {
  ledgerTest(
    'a request draws on the budgets of all levels or on none, and the sums survive a restart',
    async (folder) => {
      const all = [
        holder('organization', '', 1_000),
        holder('team', 'search', 500),
        holder('user', 'ada', 300),
        holder('key', 'root', 200),
        holder('key', 'child', 100),
      ];
      const options = { terms: terms(...holderBudgets(all, LINES)) };
      const opened = await folder.open(options);
      await spent(opened, 60, { caller: CHILD });
      await spent(opened, 90, { caller: ROOT });
      await spent(opened, 120, { caller: BOB });
      const figures = [
        ['organization-month', '', 1_000, 270, 0],
        ['team-month', 'search', 500, 270, 0],
        ['user-month', 'ada', 300, 150, 0],
        ['key-month', 'root', 200, 150, 0],
        ['key-month', 'child', 100, 60, 0],
      ];
      expect(await fundsOf(opened)).toEqual(figures);
      expect(await refused(opened.ledger, order(41, { caller: CHILD }))).toMatchObject({
        ...{ name: 'key-month', subject: 'child', level: 'key', limit: 100, spent: 60 },
      });
      await spent(opened, 50, { caller: ROOT });
      expect(await refused(opened.ledger, order(1, { caller: CHILD }))).toMatchObject({ subject: 'root', spent: 200 });
      expect(await refused(opened.ledger, order(301, { caller: BOB }))).toMatchObject({
        ...{ name: 'team-month', subject: 'search', level: 'team' },
      });
      const before = await fundsOf(opened);
      await opened.store.close();
      const again = await folder.open(options);
      expect(await fundsOf(again)).toEqual(before);
    },
  );

  ledgerTest('a budget that a level gets later counts what any of its keys has spent', async (folder) => {
    const opened = await folder.open({ terms: terms() });
    await spent(opened, 60, { caller: CHILD });
    await spent(opened, 90, { caller: ROOT });
    await spent(opened, 120, { caller: BOB });
    const put = async (...holders: HolderBudgets[]) =>
      (await opened.ledger.prepare(terms(...holderBudgets(holders, LINES))))();
    await put(holder('team', 'search', 500), holder('key', 'root', 200));
    const first = [
      ['team-month', 'search', 500, 270, 0],
      ['key-month', 'root', 200, 150, 0],
    ];
    expect(await fundsOf(opened)).toEqual(first);
    // Other holders have the same budget already. A holder that lost its budget in between keeps what it has spent.
    await put(holder('team', 'other', 500), holder('key', 'bob', 900));
    await spent(opened, 10, { caller: CHILD });
    await put(holder('team', 'search', 500), holder('key', 'bob', 900), holder('key', 'root', 200));
    expect((await fundsOf(opened)).sort()).toEqual([
      ['key-month', 'bob', 900, 120, 0],
      ['key-month', 'root', 200, 160, 0],
      ['team-month', 'search', 500, 280, 0],
    ]);
  });

  ledgerTest('a key without a balance spends the balance of its nearest parent key', async (folder) => {
    const opened = await folder.open({ terms: terms() });
    const grant = async (keyId: string, amount: number) => {
      await adjust(folder.file, { kind: 'grant', keyId, amount });
      await opened.ledger.refresh();
    };
    await grant('root', 100);
    await spent(opened, 70, { caller: CHILD });
    expect(await refused(opened.ledger, order(31, { caller: CHILD }))).toMatchObject({ kind: 'balance', name: 'root' });
    expect(await refused(opened.ledger, order(31, { caller: ROOT }))).toMatchObject({ kind: 'balance', spent: 70 });
    // A child key that gets Credits from an operator spends its own balance.
    await grant('child', 50);
    await spent(opened, 40, { caller: CHILD });
    expect(opened.ledger.balanceOf('root')).toMatchObject({ spent: 70, limit: 100 });
    expect(opened.ledger.balanceOf('child')).toMatchObject({ spent: 40, limit: 50 });
  });

  ledgerTest(
    'a request of a child key draws once on the share of each parent key in the budgets of the policy',
    async (folder) => {
      const all = [
        budget(300, { name: 'all' }),
        budget(100, { name: 'each', each: ({ key }) => key.id }),
        budget(200, { name: 'labelled', each: ({ key }) => key.labels.get('team') ?? '' }),
        budget(150, { name: 'of-root', match: ({ key }) => key.id === 'root' }),
      ];
      const options = { terms: terms(...all), lines: LINES };
      const opened = await folder.open(options);
      const labels = { team: 'search' };
      await spent(opened, 60, { caller: { ...CHILD, labels } });
      await spent(opened, 30, { caller: { ...ROOT, labels } });
      const figures = [
        ['all', '', 300, 90, 0],
        ['each', 'child', 100, 60, 0],
        ['each', 'root', 100, 90, 0],
        ['labelled', 'search', 200, 90, 0],
        ['of-root', '', 150, 90, 0],
      ];
      expect((await fundsOf(opened)).sort()).toEqual(figures);
      // The key's own share would be enough.
      expect(await refused(opened.ledger, order(11, { caller: { ...CHILD, labels } }))).toMatchObject({
        ...{ name: 'each', subject: 'root', spent: 90 },
      });
      await opened.store.close();
      expect((await fundsOf(await folder.open(options))).sort()).toEqual(figures);
    },
  );
});
