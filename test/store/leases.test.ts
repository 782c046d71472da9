import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { timeOfId } from '../../src/core/id.ts';
import { type InstanceName, nameOf } from '../../src/store/instance.ts';
import type { LeaseTable } from '../../src/store/lease-keeper.ts';
import { tries } from '../deep/effort.ts';
import { refusalOf } from './implementations.ts';
import { type Process, reasonOf, Stand } from './lease-stand.ts';

const MINUTE = 60_000;

describe('a lease', () => {
  test('two processes on the same clock never give the same ID', async () => {
    const stand = new Stand();
    const [a, b] = [await stand.begin(), await stand.begin()];
    expect([a.instance.slot, b.instance.slot]).toEqual([0, 1]);
    const ids = new Set<number>();
    for (let i = 0; i < 1_000; i++) {
      for (const { instance } of [a, b]) for (let n = 0; n < 20; n++) ids.add(instance.nextId());
      await stand.pass(1, 1);
    }
    expect(ids.size).toBe(40_000);
  });

  test('a lease lasts while it is renewed, and ends after four lost renewals', async () => {
    const stand = new Stand();
    const one = await stand.begin();
    const name = nameOf(one.instance);
    await stand.pass(80 * 1_000);
    expect([nameOf(one.instance), one.instance.isCurrent, stand.accepts(one)]).toEqual([name, true, true]);
    stand.isAway = true;
    await stand.pass(14_000);
    expect(one.instance.isCurrent).toBe(true);
    await stand.pass(7_000);
    expect([one.instance.isCurrent, await stand.leases.read().then(() => stand.accepts(one))]).toEqual([false, false]);
    expect(one.instance.fenced).toMatch(/^The lease of this server .+; check that .+\.$/);
    stand.isAway = false;
    await stand.pass(6_000);
    expect([one.instance.isCurrent, one.instance.fenced, one.lost]).toEqual([true, null, [name]]);
    expect(nameOf(one.instance)).toEqual({ slot: 1, epoch: 1 });
  });

  test('a renewal that reaches the store after the lease has ended is refused, and the instance takes a new name', async () => {
    let arrives: Promise<void> | undefined;
    const stand = new Stand((table) => ({
      ...table,
      write: async (change) => {
        await arrives;
        return table.write(change);
      },
    }));
    const one = await stand.begin();
    const name = nameOf(one.instance);
    const way = Promise.withResolvers<void>();
    arrives = way.promise;
    await stand.pass(21_000);
    expect([one.instance.isCurrent, stand.leases.accepts(name)]).toEqual([false, false]);
    way.resolve();
    await stand.pass(1_000);
    expect([stand.leases.accepts(name), one.lost, one.instance.isCurrent]).toEqual([false, [name], true]);
  });

  test('an instance reports how long it has reached the store, and starts at 0 after a missed renewal', async () => {
    const stand = new Stand();
    const { instance } = await stand.begin();
    await stand.pass(80_000);
    expect(instance.reachedForMs).toBe(80_000);
    stand.isAway = true;
    await stand.pass(8_000);
    expect(instance.reachedForMs).toBe(0);
    stand.isAway = false;
    await stand.pass(7_000);
    expect([instance.isCurrent, instance.epoch, instance.slot]).toEqual([true, 1, 0]);
    expect(instance.reachedForMs).toBeGreaterThanOrEqual(0);
    expect(instance.reachedForMs).toBeLessThan(10_000);
  });

  test('an instance permanently refuses a store that is an older copy of itself', async () => {
    for (const isGone of [false, true]) {
      let copy: Awaited<ReturnType<LeaseTable['read']>>['rows'] | null = null;
      const stand = new Stand((table) => ({
        ...table,
        read: async () => {
          const { now, rows } = await table.read();
          return { now, rows: copy ?? rows };
        },
      }));
      const { instance } = await stand.begin();
      const { rows } = await stand.leases.read();
      await stand.pass(10_000);
      expect(instance.fenced).toBe(null);
      copy = isGone ? [] : rows;
      await stand.pass(6_000);
      expect([instance.isCurrent, instance.fenced]).toEqual([
        false,
        expect.stringMatching(/^This server accepts no requests: the database is an older copy/),
      ]);
      copy = null;
      await stand.pass(30_000);
      expect(instance.isCurrent).toBe(false);
    }
  });

  test('an instance that was stopped for 60 s accepts no work until it has a new epoch, and its IDs keep growing', async () => {
    const stand = new Stand();
    const [one, other] = [await stand.begin(), await stand.begin()];
    const before = nameOf(one.instance);
    const last = one.instance.nextId();
    one.host.isStopped = true;
    await stand.pass(60_000);
    one.host.isStopped = false;
    // After the pause a request runs first, before any timer.
    expect(one.instance.isCurrent).toBe(false);
    expect(await reasonOf(one.instance.nextId)).toBe('fenced');
    expect(stand.leases.accepts(before)).toBe(false);
    await stand.pass(5_000);
    expect([one.lost, one.instance.isCurrent]).toEqual([[before], true]);
    expect([stand.accepts(one), stand.leases.accepts(before)]).toEqual([true, false]);
    const id = one.instance.nextId();
    expect(id).toBeGreaterThan(last);
    expect(Math.abs(timeOfId(id) - stand.time)).toBeLessThan(10);
    expect(other.instance.isCurrent).toBe(true);
    // The old name still has time to finish its work, but is granted nothing new.
    expect(await other.instance.lives(before)).toBe(true);
    await stand.pass(20_000);
    expect(await other.instance.lives(before)).toBe(false);
  });

  test('an instance that was stopped until another took its slot takes a different slot, and repeats no ID', async () => {
    const stand = new Stand();
    const one = await stand.begin();
    const ids = [one.instance.nextId()];
    one.host.isStopped = true;
    await stand.pass(4 * MINUTE);
    const other = await stand.begin();
    expect(nameOf(other.instance)).toEqual({ slot: 0, epoch: 2 });
    ids.push(other.instance.nextId());
    one.host.isStopped = false;
    await stand.pass(5_000);
    expect(one.instance.slot).toBe(1);
    ids.push(one.instance.nextId(), other.instance.nextId());
    expect(new Set(ids).size).toBe(4);
  });

  test('if all other slots are taken, an instance takes its own slot again', async () => {
    const stand = new Stand();
    const made: Process[] = [];
    for (let n = 0; n < 128; n++) made.push(await stand.begin());
    const [one] = made as [Process];
    const id = one.instance.nextId();
    one.host.isStopped = true;
    await stand.pass(30_000, 5_000);
    one.host.isStopped = false;
    await stand.pass(5_000);
    expect(nameOf(one.instance)).toEqual({ slot: 0, epoch: 2 });
    expect(one.instance.nextId()).toBeGreaterThan(id);
  });

  test('instances whose clocks are 10 minutes apart both use the store’s clock', async () => {
    const stand = new Stand();
    const made = [await stand.begin(-10 * MINUTE), await stand.begin(), await stand.begin(10 * MINUTE)];
    expect(made.map(({ instance }) => instance.clockOffsetMs)).toEqual([10 * MINUTE, 0, -10 * MINUTE]);
    for (let round = 0; round < 4; round++) {
      const times = made.map(({ instance }) => timeOfId(instance.nextId()));
      expect([...times, ...made.map(({ instance }) => instance.now())]).toEqual(Array(6).fill(stand.time));
      for (const { host } of made) host.skewMs = -host.skewMs;
      await stand.pass(20_000);
    }
    expect(made.every(({ instance }) => instance.isCurrent)).toBe(true);
  });

  test('IDs and the time of instances do not go back when the store’s clock is set', async () => {
    const stand = new Stand();
    const one = await stand.begin();
    let [id, time] = [one.instance.nextId(), one.instance.now()];
    for (const skew of [500, -500, 10 * MINUTE, -10 * MINUTE]) {
      stand.storeSkewMs = skew;
      await stand.pass(30_000);
      expect(one.instance.now()).toBeGreaterThanOrEqual(time);
      time = one.instance.now();
      if (!one.instance.isCurrent) continue;
      const next = one.instance.nextId();
      expect(next).toBeGreaterThan(id);
      id = next;
    }
  });

  test('a clean stop frees the slot at once: a thousand restarts keep the same slot and repeat no ID', async () => {
    const stand = new Stand();
    const ids = new Set<number>();
    for (let restart = 1; restart <= 1_000; restart++) {
      const one = await stand.begin();
      expect(nameOf(one.instance)).toEqual({ slot: 0, epoch: restart });
      for (let n = 0; n < 3; n++) ids.add(one.instance.nextId());
      await stand.stop(one);
      expect([one.instance.isCurrent, await reasonOf(one.instance.nextId)]).toEqual([false, 'fenced']);
      if (restart % 10 === 0) await stand.pass(1, 1);
    }
    expect(ids.size).toBe(3_000);
  });

  test('a server that crashes each second finds a slot each time', async () => {
    const stand = new Stand();
    const slots = new Set<number>();
    for (let second = 0; second < 320; second++) {
      const one = await stand.begin();
      slots.add(one.instance.slot);
      stand.crash(one);
      await stand.pass(1_000);
    }
    expect(slots.size).toBeLessThanOrEqual(82);
  });

  test('128 instances can run at once, and no more', async () => {
    const stand = new Stand();
    for (let n = 0; n < 128; n++) await stand.begin();
    expect(new Set(stand.processes.map(({ instance }) => instance.slot)).size).toBe(128);
    expect(await refusalOf(stand.begin())).toBe('busy');
  });

  test('two processes that start at once get different slots', async () => {
    const stand = new Stand();
    const made = await Promise.all(Array.from({ length: 20 }, () => stand.begin()));
    expect(new Set(made.map(({ instance }) => instance.slot)).size).toBe(20);
  });

  test('IDs that would be more than a second ahead of the clock are refused until the clock catches up', async () => {
    const stand = new Stand();
    const one = await stand.begin();
    let given = 0;
    while ((await reasonOf(one.instance.nextId)) === null) given++;
    expect(await reasonOf(one.instance.nextId)).toBe('crowded');
    expect(given).toBe(32_001);
    await stand.pass(4_000);
    expect(timeOfId(one.instance.nextId())).toBe(stand.time);
  });

  test('an ended instance name is permanently dead a minute later, even after its slot is taken again', async () => {
    const stand = new Stand();
    const [one, other] = [await stand.begin(), await stand.begin()];
    const name = nameOf(other.instance);
    stand.crash(other);
    await stand.pass(79_000);
    expect([await one.instance.lives(name), stand.leases.accepts(name)]).toEqual([true, false]);
    await stand.pass(1_000);
    expect(await one.instance.lives(name)).toBe(false);
    await stand.begin();
    expect(await one.instance.lives({ slot: name.slot, epoch: name.epoch + 1 })).toBe(true);
    expect(await one.instance.lives(name)).toBe(false);
  });
});

