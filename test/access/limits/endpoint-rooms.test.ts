import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { LimitCounts, LimitUnits } from '../../../src/access/limits/counts.ts';
import { LocalCounts } from '../../../src/access/limits/counts.ts';
import { CountedRooms } from '../../../src/access/limits/endpoint-rooms.ts';
import type { RequestLimit } from '../../../src/access/limits/refusal.ts';
import { SharedCounts } from '../../../src/access/limits/shared-counts.ts';
import { type EndpointRoom, type EndpointStay, isShort } from '../../../src/core/policy/endpoint-room.ts';
import type { EndpointLimits } from '../../../src/core/policy/snapshot.ts';
import { StoreError } from '../../../src/store/store.ts';
import { effort } from '../../deep/effort.ts';
import { VirtualClock } from '../../store/hostile/clock.ts';
import { MemoryRates } from '../../store/memory/rates.ts';

/**
 * Attempts begin, end and are undone in any order, on one server or on two servers that share a store; a server may die with its attempts.
 * No endpoint gets more than its limits allow, and everything that was taken returns.
 */
const { runs, seed } = effort('limits of endpoints', 400, 3_000);

const START = 1_000_000;
const MINUTE_MS = 60_000;
const LIMITS: EndpointLimits = { requestsPerMinute: 12, tokensPerMinute: 1_200, concurrentRequests: 3 };

const begin = fc.record({
  kind: fc.constant('begin' as const),
  server: fc.nat(1),
  tokens: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 400 })),
  /** The used share of the estimate, in percent; null if the usage is not known. */
  used: fc.option(fc.nat(100)),
});
const end = fc.record({ kind: fc.constant('end' as const), of: fc.nat(2), isSent: fc.boolean() });
const pass = fc.record({ kind: fc.constant('pass' as const), ms: fc.oneof(fc.nat(300), fc.nat(40_000)) });
const die = fc.record({ kind: fc.constant('die' as const), server: fc.nat(1) });
const correct = fc.record({ kind: fc.constant('correct' as const), server: fc.nat(1), left: fc.nat(20) });
/** Attempts that follow each other at once, so that only the limits a minute stop them. */
const burst = fc
  .array(begin, { minLength: 4, maxLength: 20 })
  .map((all) => all.flatMap((one) => [one, { kind: 'end' as const, of: 0, isSent: true }]));
const single = fc.oneof(
  { weight: 8, arbitrary: begin },
  { weight: 8, arbitrary: end },
  { weight: 4, arbitrary: pass },
  { weight: 1, arbitrary: die },
  { weight: 1, arbitrary: correct },
);
type Step = typeof single extends fc.Arbitrary<infer One> ? One : never;
const history = fc
  .array(fc.oneof({ weight: 10, arbitrary: single.map((step): Step[] => [step]) }, { weight: 1, arbitrary: burst }), {
    minLength: 1,
    maxLength: 40,
  })
  .map((steps): Step[] => steps.flat());

/** An attempt that was admitted. */
interface Admitted {
  readonly at: number;
  readonly server: number;
  readonly stay: EndpointStay;
  readonly tokens: number;
  readonly used: number | null;
  state: 'running' | 'ended' | 'undone';
}

interface Rival {
  readonly room?: (room: EndpointRoom) => EndpointRoom;
  readonly counts?: (counts: LimitCounts) => LimitCounts;
  readonly stay?: (stay: EndpointStay) => EndpointStay;
  readonly limits?: EndpointLimits;
}

class Fleet {
  readonly clock = new VirtualClock(START);
  readonly admitted: Admitted[] = [];
  readonly isShared: boolean;
  readonly #rates: MemoryRates;
  readonly #rival: Rival;
  readonly #epochs = [1, 1];
  readonly #rooms: EndpointRoom[];

