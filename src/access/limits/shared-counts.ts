import { type Timer, type Timers, within } from '../../core/timers.ts';
import { AHEAD_MS, type RateGrant, type RateStore, rateOrder } from '../../store/rates.ts';
import { StoreError } from '../../store/store.ts';
import type { LimitAccount } from './accounts.ts';
import { waitMs } from './bucket.ts';
import { FIGURES, LIMIT_UNITS, type LimitCounts, type LimitUnits, STREAM_RETRY_MS } from './counts.ts';
import type { LimitShortage, RequestLimit } from './refusal.ts';
import { type Slice, type Slices, slicesFor } from './slice.ts';

/** For so long a request waits for the store, ms: for the question under way and its own, of a store that is a second away and more. */
const WAIT_MAX_MS = 3_000;
/** Behind a failure the store is told of debts and streams after so long, ms. */
const RETRY_MS = 1_000;
/** Units that are given back, debts and old units wait so long for others that the store hears of with them, ms. */
const TELL_MS = 50;

/** The units that a request needs of one limit. */
interface LimitNeed {
  readonly limit: RequestLimit;
  readonly slice: Slice;
  readonly units: number;
  /** Of a full bucket a request gets more than that holds: the rest is a debt. */
  readonly granted: number;
}

/** A request that waits for the store. */
interface WaitingNeeds {
  readonly needs: readonly LimitNeed[];
  readonly settle: (short: LimitShortage | null) => void;
  readonly fail: (cause: unknown) => void;
  /** Nobody waits any more. */
  isLate: boolean;
}

/**
 * Counts limits that instances share. One statement at a time asks the store for all that waits, returns what was not used, and refills
 * the slices of those who use theirs up. State: slices.
 */
export class SharedCounts implements LimitCounts {
  readonly #rates: Pick<RateStore, 'take'>;
  readonly #now: () => number;
  readonly #timers: Timers;
  readonly #slices = new WeakMap<LimitAccount, Slices>();
  #line: WaitingNeeds[] = [];
  /** Slices of which the store is to hear, or that have units. Their accounts are open. */
  readonly #kept = new Set<Slice>();
  #isAsking = false;
  /** Whether the store is to hear of units, too, that can wait for others. */
  #isTelling = false;
  #hasFailed = false;
  #timer: Timer | null = null;

  /** @param now whole milliseconds that never decrease */
  constructor(rates: Pick<RateStore, 'take'>, now: () => number, timers: Timers) {
    this.#rates = rates;
    this.#now = now;
    this.#timers = timers;
  }

  take(limits: readonly RequestLimit[], units: LimitUnits): LimitShortage | null | Promise<LimitShortage | null> {
    const now = this.#now();
    const needs = this.#needsOf(limits, units);
    const isAtHand = needs.every(({ slice, granted }) => {
      slice.expire(now);
      return slice.unit !== 'streams' && slice.left >= granted;
    });
    if (isAtHand) {
      for (const need of needs) this.#use(need, now);
      countStreams(limits, units.streams ?? 0);
      return null;
    }
    const refused = needs.filter(({ slice, granted }) => slice.isRefused(granted, now));
    if (refused.length > 0) return worstOf(refused);
    return this.#wait(needs, limits, units.streams ?? 0);
  }

  add(limits: readonly RequestLimit[], units: LimitUnits): void {
    const now = this.#now();
    countStreams(limits, units.streams ?? 0);
    for (const { slice, units: more } of this.#needsOf(limits, units)) {
      if (more === 0) continue;
      if (slice.unit === 'streams') slice.change();
      else slice.debit(more, now);
      if (more < 0) slice.forgetRefusal();
      this.#keep(slice);
      if (slice.unit === 'streams') this.#ask();
    }
    this.#tellLater();
  }

  ageOf({ account }: Pick<RequestLimit, 'account'>): number {
    const { requests, tokens } = this.#slicesOf(account);
    return this.#now() - Math.max(requests.askedAt, tokens.askedAt);
  }

