import { afterAll, beforeAll, expect, test } from 'bun:test';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import { FRIENDLY } from '../../store/hostile/faults.ts';
import { type Member, type SharedPolicy, sharedPolicy } from '../seeds/member.ts';
import { captured, claimed } from '../seeds/payment.ts';
import { asked, booked, lineOf, openMembers } from './support.ts';

let policy: SharedPolicy;
beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

test('if the answer to a commit is lost, the server sends the commit again with its ID: there is one hold, and its price is booked once', async () => {
  const { clock, world, members } = await openMembers(policy, 'a');
  const { gateway } = members[0]!;
  const id = gateway.nextId();
  world.faults = { ...FRIENDLY, lostAnswer: 1 };
  const asking = asked(gateway, id, 300);
  await clock.pass(1);
  expect(world.books.open()).toEqual({ count: 1, held: 300 });
  world.faults = FRIENDLY;
  await clock.pass(5_000);
  const hold = await asking;
  if (isShortage(hold)) throw new Error('refused');
  expect(world.books.open()).toEqual({ count: 1, held: 300 });
  const settling = hold.settle(lineOf(100), () => []);
  await clock.pass(1_000);
  expect([(await settling).charged, await booked(world, id)]).toEqual([100, 100]);
});

test('if the answer to a hold is lost and the store is unavailable, the hold is voided: it is not charged and holds no money', async () => {
  const { clock, world, members } = await openMembers(policy, 'a');
  const { gateway, connection } = members[0]!;
  const id = gateway.nextId();
  world.faults = { ...FRIENDLY, lostAnswer: 1 };
  const asking = asked(gateway, id, 300).then(
    () => 'granted',
    () => 'refused',
  );
  connection.loseStore(10_000);
  expect(world.books.open()).toEqual({ count: 1, held: 300 });
  world.faults = FRIENDLY;
  await clock.pass(9_000);
  expect(await asking).toBe('refused');
  await clock.pass(5_000);
  expect([world.books.open(), await booked(world, id)]).toEqual([{ count: 0, held: 0 }, 0]);
});

test('if the capture of an earmark never reaches the store, the earmark holds no money, and the payment is booked from the chain', async () => {
  const { clock, members } = await openMembers(policy, 'a');
  const [a] = members as [Member];
  const { ledger, nextId } = a.gateway;
  const asking = claimed(a, { payment: nextId(), decision: nextId() }, 300);
  await clock.pass(100);
  const stored = await asking;
  const [all] = (await ledger.status()).funds;
  expect(all).toMatchObject({ held: 300 });
  a.connection.loseStore(1_000);
  const capturing = captured(a, stored!).then(
    () => 'captured',
    () => 'refused',
  );
  await clock.pass(5_000);
  expect(await capturing).toBe('refused');
  expect((await ledger.status()).funds[0]).toMatchObject({ held: 0 });
});