type Step =
  | { readonly do: 'begin'; readonly skewMs: number; readonly count: number }
  | { readonly do: 'crash' | 'stop' | 'pause' | 'resume' | 'give'; readonly which: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'away'; readonly isAway: boolean }
  | { readonly do: 'clock'; readonly skewMs: number };

const stepOf = <Name extends Step['do']>(name: Name) => fc.constant(name);
const passes = fc.constantFrom(0, 1, 900, 7_000, 30_000, 110_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: stepOf('begin'),
      skewMs: fc.constantFrom(0, -10 * MINUTE, 10 * MINUTE),
      count: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('crash', 'stop', 'pause', 'resume'), which: fc.nat(3) }),
  },
  { weight: 8, arbitrary: fc.record({ do: stepOf('give'), which: fc.nat(3) }) },
  { weight: 6, arbitrary: fc.record({ do: stepOf('pass'), ms: passes }) },
  { weight: 1, arbitrary: fc.record({ do: stepOf('away'), isAway: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: stepOf('clock'), skewMs: fc.constantFrom(0, 800, -800) }) },
);

/** Starts and ends instances, and checks each ID that they give. */
class Life {
  readonly #stand: Stand;
  readonly #lasts = new Map<Process, number>();
  readonly ids = new Set<number>();
  /** Every name that an instance had, and whether it has ended. */
  readonly #names = new Map<string, { readonly name: InstanceName; hasEnded: boolean }>();
  #wasSet = false;

