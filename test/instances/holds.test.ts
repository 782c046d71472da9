import { describe, expect, test } from 'bun:test';
import type { LedgerBooks } from '../../src/store/books.ts';
import { held, line, order } from '../ledger/support.ts';
import { SharedBooks } from './support.ts';

/**
 * Starts another instance while a request runs.
 * @returns what the caller is told, and what is booked
 */
async function startBeside(shared: SharedBooks, other: Partial<LedgerBooks> = {}) {
  await using one = await shared.ledger();
  const hold = await held(one.ledger, order(500));
  await using two = await shared.ledger('charge', other);
  await two.ledger.sweep();
  const { charged } = await hold.settle(line(120), () => []);
  return { told: charged, booked: await shared.booked(hold.id), recovered: two.ledger.recovered.ids };
}

describe('a start of another instance during a request', () => {
  test('a running request keeps its hold when another instance starts, and the charge equals the price that the caller receives', async () => {
    expect(await startBeside(new SharedBooks())).toEqual({ told: 120, booked: 120, recovered: [] });
  });

  test('the test finds a mutant whose start takes all open holds for holds of ended instances', async () => {
    const shared = new SharedBooks();
    const orphans = async () =>
      [...shared.books.openIds()].map((id) => ({ id, reserved: 500, charged: 0, holder: null }));
    const { recovered } = await startBeside(shared, { graceMs: 0, orphans });
    expect(recovered).not.toEqual([]);
  });

  for (const [rule, charged] of [
    ['charge', 500],
    ['release', 0],
  ] as const) {
    test(`the hold of an ended instance is closed once, whichever instances close abandoned holds (${rule})`, async () => {
      const shared = new SharedBooks();
      await using dead = await shared.ledger(rule);
      const { id } = await held(dead.ledger, order(500));
      await using one = await shared.ledger(rule);
      await using two = await shared.ledger(rule);
      expect((await one.ledger.sweep()).ids).toEqual([]);
      dead.died();
      const swept = await Promise.all([one.ledger.sweep(), two.ledger.sweep()]);
      expect(swept[0]).toEqual({ ids: [id], charged, held: 500 });
      expect(await shared.booked(id)).toBe(charged);
      expect((await one.ledger.sweep()).ids).toEqual([]);
    });
  }
});
