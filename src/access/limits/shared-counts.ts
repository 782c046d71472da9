import { type Timer, type Timers, within } from '../../core/time/timers.ts';
import { AHEAD_MS, type RateGrant, type RateStore, rateOrder } from '../../store/rates.ts';
import { StoreError } from '../../store/store.ts';
import type { LimitAccount } from './accounts.ts';
import { waitMs } from './bucket.ts';
import { FIGURES, LIMIT_UNITS, type LimitCounts, type LimitUnits, STREAM_RETRY_MS } from './counts.ts';
import type { LimitShortage, RequestLimit } from './refusal.ts';
import { type Slice, type Slices, slicesFor } from './slice.ts';

/**
 * How long a request waits for the store, ms. A wait of 3 seconds is enough for the running query and the next query if the store needs
 * about a second for each query.
 */
const WAIT_MAX_MS = 3_000;
/** After a failure, debts and streams are reported to the store again after this time, ms. */
const RETRY_MS = 1_000;
/** Returned units, debts and old units wait this long, so that one query reports several of them, ms. */
const TELL_MS = 50;

/** The units of a limit that a request needs. */
interface LimitNeed {
  readonly limit: RequestLimit;
  readonly slice: Slice;
  readonly units: number;
  /** The units to get from the store. If a request needs more than a full bucket holds, the rest becomes a debt. */
  readonly granted: number;
}

/** A request that waits for the store. */
interface WaitingNeeds {
  readonly needs: readonly LimitNeed[];
  readonly settle: (short: LimitShortage | null) => void;
  readonly fail: (cause: unknown) => void;
  /** Whether the request has stopped waiting. */
  isLate: boolean;
}

/**
 * Counts limits that several servers share. A query asks the store for the units of all waiting requests, returns unused units, and refills
 * slices that are running out. Only one query runs at a time. State: slices.
 */
export class SharedCounts implements LimitCounts {
  readonly #rates: Pick<RateStore, 'take'>;
  readonly #now: () => number;
  readonly #timers: Timers;
  readonly #slices = new WeakMap<LimitAccount, Slices>();
  #line: WaitingNeeds[] = [];
  /** Slices that have units, or changes for the store. The accounts of these slices are open. */
  readonly #kept = new Set<Slice>();
  #isAsking = false;
  /** Whether the next query also reports units that could wait for others. */
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
      // The waiting requests get their units in the same turn of the event loop in which the store has answered, because the next query
      // reports how many streams are open.
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
    throw new StoreError('the database takes too long to count the limits', { reason: 'busy' });
  }

  /** Also asks for tokens if headers must show them and nothing is known about them yet. */
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

  /** Sends a query at the end of this turn, with everything that arrives in the turn, or after the query that is running. */
  #ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    void Promise.resolve().then(async () => {
      // A request may have begun to wait after `#askOnce` found nothing to do.
      while ((await this.#askOnce()) || this.#line.length > 0);
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

  /** Gives the granted units to the waiting requests, first come, first served. */
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
        // The active limit may be newer than the limit at admission.
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

  /**
   * Removes slices about which the store knows everything. Sets a timer if some slices have units, or if a failure left something to
   * report.
   */
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

/** Streams are counted even under limits without a number for streams, because a new policy may add one. */
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

/** Milliseconds until a retry makes sense. The wait is more than 0, because the store has refused the units. */
const waitOf = ({ slice, units }: LimitNeed): number =>
  slice.bucket ? Math.max(1, waitMs(slice.bucket, units)) : STREAM_RETRY_MS;
