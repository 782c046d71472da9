import { expect, test } from 'bun:test';
import { plainUsage } from '../../../../src/core/money/usage.ts';
import { openBooksOn, sharedLedger } from '../../../store/postgres/stage.ts';
import { fundOf, holdOf, NOON, nextId, settleOf } from '../../../store/suites/books.ts';

const at = NOON;

/** Two instances that share one PostgreSQL database, and the number of statements that have decided their operations. */
async function twoInstances() {
  const ledger = await sharedLedger();
  let statements = 0;
  const isBroken = () => ++statements < 0;
  const opened = [await openBooksOn(ledger, 1, { isBroken }), await openBooksOn(ledger, 2, { isBroken })];
  return {
    run: ledger.run,
    books: opened.map(({ books }) => books),
    count: () => statements,
    async [Symbol.asyncDispose]() {
      for (const { close } of opened) await close();
    },
  };
}

test('books in PostgreSQL, two instances > 9: a charge is booked at the price of another tier, or of another instance', async () => {
  await using box = await twoInstances();
  const fund = fundOf(1e6);
  /** Each charge costs its own price, so that an entry shows whether it has the right one. */
  const entryAt = (price: number) => {
    const tariff = { model: 'm', provider: 'p', upstream: 'u', price: String(price) };
    return { tariff, usage: plainUsage(1, 1), estimated: false, cost: price };
  };
  const request = async (turn: number) => {
    const [id, books] = [nextId(), box.books[turn % 2]!];
    const [first, last] = [11 + (turn % 3), 11 + (turn % 5)].map(entryAt);
    const most = Number.MAX_SAFE_INTEGER;
    await books.apply([holdOf(id, [fund], 100)]);
    await books.append([{ kind: 'post', id, step: 1, at, entry: first!, most }]);
    await books.append([{ kind: 'settle', id, at, entry: last!, most }]);
  };
  await Promise.all(Array.from({ length: 60 }, (_, turn) => request(turn)));
  const booked = await box.run(
    `SELECT j.amount::int, t.price::int FROM journal AS j JOIN tariffs AS t ON t.id = j.tariff WHERE j.kind IN ('post', 'settle')`,
  );
  expect(booked).toHaveLength(120);
  expect(booked.filter(({ amount, price }) => amount !== price)).toEqual([]);
});

test('books in PostgreSQL, two instances > 16: each settlement is a write of its own, and they come as a storm', async () => {
  await using box = await twoInstances();
  const fund = fundOf(1e6);
  const ids = Array.from({ length: 600 }, nextId);
  const at = (turn: number) => box.books[turn % 2]!;
  await Promise.all(ids.map((id, turn) => at(turn).apply([holdOf(id, [fund], 10)])));
  await Promise.all(ids.map((id, turn) => at(turn).append([settleOf(id, 7)])));
  expect(box.count()).toBeLessThanOrEqual(8);
  const [row] = await box.run('SELECT spent::int, held::int FROM funds');
  expect(row).toEqual({ spent: 600 * 7, held: 0 });
});
