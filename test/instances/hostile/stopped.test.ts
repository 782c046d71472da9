import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { EntryLine } from '../../../src/accounting/entry.ts';
import { OPERATOR } from '../../../src/core/caller.ts';
import { plainUsage } from '../../../src/core/usage.ts';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import type { Hold } from '../../../src/ledger/hold.ts';
import { budget } from '../../ledger/support.ts';
import { VirtualClock } from '../../store/hostile/clock.ts';
import { World } from '../../store/hostile/world.ts';
import { type Member, openMember, type SharedPolicy, sharedPolicy } from '../seeds/member.ts';

/** Whole use cases of instances on one store, whose processes stop, crash and come back. */
const START = Date.UTC(2026, 10, 20, 12);
const LIMIT = 1_000;
const CALLER = { ...OPERATOR, keyId: 'key' };
const TARIFF = { model: 'best', provider: 'fake', upstream: 'best-upstream', price: '{}' };
const lineOf = (cost: number): EntryLine => ({ tariff: TARIFF, usage: plainUsage(1, 1), estimated: false, cost });

let policy: SharedPolicy;
beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

/** Members on one world, by their names, with clocks 10 minutes apart. */
async function opened(...names: readonly string[]) {
  const clock = new VirtualClock(START);
  const world = new World({ clock });
  const budgets = [budget(LIMIT, { window: 'day' })];
  const opening = names.map((name, at) => openMember(world, world.open(name), policy, budgets, (at - 1) * 600_000));
  await clock.pass(1_000);
  return { clock, world, budgets, members: await Promise.all(opening) };
}

async function held({ gateway }: Member, amount: number): Promise<Hold> {
  const hold = await asked(gateway, gateway.nextId(), amount);
  if (isShortage(hold)) throw new Error(`there is no money: ${hold.why}`);
  return hold;
}

const asked = ({ ledger }: Member['gateway'], id: number, amount: number) =>
  ledger.reserve({
    ...{ id, caller: CALLER, selector: 'best', agentWallet: null, holder: null, limit: null },
    ...{ amounts: [amount], least: null, waitMs: 0, expiresAt: START + 86_400_000 },
  });

/** What was charged for a hold, less what was given back. */
async function booked({ books }: World, id: number): Promise<number> {
  const { charged = 0, givenBack = 0 } = (await books.reservation(id)) ?? {};
  return charged - givenBack;
}

test('an instance that was stopped for 60 s and longer grants nothing until it has a new epoch, and tells the booked price', async () => {
  const { clock, world, members } = await opened('a', 'b');
  const [a, b] = members as [Member, Member];
  const [short, long] = [await held(a, 300), await held(a, 200)];
  const { epoch } = a.store.instance;
  // Shorter than its lease and the time that others leave it: nobody takes over.
  a.connection.pause(60_000);
  await clock.pass(60_000);
  const settled = short.settle(lineOf(100), () => []);
  await clock.pass(1_000);
  expect((await settled).charged).toBe(100);
  a.connection.pause(240_000);
  await clock.pass(239_000);
  // The other one has charged what the dead one held.
  expect(await booked(world, long.id)).toBe(200);
  expect(isShortage(await asked(b.gateway, b.gateway.nextId(), LIMIT - 300))).toBe(false);
  // It finds out before it does anything.
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

test('equal IDs: instances that give IDs in one millisecond, crash and come back never give one twice', async () => {
  const { clock, world, budgets, members } = await opened('a', 'b', 'c');
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
    // At once on another slot, and behind its lease on the same.
    const opening = openMember(world, world.open(`again ${round}`), policy, budgets, -600_000);
    await clock.pass(round % 2 === 0 ? 1_000 : 90_000);
    members.splice(0, 1);
    members.push(await opening);
    give(members);
  }
  expect(given.size).toBe(count);
});
