import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { entriesOf } from '../../src/admin/use-cases/usage.ts';
import { QUARTER_MS } from '../../src/core/accounting/window.ts';
import { idAt } from '../../src/core/id.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Statement } from '../../src/store/sql/statement.ts';
import { sqliteJournal } from '../../src/store/sqlite/books/journal-reader.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { flaky } from '../store/support.ts';
import { budget, caller, held, line, NOON, type Opened, open, order, terms } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-usage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);

let budgets = 0;
/** A checkpoint is also written before a new budget is counted. */
const checkpoint = async ({ ledger }: Opened) =>
  (await ledger.prepare(terms(budget(Number.MAX_SAFE_INTEGER, { name: `b${++budgets}` }))))();

const KEYS = ['one', 'two', 'three'];
const MODELS = ['a', 'b'];
const ALL = { from: 0, to: Number.POSITIVE_INFINITY, keyId: null, team: null, user: null, model: null, labels: {} };

type Step =
  | { readonly do: 'charge'; readonly key: number; readonly model: number; readonly cost: number; readonly at: number }
  | { readonly do: 'checkpoint' }
  | { readonly do: 'look'; readonly key: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('charge' as const),
      key: fc.nat(2),
      model: fc.nat(1),
      cost: fc.nat(1_000),
      at: fc.nat(5),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'checkpoint' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('look' as const), key: fc.nat(2) }) },
);

/** What the journal says, by quarter and model. The query uses none of the stored sums. */
async function booked(store: SqlStore, keyId: string): Promise<Map<string, number>> {
  await store.flush();
  const sums = new Map<string, number>();
  for await (const page of entriesOf(sqliteJournal(store), { ...ALL, keyId })) {
    for (const { reservation, model, amount, kind } of page) {
      if (kind === 'overrun' || reservation === null) continue;
      const name = `${Math.floor(reservation / idSpan)}/${model}`;
      sums.set(name, (sums.get(name) ?? 0) + amount);
    }
  }
  return sums;
}

/** How many IDs a quarter of an hour has. */
const idSpan = idAt(NOON + QUARTER_MS) - idAt(NOON);

async function told(ledger: Ledger, keyId: string): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (let at = 0; at < 10; at++) {
    const time = NOON + at * QUARTER_MS;
    for (const { model, microcredits } of await ledger.usage({ keyId, from: time, to: time + QUARTER_MS })) {
      const name = `${Math.floor(idAt(time) / idSpan)}/${model ?? ''}`;
      sums.set(name, (sums.get(name) ?? 0) + microcredits);
    }
  }
  return sums;
}

let ids = 0;
async function charge({ ledger }: Opened, { key, model, cost, at }: Extract<Step, { do: 'charge' }>): Promise<void> {
  const id = idAt(NOON + at * QUARTER_MS) + ++ids;
  const hold = await held(ledger, order(1_000, { id, caller: caller(KEYS[key]) }));
  hold.settle(line(cost, { tariff: { model: MODELS[model]!, provider: 'p', upstream: 'u', price: '{}' } }), () => []);
}

describe('charges of a key', () => {
  test('the charges of a key equal the journal at any time, whatever is already in the sums', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const opened = await open(newFile(), { now: () => NOON + 6 * QUARTER_MS });
        for (const one of steps) {
          if (one.do === 'charge') await charge(opened, one);
          else if (one.do === 'checkpoint') await checkpoint(opened);
          else expect(await told(opened.ledger, KEYS[one.key]!)).toEqual(await booked(opened.store, KEYS[one.key]!));
        }
        for (const key of KEYS) expect(await told(opened.ledger, key)).toEqual(await booked(opened.store, key));
        await opened.ledger.close();
        await opened.store.close();
      }),
      { numRuns: 40 },
    );
  });

  test('the charges of a key are neither lost nor counted twice while the sums are being stored', async () => {
    // Every read waits for a while. A checkpoint is written during the wait.
    let reads = 0;
    let during = async () => {};
    const slow = (store: SqlStore): SqlStore => ({
      ...flaky(store),
      async query<Row>(statement: Statement, params?: Parameters<SqlStore['query']>[1]) {
        const isUsage = statement.sql.includes('FROM accounts AS a CROSS JOIN spend');
        if (isUsage && ++reads === 1) await during();
        const rows = await store.query<Row>(statement, params);
        if (isUsage && reads === 1) await during();
        return rows;
      },
    });
    const opened = await open(newFile(), { wrap: slow });
    const amounts = { do: 'charge', key: 0, model: 0, at: 0 } as const;
    await charge(opened, { ...amounts, cost: 100 });
    during = async () => {
      await charge(opened, { ...amounts, cost: 7 });
      await checkpoint(opened);
    };
    const sum = (await opened.ledger.usage({ keyId: 'one', from: NOON, to: NOON + QUARTER_MS })).reduce(
      (all, one) => all + one.microcredits,
      0,
    );
    expect(sum).toBe(114);
    expect(reads).toBeGreaterThan(1);
    await opened.ledger.close();
    await opened.store.close();
  });
});
