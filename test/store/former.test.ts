import { expect, test } from 'bun:test';
import { BillWriter } from '../../src/core/accounting/bill.ts';
import { priceText, readPrice } from '../../src/core/accounting/stored-price.ts';
import { priceLine } from '../../src/core/money/price.ts';
import { replayedAnswer } from '../../src/gateway/exchange/replayed-answer.ts';
import { decodeCall, settledBy } from '../../src/store/postgres/books/kept-ops.ts';
import { decodeBody, encodeBody } from '../../src/store/sql/records/body.ts';
import { OPERATION, opsOf } from '../../src/store/sqlite/books/spooled-ops.ts';
import { record } from '../gateway/records/support.ts';
import { facts } from '../routing/build.ts';

/** What builds before version 31 of the ledger's tables have stored outside of its journal: figures stay the same when it is read. */

const FORMER = {
  ...{ inputTokens: 1_000, cachedInputTokens: 300, cacheWriteTokens: 200, outputTokens: 20, reasoningTokens: 4 },
  addOns: { hourCacheTokens: 150, toolUses: { web_search: 2 } },
};
const USAGE = {
  ...{ inputTokens: 1_000, outputTokens: 20, reasoningTokens: 4 },
  units: { cached_input: 300, cache_write: 50, cache_write_1h: 150, 'tool_use/web_search': 2 },
};
const FORMER_PRICE =
  '{"lines":[{"overInputTokens":0,"input":2,"cachedInput":1,"cacheWrite":3,"hourCacheWrite":4,"output":9}],"perRequest":7,"toolUses":{"web_search":5},"divisor":10}';
const PRICE = {
  lines: [
    priceLine(0, {
      ...{ input: 2, cached_input: 1, cache_write: 3, cache_write_1h: 4, output: 9 },
      ...{ request: 7, 'tool_use/web_search': 5 },
    }),
  ],
  divisor: 10,
} as const;

test('a price is read in both forms', () => {
  expect(readPrice(FORMER_PRICE)).toEqual(PRICE);
  expect(readPrice(priceText(PRICE))).toEqual(PRICE);
  for (const text of ['', '{}', '{"lines":[],"divisor":1}', '{"lines":[{"over":0,"rates":{"input":-1}}],"divisor":1}'])
    expect(readPrice(text)).toBeNull();
});

test('the record of a decision has its usage, and what its request asked for', () => {
  const addOns = { units: ['cache_write_1h'] as const, toolUses: { web_search: 2 }, rereadings: 2, unpriced: [] };
  const outcome = {
    ...({ status: 'completed', error: null } as const),
    ...{ attempts: [], usage: USAGE, estimated: false, charged: 1, saved: 0 },
    ...{ firstPartMs: null, totalMs: 1, cappedBy: null, usageReplaced: false },
  };
  const body = record(1, 5, { outcome, facts: facts({ addOns }) });
  const text = encodeBody(body)
    .replace(
      JSON.stringify([1_000, 0, 0, 20, 4, null, USAGE.units]),
      JSON.stringify([1_000, 300, 200, 20, 4, FORMER.addOns]),
    )
    .replace('"units":["cache_write_1h"]', '"hourCache":true');
  expect(text).toContain('[1000,300,200,20,4,{"hourCacheTokens":150');
  expect(text).toContain('"hourCache":true');
  expect(decodeBody(text)).toEqual(decodeBody(encodeBody(body)));
  expect(decodeBody(text)).toMatchObject({ outcome: { usage: USAGE }, facts: { addOns } });
});

test('a stored answer has its usage', () => {
  const receipt = { usage: FORMER, platform: { routed_model: 'm', attempts: [] }, saved: 0 };
  const end = { created: 1, model: 'm', receipt, error: null };
  const batch = [{ type: 'usage', usage: FORMER }];
  const answer = replayedAnswer(1, `${JSON.stringify(batch)}\n${JSON.stringify(end)}`);
  expect(answer?.receipt?.usage).toEqual(USAGE);
  expect(answer?.read()).toEqual([{ type: 'usage', usage: USAGE }]);
});

const TARIFF = { model: 'm', provider: 'p', upstream: 'u', price: FORMER_PRICE };

test('a settlement in the spool of SQLite has its bill', () => {
  const op = { kind: 'settle' as const, reservation: 1, amount: 9, at: 5, tariff: TARIFF, step: null, holder: null };
  const note = JSON.stringify(FORMER.addOns);
  const read = (more: object) => opsOf([{ name: OPERATION, params: [JSON.stringify({ ...op, ...more })] }]);
  expect(read({ usage: [1_000, 300, 200, 20, 4, 1], note })).toEqual([
    { ...op, bill: new BillWriter(PRICE).text(USAGE), estimated: 1, note: null },
  ]);
  expect(read({ kind: 'expire', tariff: null, usage: [], note: null })).toMatchObject([
    { bill: null, estimated: null },
  ]);
});

test('a settlement in the spool of PostgreSQL has its usage', () => {
  const entry = { tariff: TARIFF, usage: FORMER, estimated: true, cost: 9 };
  const unit = [{ name: 'op', params: [JSON.stringify({ kind: 'settle', id: 1, at: 5, most: 9, entry })] }];
  expect(decodeCall(unit, []).ops).toMatchObject([{ entry: { ...entry, usage: USAGE } }]);
  expect(settledBy([unit])).toEqual(new Map([[1, 9]]));
});
