import { MINUTE_MS } from '../../core/clock.ts';
import { AHEAD_MS, type RateDemand, type RateUnit } from '../../store/rates.ts';
import type { LimitAccount } from './accounts.ts';
import { type Bucket, refill, take } from './bucket.ts';

/** For so long a refusal by the store is repeated without asking again, ms: a caller who goes on costs no more statements. */
const REFUSED_MS = 250;

/** The slices of one account. */
export type Slices = Readonly<Record<RateUnit, Slice>>;

export const slicesFor = (account: LimitAccount): Slices => ({
  requests: new Slice(account, 'requests'),
  tokens: new Slice(account, 'tokens'),
  streams: new Slice(account, 'streams'),
});

/** Units that were granted ahead. */
interface SliceBatch {
  units: number;
  readonly until: number;
}

/** What this instance has of one limit, subject and unit. The bucket of its account shows the store's, and the own units. */
export class Slice {
  readonly account: LimitAccount;
  readonly unit: RateUnit;
  /** Units a minute, or streams at once. */
  most = 1;
  /** Units for requests that wait, or that have come for them. */
  need = 0;
  /** When the store was asked last, whole ms; -Infinity for never. */
  askedAt = Number.NEGATIVE_INFINITY;
  /** In the order of their ends. */
  readonly #batches: SliceBatch[] = [];
  /** To be given back; negative: to be debited. */
  #back = 0;
  /** Used since a moment, and in the half second before it. */
  #used = 0;
  #usedBefore = 0;
  #usedFrom = Number.NEGATIVE_INFINITY;
  /** Whether the streams that are open are others than the store knows. */
  #isChanged = false;
  #refusedUntil = Number.NEGATIVE_INFINITY;
  #refused = 0;
  #aheadWanted = 0;
  /** Before that nothing is wanted ahead: the store had too little. */
  #aheadFrom = Number.NEGATIVE_INFINITY;

  constructor(account: LimitAccount, unit: RateUnit) {
    this.account = account;
    this.unit = unit;
  }

  /** The bucket that shows it; null for streams. */
  get bucket(): Bucket | null {
    return this.unit === 'streams' ? null : this.account[this.unit];
  }

  /** Units at hand. */
  get left(): number {
    return this.#batches.reduce((sum, { units }) => sum + units, 0);
  }

  /** When the first of its units can be used no more; Infinity without any. */
  get until(): number {
    return this.#batches[0]?.until ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the store is to hear of units. */
  get isDirty(): boolean {
    return this.#back !== 0 || this.#isChanged;
  }

  /** The store is to hear of the streams that are open. */
  change(): void {
    this.#isChanged = true;
  }

  /** Whether somebody waits for what the store is to hear: a stream that ended may free the place that another instance asks for. */
  isUrgent(now: number): boolean {
    return this.need > 0 || this.#isChanged || this.wantsAhead(now);
  }

  /** Whether half of what was had ahead is used up. */
  wantsAhead(now: number): boolean {
    return this.#target(now) > 2 * this.left;
  }

  /** Whether the store has just refused as many units. */
  isRefused(units: number, now: number): boolean {
    return now < this.#refusedUntil && units >= this.#refused;
  }

  /** Takes units that are at hand, of which there are so many. */
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

  /** Counts units that were used: so many more are taken ahead. */
  note(units: number, now: number): void {
    this.#roll(now);
    this.#used += units;
  }

  /** Notes units that were used without a grant; gives negative ones back. */
  debit(units: number, now: number): void {
    this.#back -= units;
    this.#show(units, now);
  }

  /** Gives back what is too old to be used. */
  expire(now: number): void {
    while (this.until <= now) this.#back += this.#batches.shift()!.units;
  }

  /** The demand, from the moment of its sending on. Where requests wait, what is at hand is given back: a grant is of one moment. */
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

  /** Takes what was granted ahead, and shows what is left. @param from when the store was asked */
  granted(ahead: number, left: number, from: number, now: number): void {
    if (ahead < this.#aheadWanted) this.#aheadFrom = now + REFUSED_MS;
    if (ahead > 0) this.#batches.push({ units: ahead, until: from + AHEAD_MS });
    const { bucket } = this;
    if (!bucket) return;
    refill(bucket, this.most, now);
    // What the store has not heard of yet counts in what is shown, too.
    bucket.left = left + (this.left + this.#back) * MINUTE_MS;
  }

  /** The demand has failed: debts stay, and whatever was given back is lost at most. */
  failed({ back }: RateDemand): void {
    this.#back += Math.min(0, back);
    this.#isChanged = this.unit === 'streams';
  }

  /** Remembers that the store refuses so many units, for at most `ms`. */
  refuse(units: number, ms: number, now: number): void {
    if (this.unit === 'streams') return;
    this.#refused = units;
    this.#refusedUntil = now + Math.min(ms, REFUSED_MS);
  }

  /** Units were given back, so that there may be some again. */
  forgetRefusal(): void {
    this.#refusedUntil = Number.NEGATIVE_INFINITY;
  }

  #show(units: number, now: number): void {
    const { bucket } = this;
    if (!bucket) return;
    refill(bucket, bucket.perMinute, now);
    take(bucket, units);
  }

  /** Units to have at hand: as many as were used of late, and no more than a second of the rate. */
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
