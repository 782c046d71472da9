import { describe, expect, test } from 'bun:test';
import type { KeyBudget } from '../../src/core/caller.ts';
import { keyBudgets } from '../../src/ledger/holder-budgets.ts';
import { ledgerTest } from './books-test.ts';
import { fundsOf, spent } from './model/spending.ts';
import { caller, held, order, refused, terms } from './support.ts';

const month = (limit: number, over: Partial<KeyBudget> = {}): KeyBudget => ({
  limit,
  window: 'month',
  timeZone: 'UTC',
  onExhausted: 'reject',
  ...over,
});

describe('budgets of keys', () => {
  ledgerTest(
    'that are alike make one, with a window and a limit for each key; others apply to no key',
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
      // Of two alike the lower counts.
      expect(await refused(ledger, order(21, { caller: b }))).toMatchObject({ subject: 'b', limit: 20 });
      await held(ledger, order(20, { caller: b }));
      await held(ledger, order(1_000_000, { caller: c }));
    },
  );

  test('of another window, zone or manner have different names', () => {
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
    'that a key comes to have are counted from its entries, and the other keys keep theirs',
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
      // They are no budgets of the policy, which could rename them.
      expect(opened.ledger.state().budgets).toEqual([]);
    },
  );
});