  constructor(isShared: boolean, rival: Rival) {
    this.isShared = isShared;
    this.#rival = rival;
    this.#rates = new MemoryRates(
      () => this.clock.now(),
      ({ slot, epoch }) => this.#epochs[slot] === epoch,
    );
    this.#rooms = [this.#server(0), this.#server(1)];
  }

  room(server: number): EndpointRoom {
    return this.#rooms[this.isShared ? server : 0]!;
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) await this.#step(step);
  }

  async begin(server: number, tokens: number, used: number | null): Promise<boolean> {
    const answer = await this.room(server).begin(tokens);
    if (isShort(answer)) return false;
    const stay = this.#rival.stay?.(answer) ?? answer;
    const at = this.clock.now();
    this.admitted.push({
      at,
      server,
      stay,
      tokens,
      used: used === null ? null : Math.floor((used * tokens) / 100),
      state: 'running',
    });
    return true;
  }

  end(attempt: Admitted, isSent: boolean): void {
    attempt.state = isSent ? 'ended' : 'undone';
    if (isSent) attempt.stay.end(attempt.used);
    else attempt.stay.undo();
  }

  get running(): Admitted[] {
    return this.admitted.filter(({ state }) => state === 'running');
  }

  async #step(step: Step): Promise<void> {
    if (step.kind === 'begin') await this.begin(step.server, step.tokens, step.used);
    else if (step.kind === 'end') {
      const attempt = this.running[step.of];
      if (attempt) this.end(attempt, step.isSent);
    } else if (step.kind === 'pass') await this.clock.pass(step.ms);
    else if (step.kind === 'correct') this.room(step.server).correct({ requests: step.left, tokens: step.left * 100 });
    else if (this.isShared) {
      // The requests of a dead server end with it.
      this.#epochs[step.server]!++;
      this.#rooms[step.server] = this.#server(step.server);
      for (const attempt of this.running) if (attempt.server === step.server) attempt.state = 'ended';
    }
  }

  #server(slot: number): EndpointRoom {
    const now = () => this.clock.now();
    const rooms = new CountedRooms(now);
    const name = { slot, epoch: this.#epochs[slot]! };
    const after = (ms: number, run: () => void) => ({ unref: () => {}, close: this.clock.after(ms, run) });
    const timers = { after, every: () => ({ unref: () => {}, close: () => {} }) };
    const take = async (demands: Parameters<MemoryRates['take']>[1]) => this.#rates.take(name, demands);
    const counts = this.isShared ? new SharedCounts({ take }, now, timers) : new LocalCounts(now);
    rooms.share(this.#rival.counts?.(counts) ?? counts);
    const room = rooms.room('here', this.#rival.limits ?? LIMITS);
    return this.#rival.room?.(room) ?? room;
  }
}

/** Whether any window of time has more units than a token bucket allows. */
function isOver(attempts: readonly Admitted[], units: (attempt: Admitted) => number, perMinute: number): boolean {
  return attempts.some((first, at) => {
    let sum = 0;
    return attempts.slice(at).some((last) => {
      sum += units(last);
      return sum > perMinute + (perMinute * (last.at - first.at)) / MINUTE_MS;
    });
  });
}

const noMore = (isShared: boolean, rival: Rival = {}) =>
  fc.asyncProperty(history, async (steps) => {
    const fleet = new Fleet(isShared, rival);
    let most = 0;
    for (const step of steps) {
      await fleet.run([step]);
      most = Math.max(most, fleet.running.length);
    }
    const sent = fleet.admitted.filter(({ state }) => state !== 'undone');
    return most <= LIMITS.concurrentRequests! && !isOver(sent, () => 1, LIMITS.requestsPerMinute!);
  });

/** All attempts are sent and use exactly their estimate, so nothing returns early. */
const noMoreTokens = (isShared: boolean, rival: Rival = {}) =>
  fc.asyncProperty(history, async (steps) => {
    const fleet = new Fleet(isShared, rival);
    for (const step of steps) {
      if (step.kind === 'begin') await fleet.run([{ ...step, used: null }]);
      else await fleet.run([step.kind === 'end' ? { ...step, isSent: true } : step]);
    }
    return !isOver(fleet.admitted, ({ tokens }) => tokens, LIMITS.tokensPerMinute!);
  });

/** After the end of all attempts and some minutes, the endpoint can be used like a new one. */
const allReturns = (isShared: boolean, rival: Rival = {}) =>
  fc.asyncProperty(history, async (steps) => {
    const fleet = new Fleet(isShared, rival);
    await fleet.run(steps);
    for (const attempt of fleet.running) fleet.end(attempt, true);
    await fleet.clock.pass(10 * MINUTE_MS);
    if (fleet.room(0).load() > 0 || fleet.room(1).load() > 0) return false;
    for (let place = 0; place < LIMITS.concurrentRequests!; place++) if (!(await fleet.begin(0, 1, 0))) return false;
    return !(await fleet.begin(1, 1, 0));
  });

/** The tokens that are left at an endpoint. */
const tokensLeft = (room: EndpointRoom): number => {
  const { used, most } = room.uses().find(({ limit }) => limit === 'tokens_per_minute')!;
  return most * (1 - used);
};

/** The level stays below the last report of the provider, refilled, without what later attempts take. */
const belowReport = (rival: Rival = {}) =>
  fc.asyncProperty(history, async (steps) => {
    const fleet = new Fleet(false, rival);
    let report: { readonly left: number; readonly at: number; readonly begun: number } | null = null;
    for (const step of steps) {
      await fleet.run([step]);
      const at = fleet.clock.now();
      if (step.kind === 'correct') report = { left: step.left * 100, at, begun: fleet.admitted.length };
      if (!report) continue;
      const later = fleet.admitted.slice(report.begun).reduce((sum, attempt) => sum + takenBy(attempt), 0);
      const refilled = (LIMITS.tokensPerMinute! * (at - report.at)) / MINUTE_MS;
      // The level and the report are compared in whole tokens.
      if (tokensLeft(fleet.room(0)) > Math.max(0, report.left + refilled - later) + 1) return false;
    }
    return true;
  });

/** The tokens that an attempt takes from the level so far. */
function takenBy({ state, tokens, used }: Admitted): number {
  if (state === 'undone') return 0;
  return state === 'ended' ? (used ?? tokens) : tokens;
}

test('the tokens that attempts return never raise the level above what the provider says remains', async () => {
  await fc.assert(belowReport(), { numRuns: runs, seed });
});

test('an attempt that begins after a report of the provider returns all tokens that it did not use', async () => {
  const room = new CountedRooms(() => START).room('here', LIMITS);
  const begin = async (tokens: number) => {
    const stay = await room.begin(tokens);
    if (isShort(stay)) throw new Error('there is no room');
    return stay;
  };
  const first = await begin(400);
  room.correct({ tokens: 500 });
  const second = await begin(300);
  second.end(100);
  expect(tokensLeft(room)).toBeCloseTo(400);
  first.end(10);
  expect(tokensLeft(room)).toBeCloseTo(400);
  // The provider says that more remains than the endpoint has counted.
  const third = await begin(300);
  room.correct({ tokens: 250 });
  third.end(0);
  expect(tokensLeft(room)).toBeCloseTo(250);
});

for (const [name, isShared] of [
  ['one server', false],
  ['two servers', true],
] as const) {
  test(`${name} never send an endpoint more than its limits allow in any time`, async () => {
    await fc.assert(noMore(isShared), { numRuns: runs, seed });
    await fc.assert(noMoreTokens(isShared), { numRuns: runs, seed });
  });

  test(`on ${name}, everything that attempts have taken from an endpoint returns`, async () => {
    await fc.assert(allReturns(isShared), { numRuns: runs, seed });
  });
}

test('a provider lowers the level to what it says remains, and never raises it', () => {
  const now = { ms: START };
  const room = new CountedRooms(() => now.ms).room('here', LIMITS);
  const used = () => room.uses().map((use) => Math.round(use.used * use.most));
  room.correct({ requests: 5, tokens: 700 });
  expect(used()).toEqual([7, 500, 0]);
  room.correct({ requests: 11, tokens: 1_200 });
  room.correct({});
  expect(used()).toEqual([7, 500, 0]);
  expect(room.load()).toBeCloseTo(7 / 12);
  expect([room.hasRoom(700), room.hasRoom(701)]).toEqual([true, false]);
  now.ms += MINUTE_MS;
  expect(used()).toEqual([0, 0, 0]);
});

test('an attempt without room gets the limit, and the wait after which it has room', async () => {
  const now = { ms: START };
  const room = new CountedRooms(() => now.ms).room('here', { ...LIMITS, concurrentRequests: null });
  for (let asked = 0; asked < 12; asked++) expect(isShort(await room.begin(1))).toBe(false);
  const short = await room.begin(1);
  expect(short).toEqual({ limit: 'requests_per_minute', most: 12, waitMs: 5_000 });
  now.ms += 4_999;
  expect(isShort(await room.begin(1))).toBe(true);
  now.ms += 1;
  expect(isShort(await room.begin(1))).toBe(false);
});

test('if the store cannot count, there is no room', async () => {
  const rooms = new CountedRooms(() => START);
  const take = () => Promise.reject(new StoreError('away'));
  rooms.share({ take, add: () => {}, ageOf: () => 0 });
  const room = rooms.room('here', LIMITS);
  expect(isShort(await room.begin(1))).toBe(true);
});

/** Counts with another rule for what is added at the end of an attempt. */
const adding =
  (rule: (units: LimitUnits) => LimitUnits) =>
  (counts: LimitCounts): LimitCounts => ({
    take: (limits: readonly RequestLimit[], units: LimitUnits) => counts.take(limits, units),
    add: (limits: readonly RequestLimit[], units: LimitUnits) => counts.add(limits, rule(units)),
    ageOf: (limit) => counts.ageOf(limit),
  });

/** A room that lowers its level at a report, and forgets the report. */
const forgetful = (room: EndpointRoom): EndpointRoom => ({
  load: () => room.load(),
  uses: () => room.uses(),
  hasRoom: (tokens) => room.hasRoom(tokens),
  begin: (tokens, requests, places) => room.begin(tokens, requests, places),
  correct({ tokens = 0 }) {
    const stay = room.begin(Math.max(0, Math.ceil(tokensLeft(room) - tokens)), 0, 0);
    if (!(stay instanceof Promise) && !isShort(stay)) stay.end(null);
  },
});

const MUTANTS: Readonly<Record<string, () => ReturnType<typeof noMore>>> = {
  'a request counts only while it runs': () =>
    noMore(false, { counts: adding((units) => (units.streams === -1 ? { ...units, requests: -1 } : units)) }),
  'the tokens of an attempt count only while it runs': () =>
    noMoreTokens(false, { counts: adding((units) => (units.streams === -1 ? { ...units, tokens: -1_200 } : units)) }),
  'the place of an attempt returns twice': () =>
    noMore(true, { counts: adding((units) => (units.streams === -1 ? { ...units, streams: -2 } : units)) }),
  'the request of an attempt that was not sent returns late': () =>
    noMore(false, {
      counts: adding((units) => (units.tokens === null ? units : { ...units, requests: units.requests ?? -1 })),
    }),
  'a report of the provider is forgotten at the end of an attempt': () => belowReport({ room: forgetful }),
  'one more place is given': () => noMore(true, { limits: { ...LIMITS, concurrentRequests: 4 } }),
  'the end of an attempt returns no place': () =>
    allReturns(false, { stay: (stay) => ({ end: () => {}, undo: () => stay.undo() }) }),
  'an attempt that was not sent returns no place': () =>
    allReturns(false, { stay: (stay) => ({ end: (used) => stay.end(used), undo: () => {} }) }),
};

for (const [name, law] of Object.entries(MUTANTS))
  test(`the laws of endpoints' limits fail if ${name}`, async () => {
    const { failed } = await fc.check(law(), { numRuns: 400, seed, endOnFailure: true });
    expect(failed).toBe(true);
  });
