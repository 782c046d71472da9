import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { priceText } from '../../src/core/accounting/stored-price.ts';
import { costOf, type Price, priceLine } from '../../src/core/money/price.ts';
import { PART_UNITS } from '../../src/core/money/units.ts';
import type { Usage } from '../../src/core/money/usage.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { sqliteJournal } from '../../src/store/sqlite/books/journal-reader.ts';
import { tempFolder } from '../store/support.ts';
import { dividedUsage } from '../support/money.ts';
import { held, line, NO_TERMS, open, order } from './support.ts';

/** Each unit has another rate. */
const ratesFrom = (rate: number) => ({
  ...Object.fromEntries(PART_UNITS.map((unit, at) => [unit, rate + 100 * (at + 1)])),
  ...{ input: rate, output: 4 * rate, request: 7, 'tool_use/web_search': 9 },
});
const PRICE: Price = { lines: [priceLine(0, ratesFrom(2_500)), priceLine(1_000, ratesFrom(5_000))], divisor: 1_000 };
const tariff = { model: 'm', provider: 'p', upstream: 'u', price: priceText(PRICE) };
const usage = (inputTokens: number, outputTokens: number): Usage => {
  const shares = Object.fromEntries(PART_UNITS.map((unit) => [unit, 0.2]));
  const divided = dividedUsage(inputTokens, outputTokens, shares, () => true);
  return { ...divided, units: { ...divided.units, 'tool_use/web_search': 2 } };
};

/** A ledger with charges at both price tiers, a charge that exceeds its reservation, and a charge with an impossible usage. */
async function books(file: string) {
  const { ledger, store } = await open(file, { terms: NO_TERMS });
  for (const used of [usage(100, 50), usage(1_000, 1), usage(1_001, 3), usage(5_000, 900)]) {
    const hold = await held(ledger, order(30_000));
    hold.settle(line(costOf(PRICE, used), { tariff, usage: used }), () => []);
  }
  const absurd = { ...usage(1, 1), inputTokens: -5 };
  (await held(ledger, order(500))).settle(line(500, { tariff, usage: absurd }), () => []);
  await ledger.close();
  return store;
}

async function findingsAfter(sql: string): Promise<string[]> {
  using folder = tempFolder();
  const store = await books(folder.file);
  const db = new Database(folder.file);
  if (sql !== '') db.run(sql);
  db.close();
  const audit = await auditLedger(sqliteJournal(store), { idle: true });
  expect(audit.unpriced).toBe(1);
  await store.close();
  return audit.findings.filter(({ kind }) => kind === 'wrong_cost').map(({ message }) => message);
}

test('every charge plus its overrun equals the cost computed from the tokens and the price', async () => {
  expect(await findingsAfter('')).toEqual([]);
});

test.each([
  [`UPDATE tariffs SET price = replace(price, '10000', '12000')`, 2],
  [`UPDATE journal SET bill = json_set(bill, '$.output', (bill ->> '$.output') + 1) WHERE seq = 2`, 1],
  [
    `UPDATE journal SET bill = json_set(bill, '$.units.cached_input', (bill ->> '$.units.cached_input') - 100) WHERE seq = 4`,
    1,
  ],
  [
    `UPDATE journal SET bill = json_set(bill, '$.rates.cached_input', (bill ->> '$.rates.cached_input') - 1) WHERE seq = 4`,
    1,
  ],
  [`UPDATE journal SET bill = json_set(bill, '$.divisor', 10) WHERE seq = 4`, 1],
  [`UPDATE journal SET bill = json_set(bill, '$.over', 1000) WHERE seq = 4`, 1],
  [`UPDATE journal SET amount = amount - 1 WHERE kind = 'overrun'`, 1],
])('the audit finds a charge that differs from the cost of its tokens: %s', async (sql, found) => {
  expect(await findingsAfter(sql)).toHaveLength(found);
});
