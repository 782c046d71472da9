import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { LEADER_JOBS, Leadership, type LeaderTable } from '../../../src/store/leaders.ts';
import { LEASE_MS, RENEW_MS } from '../../../src/store/lease.ts';
import { tries } from '../../deep/effort.ts';
import { VirtualClock } from '../../store/hostile/clock.ts';
import { HOSTILE } from '../../store/hostile/faults.ts';
import { timersOf } from '../../store/hostile/leases.ts';
import { type HostileStore, World } from '../../store/hostile/world.ts';
import { refusalOf } from '../../store/implementations.ts';
import { type SharedPolicy, sharedPolicy } from '../seeds/member.ts';
import { booked, held, lineOf, openMembers } from './support.ts';

/** Jobs that one of several instances does for all of them, while it has a lease for the job in their store. */
const START = Date.UTC(2026, 10, 20, 12);
let policy: SharedPolicy;

beforeAll(async () => {
  policy = await sharedPolicy();
});
afterAll(() => policy[Symbol.dispose]());

/** Opens instances that share a store, each with its leadership. */
async function openLeaders(count: number, change: (table: LeaderTable) => LeaderTable = (table) => table) {
  const clock = new VirtualClock(START);
  const world = new World({ clock });
  const one = async (at: number) => {
    const store: HostileStore = await world.open(`instance ${at}`);
    const timers = timersOf(clock, store.connection);
    const { instance } = store;
    const table = change(store.leaders!);
    const leadership = new Leadership({ table, instance, clock: () => clock.now(), timers });
    await leadership.begin();
    return { store, leadership };
  };
  const opening = Promise.all(Array.from({ length: count }, (_, at) => one(at)));
  await clock.pass(100);
  const instances = await opening;
  /** The indexes of the instances that may do a job now. A paused process does nothing. */
  const working = (job: (typeof LEADER_JOBS)[number]) =>
    instances.flatMap(({ store: { connection }, leadership }, at) =>
      leadership.of(job).isHeld && !connection.isCrashed && !connection.isPaused ? [at] : [],
    );
  return { clock, world, instances, working };
}

test('when the lease of the leader of three instances ends, another instance takes over and the old leader writes nothing more', async () => {
  const { clock, world, instances, working } = await openLeaders(3);
  for (const job of LEADER_JOBS) expect(working(job)).toEqual([0]);
  const [first, second] = instances;
  const commit = (one: typeof first) => refusalOf(one!.store.commit(one!.leadership.of('prune').conditions()));
  expect([await commit(first), await commit(second)]).toEqual([null, 'unmet']);
  first!.store.connection.pause(120_000);
  await clock.pass(LEASE_MS - RENEW_MS);
  expect(working('sweep')).toEqual([]);
  await clock.pass(2 * RENEW_MS + 1_000);
  expect(working('sweep')).toEqual([1]);
  await clock.pass(120_000);
  // The first instance has taken a new lease by now and leads no job.
  expect(first!.leadership.of('sweep').isHeld).toBe(false);
  expect(world.leaders.leaderOf('sweep')).toMatchObject({ slot: second!.store.instance.slot });
  expect(await commit(first)).toBe('unmet');
});

test('when a leader stops, other instances can take its jobs at once', async () => {
  const { clock, instances, working } = await openLeaders(2);
  instances[0]!.leadership.stop();
  const closing = instances[0]!.store.close();
  await clock.pass(100);
  await closing;
  await clock.pass(RENEW_MS);
  expect(instances[1]!.leadership.of('count').isHeld).toBe(true);
  expect(working('count')).toContain(1);
});

const step = fc.record({
  kind: fc.constantFrom('crash', 'pause', 'lose', 'pass', 'pass'),
  at: fc.nat(2),
  ms: fc.integer({ min: 1_000, max: 70_000 }),
});

/** Two instances never lead at the same time, whatever the store and the processes do. If an instance runs for long enough, one leads. */
const oneLeads = (change?: (table: LeaderTable) => LeaderTable) =>
  fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), fc.nat(1_000), async (steps, seed) => {
    const { clock, world, instances, working } = await openLeaders(3, change);
    for (let at = 0; at < seed; at++) world.random();
    world.faults = { ...HOSTILE, lostAnswer: 0.1, refused: 0.1 };
    for (const { kind, at, ms } of steps) {
      const { connection } = instances[at]!.store;
      // The last instance never crashes.
      if (kind === 'crash' && at > 0) connection.crash();
      else if (kind === 'pause') connection.pause(ms);
      else if (kind === 'lose') connection.loseStore(ms);
      for (let spent = 0; spent < ms; spent += 2_500) {
        await clock.pass(2_500);
        for (const job of LEADER_JOBS) if (working(job).length > 1) return false;
      }
    }
    world.faults = { ...HOSTILE, lostAnswer: 0, refused: 0 };
    await clock.pass(70_000 + LEASE_MS + 3 * RENEW_MS);
    return LEADER_JOBS.every((job) => working(job).length === 1);
  });

test('at most one instance leads a job at any time, and an instance leads the job as soon as it can', async () => {
  await fc.assert(oneLeads(), tries('one of several instances leads', 30, 1_000));
});

test('the law of leaders fails if an instance takes jobs that another instance leads', async () => {
  const greedy = (table: LeaderTable): LeaderTable => ({ ...table, take: async () => [...LEADER_JOBS] });
  const { failed } = await fc.check(oneLeads(greedy), { numRuns: 20, seed: 1, endOnFailure: true });
  expect(failed).toBe(true);
});

test('if the leader dies with open holds, another instance leads and closes each hold once', async () => {
  const { clock, world, members } = await openMembers(policy, 'a', 'b', 'c');
  const leader = world.leaders.leaderOf('sweep');
  const dying = members.find(({ store }) => store.instance.slot === leader?.slot)!;
  const reserving = held(dying, 100);
  await clock.pass(100);
  const hold = await reserving;
  hold.post(lineOf(60));
  await clock.pass(100);
  dying.connection.crash();
  await clock.pass(LEASE_MS + 2 * RENEW_MS);
  expect(world.leaders.leaderOf('sweep')?.slot).not.toBe(leader?.slot);
  await clock.pass(120_000);
  expect(world.books.open()).toEqual({ count: 0, held: 0 });
  expect(await booked(world, hold.id)).toBeGreaterThan(0);
});
