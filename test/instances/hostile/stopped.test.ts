import { afterAll, beforeAll, expect, test } from 'bun:test';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import { StoreError } from '../../../src/store/store.ts';
import { type Member, openMember, type SharedPolicy, sharedPolicy } from '../seeds/member.ts';
import { asked, booked, held, lineOf, openMembers } from './support.ts';

let policy: SharedPolicy;
beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

test('an instance that was paused for 60 s or longer grants no holds until it has a new epoch, and reports the booked price', async () => {
  const { clock, world, members } = await openMembers(policy, 'a', 'b');
  const [a, b] = members as [Member, Member];
  const [short, long] = [await held(a, 300), await held(a, 200)];
  const { epoch } = a.store.instance;
  // The pause is shorter than its lease plus the grace time, so no other instance takes over.
  a.connection.pause(60_000);
  await clock.pass(60_000);
  const settled = short.settle(lineOf(100), () => []);
  await clock.pass(1_000);
  expect((await settled).charged).toBe(100);
  a.connection.pause(240_000);
  await clock.pass(239_000);
  // The running instance has charged the amount that the stopped instance held.
  expect(await booked(world, long.id)).toBe(200);
  expect(isShortage(await asked(b.gateway, b.gateway.nextId(), 700))).toBe(false);
  // The instance notices the end of its lease before it does anything.
  expect(a.store.instance.isCurrent).toBe(false);
  expect(() => a.gateway.nextId()).toThrow();
  await clock.pass(1_000);
  const late = long.settle(lineOf(50), () => []);
  await clock.pass(10_000);
  expect(a.store.instance.isCurrent).toBe(true);
  expect([a.store.instance.slot, a.store.instance.epoch]).not.toEqual([0, epoch]);
  const told = await late;
  expect(told.charged).toBe(await booked(world, long.id));
  expect(told.charged).toBe(50);
  expect(isShortage(await asked(a.gateway, a.gateway.nextId(), 1_000))).toBe(true);
});

test('if an instance is paused past its lease, it does not use a hold granted in that time, because another instance may run the request', async () => {
  const { clock, world, members } = await openMembers(policy, 'a', 'b');
  const [a] = members as [Member, Member];
  for (const [slept, isOver] of [
    [10_000, false],
    [30_000, true],
    [240_000, true],
  ] as const) {
    const id = a.gateway.nextId();
    const asking = asked(a.gateway, id, 100).then(
      () => 'granted',
      (error: unknown) => (error instanceof StoreError ? error.reason : error),
    );
    a.connection.pause(slept);
    await clock.pass(slept + 20_000);
    expect(await asking).toBe(isOver ? 'fenced' : 'granted');
    // No caller pays for the request, although a sweep may have charged it.
    expect(await booked(world, id)).toBe(0);
  }
});

test('instances that create IDs in the same millisecond, crash and come back never create the same ID twice', async () => {
  const { clock, world, budgets, members } = await openMembers(policy, 'a', 'b', 'c');
  const given = new Set<number>();
  let count = 0;
  const give = (from: readonly Member[]) => {
    for (const { gateway } of from)
      for (let i = 0; i < 40; i++) {
        given.add(gateway.nextId());
        count++;
      }
  };
  give(members);
  for (let round = 0; round < 5; round++) {
    const [crashed, ...others] = members as [Member, ...Member[]];
    crashed.connection.crash();
    crashed.stop();
    give(others);
    // A crashed instance takes another slot at once, or its own slot after its lease has ended.
    const opening = openMember(world, await world.open(`again ${round}`), policy, budgets, -600_000);
    await clock.pass(round % 2 === 0 ? 1_000 : 90_000);
    members.splice(0, 1);
    members.push(await opening);
    give(members);
  }
  expect(given.size).toBe(count);
});
