import { expect, test } from 'bun:test';
import { isShortage } from '../../src/ledger/standing.ts';
import { budget, held, line, NO_TERMS, open, order } from '../ledger/support.ts';
import { tempFolder } from '../store/support.ts';

test('who is let in at the moment in which the budgets change draws on those that are then in force', async () => {
  using folder = tempFolder();
  const terms = { ...NO_TERMS, budgets: [budget(10)] };
  const { ledger, store } = await open(folder.file, { terms });
  const running = await held(ledger, order(10));
  const waiting = ledger.reserve(order(10, { waitMs: 5_000 }));
  const swap = await ledger.prepare({ ...terms, budgets: [budget(10, { name: 'other' })] });
  // It is let in here, and goes on only when this task is over.
  running.settle(null, () => []);
  swap();
  const letIn = await waiting;
  expect(isShortage(letIn)).toBe(false);
  const second = await ledger.reserve(order(10));
  expect(isShortage(second)).toBe(true);
  if (!isShortage(letIn)) letIn.settle(line(10), () => []);
  const { funds } = await ledger.status();
  expect(funds.map(({ title, spent, held: still }) => [title.name, spent, still])).toEqual([['other', 10, 0]]);
  await store.close();
});