  constructor(spoil?: (table: LeaseTable) => LeaseTable) {
    // The store refuses some mistakes of mutants by itself, so a mutant has a store that does not.
    this.#stand = new Stand(spoil, spoil !== undefined);
  }

  /** @returns what was wrong; null for nothing */
  async play(steps: readonly Step[]): Promise<string | null> {
    for (const step of steps) {
      const wrong = (await this.#do(step)) ?? this.#look();
      if (wrong !== null) return wrong;
    }
    return null;
  }

  async #do(step: Step): Promise<string | null> {
    const stand = this.#stand;
    const process = 'which' in step ? stand.processes[step.which] : undefined;
    if (step.do === 'begin') {
      await Promise.all(Array.from({ length: step.count }, () => stand.begin(step.skewMs).catch(() => null)));
    } else if (step.do === 'pass') await stand.pass(step.ms, 2_500);
    else if (step.do === 'away') stand.isAway = step.isAway;
    else if (step.do === 'clock') {
      stand.storeSkewMs = step.skewMs;
      this.#wasSet = true;
    } else if (process && step.do === 'give') return this.#give(process);
    else if (process && step.do === 'crash') stand.crash(process);
    else if (process && step.do === 'stop') await stand.stop(process);
    else if (process) process.host.isStopped = step.do === 'pause';
    return null;
  }

