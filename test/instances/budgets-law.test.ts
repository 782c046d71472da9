import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { LedgerBooks } from '../../src/store/books.ts';
import { isDeep, tries } from '../deep/effort.ts';
import { MemoryCharges } from '../store/memory/books/charges.ts';
import { MemoryFunds } from '../store/memory/books/funds.ts';
import { LAW, type Lay, lawOf } from './budgets-law.ts';
import { findingsIn, remote, type SharedBooks, sharedBooks } from './ledgers.ts';

/** @param seen changes the books as one server sees them, to make a mutant */
const inMemory =
  (seen: (shared: SharedBooks) => { readonly books: LedgerBooks }): Lay =>
  async () => {
    const shared = sharedBooks();
    const books = [seen(shared).books, seen(shared).books];
    return { books, findings: () => findingsIn(shared), [Symbol.asyncDispose]: async () => {} };
  };

const law = lawOf(
  inMemory((shared) => shared),
  inMemory(remote),
);

test(LAW, async () => {
  await fc.assert(law, tries('budgets of two servers', 60, 20_000));
});

const MUTANTS: Readonly<Record<string, () => () => void>> = {
  'a count has no condition': () =>
    patch(MemoryFunds.prototype, 'count', (count) => {
      return function (this: MemoryFunds, op, drawnAfter) {
        return count.call(this, { ...op, from: this.countedTo(op.budget) }, drawnAfter);
      };
    }),
  'charges after a count are forgotten': () =>
    patch(MemoryCharges.prototype, 'uncounted', (uncounted) => {
      return function (this: MemoryCharges, budget, from, window) {
        const found = uncounted.call(this, budget, from, window);
        return from === null ? found : { ...found, charges: [] };
      };
    }),
  'charges that already drew on a budget are counted again': () =>
    patch(MemoryCharges.prototype, 'uncounted', (uncounted) => {
      return function (this: MemoryCharges, _, from, window) {
        return uncounted.call(this, -1, from, window);
      };
    }),
  'the last limit applies instead of the newest': () =>
    patch(MemoryFunds.prototype, 'enforce', (enforce) => {
      return function (this: MemoryFunds, op) {
        enforce.call(this, { ...op, budgets: op.budgets.map((one) => ({ ...one, rank: Number.MAX_SAFE_INTEGER })) });
      };
    }),
};

/** With this seed, each mutant is found within a few runs. */
const SOON = 14;

for (const [name, infect] of Object.entries(MUTANTS)) {
  test(`the law of shared budgets fails if ${name}`, async () => {
    const cure = infect();
    try {
      const how = { ...tries('budgets of two servers', 1_500, 1_500), endOnFailure: true };
      const { failed } = await fc.check(law, isDeep ? how : { ...how, seed: SOON });
      expect(failed).toBe(true);
    } finally {
      cure();
    }
  });
}

function patch<Of extends object, Name extends keyof Of>(of: Of, name: Name, made: (original: Of[Name]) => Of[Name]) {
  const original = of[name];
  of[name] = made(original);
  return () => {
    of[name] = original;
  };
}