  #use({ slice, units, granted }: LimitNeed, now: number): void {
    slice.use(granted, now);
    if (units > granted) slice.debit(units - granted, now);
    const wantsAhead = slice.wantsAhead(now);
    if (slice.isDirty || wantsAhead) this.#keep(slice);
    if (wantsAhead) this.#ask();
    else this.#tellLater();
  }

  async #wait(needs: readonly LimitNeed[], limits: readonly RequestLimit[], streams: number) {
    const { promise, resolve, reject } = Promise.withResolvers<LimitShortage | null>();
    let isSettled = false;
    const settle = (short: LimitShortage | null) => {
      isSettled = true;
      // In the turn in which the store has answered: the next question tells how many are open.
      if (!short) countStreams(limits, streams);
      resolve(short);
    };
    const waiting: WaitingNeeds = { needs, settle, fail: reject, isLate: false };
    for (const { slice, granted } of needs) {
      slice.need += granted;
      this.#keep(slice);
    }
    this.#lookAtTokens(limits);
    this.#line.push(waiting);
    this.#ask();
    const found = await within<LimitShortage | 'late' | null>(this.#timers, WAIT_MAX_MS, promise, 'late');
    if (found !== 'late' || isSettled) return promise;
    waiting.isLate = true;
    throw new StoreError('the limits at the database take too long', { reason: 'busy' });
  }

  /** Asks for the tokens of which headers tell, too, where nothing is known of them. */
  #lookAtTokens(limits: readonly RequestLimit[]): void {
    for (const { slice } of this.#needsOf(limits, { requests: null, tokens: 0, streams: null })) {
      if (this.#now() - slice.askedAt < AHEAD_MS) continue;
      slice.change();
      this.#keep(slice);
    }
  }

  #keep(slice: Slice): void {
    if (this.#kept.has(slice)) return;
    this.#kept.add(slice);
    slice.account.open++;
  }

  /** Asks at the end of this turn, for all that comes in it; or behind the question that is under way. */
  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    void Promise.resolve().then(async () => {
      while (await this.#askOnce());
      this.#isAsking = false;
      this.#tidy();
    });
  }

  /** @returns whether there is more to ask */
  async #askOnce(): Promise<boolean> {
    const from = this.#now();
    const line = this.#line.splice(0);
    const slices = [...this.#kept].filter((slice) => {
      slice.expire(from);
      return slice.isDirty || slice.isUrgent(from);
    });
    if (!this.#isTelling && !slices.some((slice) => slice.isUrgent(from))) return false;
    this.#isTelling = false;
    if (slices.length === 0) return false;
    const asked = slices.map((slice) => ({ slice, demand: slice.demand(from) }));
    asked.sort((one, other) => rateOrder(one.demand, other.demand));
    for (const { slice } of asked) slice.need = 0;
    try {
      const grants = await this.#rates.take(asked.map(({ demand }) => demand));
      this.#hasFailed = false;
      const pool = new Map<Slice, number>();
      for (const [at, { slice }] of asked.entries()) pool.set(slice, this.#granted(slice, grants[at]!, from));
      for (const waiting of line) this.#decide(waiting, pool);
      for (const [slice, left] of pool) this.#giveBack(slice, left);
      return true;
    } catch (cause) {
      for (const { slice, demand } of asked) slice.failed(demand);
      for (const { fail } of line) fail(cause);
      this.#hasFailed = true;
      return this.#line.length > 0;
    }
  }

  #granted(slice: Slice, { granted, ahead, left }: RateGrant, from: number): number {
    slice.granted(ahead, left, from, this.#now());
    return granted;
  }

  /** Takes from what has come for all that waits, first come, first served. */
  #decide({ needs, settle, isLate }: WaitingNeeds, pool: Map<Slice, number>): void {
    if (isLate) return;
    const now = this.#now();
    const short = needs.filter(({ slice, granted }) => pool.get(slice)! < granted);
    if (short.length > 0) {
      const worst = worstOf(short);
      for (const { slice, granted, limit } of short)
        slice.refuse(granted, waitOf({ slice, limit, granted, units: granted }), now);
      settle(worst);
      return;
    }
    for (const { slice, units, granted } of needs) {
      pool.set(slice, pool.get(slice)! - granted);
      slice.note(granted, now);
      if (units > granted) slice.debit(units - granted, now);
    }
    settle(null);
  }

  #giveBack(slice: Slice, left: number): void {
    if (left === 0) return;
    if (slice.unit === 'streams') slice.change();
    else slice.debit(-left, this.#now());
  }

  #needsOf(limits: readonly RequestLimit[], wanted: LimitUnits): LimitNeed[] {
    const needs: LimitNeed[] = [];
    for (const limit of limits) {
      const slices = this.#slicesOf(limit.account);
      for (const unit of LIMIT_UNITS) {
        const [units, most] = [wanted[unit], limit.figures[FIGURES[unit]]];
        if (units === null || most === null) continue;
        const slice = slices[unit];
        // That in force now may be newer than that of the admission.
        slice.most = slice.bucket?.perMinute ?? most;
        needs.push({ limit, slice, units, granted: unit === 'streams' ? units : Math.min(units, most) });
      }
    }
    return needs;
  }

  #slicesOf(account: LimitAccount): Slices {
    const known = this.#slices.get(account);
    if (known) return known;
    const slices = slicesFor(account);
    this.#slices.set(account, slices);
    return slices;
  }

  /** Lets go of slices that are as the store knows them, and looks again where some have units, or a failure has left something. */
  #tidy(): void {
    for (const slice of this.#kept) {
      if (slice.need > 0 || slice.isDirty || slice.left > 0) continue;
      this.#kept.delete(slice);
      slice.account.open--;
    }
    this.#tellLater();
  }

  #tellLater(): void {
    if (this.#timer || this.#kept.size === 0) return;
    this.#timer = this.#timers.after(this.#hasFailed ? RETRY_MS : TELL_MS, () => {
      this.#timer = null;
      this.#isTelling = true;
      this.#ask();
    });
    this.#timer.unref();
  }
}

/** Under limits without a figure for them, too: a new policy may bring one. */
function countStreams(limits: readonly RequestLimit[], streams: number): void {
  if (streams !== 0) for (const { account } of limits) account.streams += streams;
}

function worstOf(short: readonly LimitNeed[]): LimitShortage {
  const found = short.map((need): LimitShortage => {
    const { limit, slice, units } = need;
    return { limit, kind: slice.unit, units, waitMs: waitOf(need) };
  });
  return found.reduce((worst, one) => (one.waitMs > worst.waitMs ? one : worst));
}

/** Ms until a retry makes sense. The store refused, so it is not now. */
const waitOf = ({ slice, units }: LimitNeed): number =>
  slice.bucket ? Math.max(1, waitMs(slice.bucket, units)) : STREAM_RETRY_MS;
