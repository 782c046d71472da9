import { afterAll, beforeAll, expect, test } from 'bun:test';
import { emptyLedger, openBooksOn } from '../../../store/postgres/stage.ts';
import { fundOf, holdOf, nextId, settleOf } from '../../../store/suites/books.ts';

/** Books with open holds: under another instance name, and with a refund of an open hold. */
let ledger: Awaited<ReturnType<typeof emptyLedger>>;
beforeAll(async () => {
  ledger = await emptyLedger();
});
afterAll(() => ledger[Symbol.asyncDispose]());

test('holds of a process that took another name count once, and so do those of other processes', async () => {
  await using one = await openBooksOn(ledger, 1);
  await using other = await openBooksOn(ledger, 2);
  const [own, foreign, later] = [nextId(), nextId(), nextId()];
  await one.books.apply([holdOf(own, [fundOf(1_000)], 100)]);
  await other.books.apply([holdOf(foreign, [fundOf(1_000)], 30)]);
  one.instance.epoch++;
  await ledger.run('UPDATE instances SET epoch = 2 WHERE slot = 1');
  await one.books.apply([holdOf(later, [fundOf(1_000)], 7)]);
  await one.books.refresh();
  expect(one.books.open()).toEqual({ count: 3, held: 137 });
  await one.books.append([settleOf(own, 1), settleOf(later, 1)]);
  await other.books.append([settleOf(foreign, 1)]);
  await one.books.refresh();
  expect(one.books.open()).toEqual({ count: 0, held: 0 });
});

test('a refund of an open hold blocks no other request, and is booked once the hold has ended', async () => {
  await using one = await openBooksOn(ledger, 3);
  const hold = nextId();
  await one.books.apply([holdOf(hold, [fundOf(1_000)], 100)]);
  await ledger.run(`INSERT INTO adjustments (kind, key_id, reservation, amount, note, time)
    VALUES ('correct', 'key', ${hold}, -5, '', 1), ('grant', 'granted', NULL, 50, '', 1)`);
  await one.books.refresh();
  expect(one.books.balanceOf('granted')).toMatchObject({ limit: 50 });
  expect(await one.books.reservation(hold)).toMatchObject({ isOpen: true, givenBack: 0 });
  await one.books.append([settleOf(hold, 9)]);
  for (let tried = 0; tried < 2; tried++) await one.books.refresh();
  expect(await one.books.reservation(hold)).toMatchObject({ charged: 9, givenBack: 5 });
  expect(await ledger.run('SELECT 1 FROM adjustments WHERE adopted = 0')).toEqual([]);
});
