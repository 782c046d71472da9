import { expect } from 'bun:test';
import { type Bill, readBill } from '../../../src/core/accounting/bill.ts';
import { idAt } from '../../../src/core/id.ts';

/** A journal as builds before version 31 of the tables stored it: a column for each count, and add-ons in the note. */

const NOON = Date.UTC(2026, 10, 20, 12);
export const FIRST_ID = idAt(NOON);

const LINE = { overInputTokens: 0, input: 2_500, cachedInput: 250, cacheWrite: 3_000, output: 10_000 };
const LONG = { overInputTokens: 1_000, input: 5_000, cachedInput: 500, cacheWrite: 6_000, output: 20_000 };
const PRICES = {
  plain: { lines: [LINE], perRequest: 0, divisor: 1_000, tier: null, pricedAt: null },
  full: {
    lines: [
      { ...LINE, hourCacheWrite: 4_000 },
      { ...LONG, hourCacheWrite: 8_000 },
    ],
    ...{ perRequest: 7, toolUses: { web_search: 90_000, 'a.b "c"': 5 }, divisor: 7, tier: null, pricedAt: null },
  },
  none: {},
};
/** The prices of the tariffs, whose IDs are the positions from 1. */
export const FORMER_PRICES: readonly string[] = Object.values(PRICES).map((price) => JSON.stringify(price));

interface FormerEntry {
  readonly kind: string;
  readonly tariff: 1 | 2 | 3 | null;
  /** Input, and its cached and written parts, output, and its hidden reasoning; null for entries that are no charge of an attempt. */
  readonly counts: readonly [number, number, number, number, number] | null;
  readonly note: string | null;
  /** The bill after the upgrade. */
  readonly bill: Bill | null;
}

const lines = (...all: readonly (readonly [unit: string, amount: number, rate: number | null])[]) =>
  all.map(([unit, amount, rate]) => ({ unit, amount, rate }));

/** The entries, whose numbers are the odd numbers from 1. */
export const FORMER_ENTRIES: readonly FormerEntry[] = [
  { kind: 'reserve', tariff: null, counts: null, note: 'wallet', bill: null },
  {
    ...{ kind: 'settle', tariff: 1, counts: [900, 0, 0, 20, 4], note: null },
    bill: {
      ...{ input: 900, output: 20, reasoning: 4, over: 0, divisor: 1_000, tier: null, pricedAt: null },
      lines: lines(['input', 900, 2_500], ['output', 20, 10_000]),
    },
  },
  {
    ...{ kind: 'post', tariff: 2, counts: [1_000, 300, 200, 20, 0] },
    note: '{"hourCacheTokens":150,"toolUses":{"web_search":2,"a.b \\"c\\"":3,"unpriced":1}}',
    bill: {
      ...{ input: 1_000, output: 20, reasoning: 0, over: 0, divisor: 7, tier: null, pricedAt: null },
      lines: lines(
        ...([
          ['input', 500, 2_500],
          ['output', 20, 10_000],
          ['cached_input', 300, 250],
          ['cache_write', 50, 3_000],
        ] as const),
        ...([
          ['cache_write_1h', 150, 4_000],
          ['tool_use/web_search', 2, 90_000],
          ['tool_use/a.b "c"', 3, 5],
        ] as const),
        ...([
          ['tool_use/unpriced', 1, 0],
          ['request', 1, 7],
        ] as const),
      ),
    },
  },
  {
    ...{ kind: 'settle', tariff: 2, counts: [1_001, 1_001, 0, 1, 0], note: '{"hourCacheTokens":0}' },
    bill: {
      ...{ input: 1_001, output: 1, reasoning: 0, over: 1_000, divisor: 7, tier: null, pricedAt: null },
      lines: lines(['output', 1, 20_000], ['cached_input', 1_001, 500], ['request', 1, 7]),
    },
  },
  { kind: 'overrun', tariff: 2, counts: [0, 0, 0, 0, 0], note: null, bill: null },
  {
    ...{ kind: 'settle', tariff: 3, counts: [9, 4, 0, 2, 1], note: null },
    bill: {
      ...{ input: 9, output: 2, reasoning: 1, over: null, divisor: null, tier: null, pricedAt: null },
      lines: lines(['input', 5, null], ['output', 2, null], ['cached_input', 4, null]),
    },
  },
  {
    ...{ kind: 'settle', tariff: 1, counts: [0, 0, 0, 0, 0], note: null },
    bill: { input: 0, output: 0, reasoning: 0, over: 0, divisor: 1_000, tier: null, pricedAt: null, lines: [] },
  },
  { kind: 'settle', tariff: null, counts: null, note: null, bill: null },
  { kind: 'correct', tariff: null, counts: null, note: 'a bad answer', bill: null },
];

/** Compares the journal after the upgrade. @param rows all rows in their order, with `bill` and `note` */
export function expectUpgraded(rows: readonly { readonly bill: string | null; readonly note: string | null }[]): void {
  expect(rows.map(({ bill }) => readBill(bill))).toEqual(FORMER_ENTRIES.map(({ bill }) => bill));
  const isCharge = ({ kind }: FormerEntry) => kind === 'post' || kind === 'settle';
  expect(rows.map(({ note }) => note)).toEqual(FORMER_ENTRIES.map((one) => (isCharge(one) ? null : one.note)));
}

/** Adds a key to the tables of the first version; its parameter is the hash. */
export const FORMER_KEY = `INSERT INTO keys (id, name, hash, scopes, labels, created_at) VALUES ('k', '', ?1, '[]', '{}', 0)`;