  async #give(process: Process): Promise<string | null> {
    for (let n = 0; n < 3; n++) {
      let id = 0;
      const refusal = await reasonOf(() => {
        id = process.instance.nextId();
      });
      if (refusal !== null) return null;
      if (this.ids.has(id)) return `${id} was given twice`;
      if (id <= (this.#lasts.get(process) ?? 0)) return `${id} is not greater than the one before`;
      this.ids.add(id);
      this.#lasts.set(process, id);
    }
    return null;
  }

  #look(): string | null {
    const stand = this.#stand;
    const accepted = stand.processes.filter((process) => stand.accepts(process));
    if (new Set(accepted.map(({ instance }) => instance.slot)).size < accepted.length)
      return 'a slot has two instances';
    for (const { instance } of stand.processes) {
      const key = `${instance.slot}/${instance.epoch}`;
      if (!this.#names.has(key)) this.#names.set(key, { name: nameOf(instance), hasEnded: false });
    }
    for (const known of this.#names.values()) {
      const isAccepted = stand.leases.accepts(known.name);
      if (isAccepted && known.hasEnded && !this.#wasSet) return 'a name that had ended lives again';
      known.hasEnded ||= !isAccepted;
    }
    const dead = stand.processes.filter((process) => process.instance.isCurrent && !accepted.includes(process));
    // If the store's clock was set, a lease may end earlier than its holder knows. Only the store refuses a lease that has ended earlier
    // than its holder knows.
    return dead.length > 0 && !this.#wasSet ? 'an instance acts though the store refuses it' : null;
  }
}

const lives = fc.array(step, { minLength: 20, maxLength: 80, size: 'max' });

const holds = (spoil?: (table: LeaseTable) => LeaseTable) =>
  fc.asyncProperty(lives, async (steps) => (await new Life(spoil).play(steps)) === null);

/** A table that writes any change without checking its condition. */
const unconditional = (table: LeaseTable): LeaseTable => ({
  read: () => table.read(),
  async write({ row }) {
    for (;;) {
      const { rows } = await table.read();
      if (await table.write({ seen: rows.find(({ slot }) => slot === row.slot) ?? null, row })) return true;
    }
  },
});

describe('leases', () => {
  test('no ID repeats and no slot has two instances, whatever instances, clocks and the store do', async () => {
    await fc.assert(holds(), tries('instances under leases give no ID twice, and no slot has two', 60, 5_000));
  });

  const mutants: Readonly<Record<string, (table: LeaseTable) => LeaseTable>> = {
    'a new holder does not begin above the mark': (table) => ({
      read: async () => {
        const { now, rows } = await table.read();
        return { now, rows: rows.map((row) => ({ ...row, idsThrough: 0 })) };
      },
      write: async ({ seen, row }) => {
        const known = (await table.read()).rows.find(({ slot }) => slot === row.slot);
        return table.write({ seen: known && seen?.epoch === known.epoch ? known : seen, row });
      },
    }),
    'a slot is taken without a condition': unconditional,
    'an epoch is used again': (table) => ({
      read: () => table.read(),
      write: ({ seen, row }) => table.write({ seen, row: { ...row, epoch: 1 } }),
    }),
    'an ended lease is renewed': (table) => ({
      read: async () => {
        const { now, rows } = await table.read();
        return { now, rows: rows.map((row) => ({ ...row, until: Math.max(row.until, now + 1) })) };
      },
      write: (change) => unconditional(table).write(change),
    }),
  };
  for (const [name, spoil] of Object.entries(mutants))
    test(`the law detects that ${name}`, async () => {
      const found = await fc.check(holds(spoil), { numRuns: 400, seed: 3, endOnFailure: true });
      expect(found.failed).toBe(true);
    });
});
