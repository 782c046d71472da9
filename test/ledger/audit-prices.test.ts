import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { costOf, type Price } from '../../src/core/money/price.ts';
import { auditLedger } from '../../src/ledger/audit/run.ts';
import { sqliteJournal } from '../../src/store/sqlite/books/journal-reader.ts';
import { tempFolder } from '../store/support.ts';
import { held, line, NO_TERMS, open, order } from './support.ts';

const PRICE: Price = {
  lines: [
    { overInputTokens: 0, input: 2_500, cachedInput: 250, cacheWrite: 3_000, output: 10_000 },
    { overInputTokens: 1_000, input: 5_000, cachedInput: 500, cacheWrite: 6_000, output: 20_000 },
  ],
  perRequest: 7,
  divisor: 1_000,
};
const tariff = { model: 'm', provider: 'p', upstream: 'u', price: JSON.stringify(PRICE) };
const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  cachedInputTokens: Math.floor(inputTokens / 3),
  cacheWriteTokens: Math.floor(inputTokens / 7),
  outputTokens,
  reasoningTokens: 0,
});

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
  [`UPDATE journal SET output_tokens = output_tokens + 1 WHERE seq = 2`, 1],
  [`UPDATE journal SET cached_input_tokens = cached_input_tokens - 1 WHERE seq = 4`, 1],
  [`UPDATE journal SET amount = amount - 1 WHERE kind = 'overrun'`, 1],
])('the audit finds a charge that differs from the cost of its tokens: %s', async (sql, found) => {
  expect(await findingsAfter(sql)).toHaveLength(found);
});
