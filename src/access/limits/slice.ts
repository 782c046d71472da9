import { MINUTE_MS } from '../../core/time/clock.ts';
import { AHEAD_MS, type RateDemand, type RateUnit } from '../../store/rates.ts';
import type { LimitAccount } from './accounts.ts';
import { type Bucket, refill, take } from './bucket.ts';

/** How long a refusal by the store is repeated without asking again, ms, so that a caller who keeps trying causes no further queries. */
const REFUSED_MS = 250;

/** The slices that belong to one account. */
export type Slices = Readonly<Record<RateUnit, Slice>>;

export const slicesFor = (account: LimitAccount): Slices => ({
  requests: new Slice(account, 'requests'),
  tokens: new Slice(account, 'tokens'),
  streams: new Slice(account, 'streams'),
});

/** Units that the store granted in advance. */
interface SliceBatch {
  units: number;
  readonly until: number;
}

/** The units that this instance has for one limit and subject. The bucket of the account shows the level in the store plus these units. */
export class Slice {
  readonly account: LimitAccount;
  readonly unit: RateUnit;
  /** Units per minute, or streams at the same time. */
  most = 1;
  /** Units for requests that wait, or that were granted to them. */
  need = 0;
  /** When the store was last asked, whole ms; -Infinity for never. */
  askedAt = Number.NEGATIVE_INFINITY;
  /** Sorted by the time when their units expire. */
  readonly #batches: SliceBatch[] = [];
  /** Units to return to the store; negative for units to debit. */
  #back = 0;
  /** Units used since a moment, and in the half second before it. */
  #used = 0;
  #usedBefore = 0;
  #usedFrom = Number.NEGATIVE_INFINITY;
  /** Whether the number of open streams differs from what the store knows. */
  #isChanged = false;
  #refusedUntil = Number.NEGATIVE_INFINITY;
  #refused = 0;
  #aheadWanted = 0;
  /** Before this time, no units are requested in advance, because the store had too few. */
  #aheadFrom = Number.NEGATIVE_INFINITY;

  constructor(account: LimitAccount, unit: RateUnit) {
    this.account = account;
    this.unit = unit;
  }

  /** The bucket that shows the level; null for streams. */
  get bucket(): Bucket | null {
    return this.unit === 'streams' ? null : this.account[this.unit];
  }

  /** The units that can be used now. */
  get left(): number {
    return this.#batches.reduce((sum, { units }) => sum + units, 0);
  }

  /** The time at which the first unit of a rate limit that this server holds expires; Infinity if the server holds no units. */
  get until(): number {
    return this.#batches[0]?.until ?? Number.POSITIVE_INFINITY;
  }

  /** Whether there is something to report to the store. */
  get isDirty(): boolean {
    return this.#back !== 0 || this.#isChanged;
  }

  /** Notes that the number of open streams must be reported to the store. */
  change(): void {
    this.#isChanged = true;
  }

  /** Whether another server may be waiting for the report: a stream that ended may free the slot that another server asks for. */
  isUrgent(now: number): boolean {
    return this.need > 0 || this.#isChanged || this.wantsAhead(now);
  }

  /** Whether half of the units granted in advance are used up. */
  wantsAhead(now: number): boolean {
    return this.#target(now) > 2 * this.left;
  }

  /** Whether the store has just refused this many units. */
  isRefused(units: number, now: number): boolean {
    return now < this.#refusedUntil && units >= this.#refused;
  }

  /** Takes units from this slice. The caller has checked that there are enough. */
  use(units: number, now: number): void {
    let missing = units;
    for (let batch = this.#batches[0]; batch && missing > 0; batch = this.#batches[0]) {
      const taken = Math.min(missing, batch.units);
      batch.units -= taken;
      missing -= taken;
      if (batch.units === 0) this.#batches.shift();
    }
    this.note(units, now);
    this.#show(units, now);
  }

  /** Counts units that were used. The next request in advance covers as many. */
  note(units: number, now: number): void {
    this.#roll(now);
    this.#used += units;
  }

  /** Notes units that were used without a grant. A negative number gives units back to the store. */
  debit(units: number, now: number): void {
    this.#back -= units;
    this.#show(units, now);
  }

  /** Returns units that are too old to be used. */
  expire(now: number): void {
    while (this.until <= now) this.#back += this.#batches.shift()!.units;
  }

  /** The demand to send now. If requests wait, all units of the slice are returned, because a grant must come from a single moment. */
  demand(now: number): RateDemand {
    this.expire(now);
    const { need, most, unit, account } = this;
    if (need > 0) {
      this.#back += this.left;
      this.#batches.length = 0;
    }
    const ahead = Math.max(0, this.#target(now) - this.left);
    this.#aheadWanted = ahead;
    const back = this.#back;
    this.#back = 0;
    this.#isChanged = false;
    this.askedAt = now;
    const held = unit === 'streams' ? account.streams : 0;
    return { limit: account.table.limit, subject: account.subject, unit, most, need, ahead, back, held };
  }

  /** Adds the units that were granted in advance, and updates the shown level. @param from when the store was asked */
  granted(ahead: number, left: number, from: number, now: number): void {
    if (ahead < this.#aheadWanted) this.#aheadFrom = now + REFUSED_MS;
    if (ahead > 0) this.#batches.push({ units: ahead, until: from + AHEAD_MS });
    const { bucket } = this;
    if (!bucket) return;
    refill(bucket, this.most, now);
    // The shown level includes units that were not reported to the store yet.
    bucket.left = left + (this.left + this.#back) * MINUTE_MS;
  }

  /** Notes that the query failed. Debts stay in the slice, and units that the query returned may be lost. */
  failed({ back }: RateDemand): void {
    this.#back += Math.min(0, back);
    this.#isChanged = this.unit === 'streams';
  }

  /** Remembers that the store refuses this many units, for at most `ms`. */
  refuse(units: number, ms: number, now: number): void {
    if (this.unit === 'streams') return;
    this.#refused = units;
    this.#refusedUntil = now + Math.min(ms, REFUSED_MS);
  }

  /** Units were returned, so the store may have some again. */
  forgetRefusal(): void {
    this.#refusedUntil = Number.NEGATIVE_INFINITY;
  }

  #show(units: number, now: number): void {
    const { bucket } = this;
    if (!bucket) return;
    refill(bucket, bucket.perMinute, now);
    take(bucket, units);
  }

  /** How many units to have in advance: as many as were used recently, and at most one second of the rate. */
  #target(now: number): number {
    if (this.unit === 'streams' || now < this.#aheadFrom) return 0;
    this.#roll(now);
    return Math.min(Math.floor((this.most * AHEAD_MS) / MINUTE_MS), this.#usedBefore + this.#used);
  }

  #roll(now: number): void {
    const elapsed = now - this.#usedFrom;
    if (elapsed < AHEAD_MS / 2) return;
    this.#usedBefore = elapsed < AHEAD_MS ? this.#used : 0;
    this.#used = 0;
    this.#usedFrom = now;
  }
}
