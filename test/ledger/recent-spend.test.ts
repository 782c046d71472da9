import { expect } from 'bun:test';
import { fundStatus, usesOf } from '../../src/admin/use-cases/ledger/status.ts';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import { ledgerTest } from './books-test.ts';
import { budget, caller, held, line, NOON, type Opened, order, terms } from './support.ts';

const HOUR_MS = 3_600_000;
const each: Budget['each'] = ({ key }) => key.id;

/** Charges a key for a request that began some hours after noon. */
async function spend({ ledger }: Opened, key: string, cost: number, hours: number): Promise<void> {
  const hold = await held(ledger, order(cost, { id: idAt(NOON + hours * HOUR_MS) + cost, caller: caller(key) }));
  hold.settle(line(cost), () => []);
}

/** Returns the charges of the last 24 hours and the forecast of each fund. */
async function forecasts({ ledger }: Opened, now: number) {
  await ledger.readRecent();
  const { funds } = await ledger.status();
  const shown = usesOf(ledger, funds).map((use) => {
    return [[use.title.name, use.title.subject].join(' '), use.recent, fundStatus(use, now).forecast] as const;
  });
  return Object.fromEntries(shown.map(([name, recent, forecast]) => [name, [recent, forecast] as const]));
}

ledgerTest(
  'each fund is forecast from what its own requests were charged in the last 24 hours, after a restart as well',
  async (folder) => {
    let now = NOON;
    const all = budget(1_000_000, { name: 'all' });
    const options = { now: () => now, terms: terms(all, budget(1_000_000, { name: 'each', each })) };
    const opened = await folder.open(options);
    await spend(opened, 'a', 400, 0);
    now += 30 * HOUR_MS;
    await spend(opened, 'a', 10, 29);
    await spend(opened, 'b', 100, 29);
    // It is Saturday, 18:00: 498 hours of the month are over, and 222 are left.
    const left = 222 / 24;
    const expected: Awaited<ReturnType<typeof forecasts>> = {
      'all ': [110, Math.round(510 + 110 * left)],
      'each a': [10, Math.round((410 * 720) / 498)],
      'each b': [100, Math.round(100 + 100 * left)],
    };
    expect(await forecasts(opened, now)).toEqual(expected);
    await opened.ledger.close();
    await opened.store.close();
    const again = await folder.open(options);
    expect(again.ledger.recentSpend({ ...all, subject: '' })).toBeNull();
    expect(await forecasts(again, now)).toEqual(expected);
    // Charges that are older than a day no longer count.
    now += 30 * HOUR_MS;
    expect((await forecasts(again, now))['all ']?.[0]).toBe(0);
    await folder.prove();
  },
);

ledgerTest('a budget of a key is forecast from the last 24 hours as well', async (folder) => {
  const now = NOON;
  const opened = await folder.open({ now: () => now, terms: terms() });
  await spend(opened, 'a', 300, 0);
  await opened.ledger.written();
  const month = { limit: 1_000_000, window: 'month', timeZone: 'UTC', onExhausted: 'reject' } as const;
  const [use] = await opened.ledger.budgetUses({ kind: 'key', id: 'a' }, [month]);
  expect(use?.forecast.expected).toBe(Math.round(300 + 300 * 10.5));
});
