import { type Bucket, fullBucket, refill, take, unitsLeft } from '../../../src/access/limits/bucket.ts';
import { MINUTE_MS } from '../../../src/core/time/clock.ts';
import type { InstanceName } from '../../../src/store/instance.ts';
import { AHEAD_MS, type RateDemand, type RateGrant } from '../../../src/store/rates.ts';

/** A row of the rate limits: its bucket, and the units taken in advance in the current second and in the previous one. */
interface MemoryRate {
  readonly bucket: Bucket;
  second: number;
  ahead: number;
  before: number;
}

/** The rate limits of a store in memory, which several instances share. Tests replace functions of this class with faulty ones. */
export class MemoryRates {
  readonly #now: () => number;
  readonly #lives: (name: InstanceName) => boolean;
  readonly #rows = new Map<string, MemoryRate>();
  readonly #streams = new Map<string, Map<string, { readonly name: InstanceName; readonly count: number }>>();

  /**
   * @param now the store's clock, ms since 1970
   * @param lives returns whether the lease of an instance is valid
   */
  constructor(now: () => number, lives: (name: InstanceName) => boolean) {
    this.#now = now;
    this.#lives = lives;
  }

  take(name: InstanceName, demands: readonly RateDemand[]): RateGrant[] {
    return demands.map((demand) => {
      const id = JSON.stringify([demand.limit, demand.subject, demand.unit]);
      return demand.unit === 'streams' ? this.#takeStreams(id, name, demand) : this.#takeUnits(id, demand);
    });
  }

  /** Deletes the rows of full buckets and of dead instances. */
  prune(): void {
    for (const [id, { bucket }] of this.#rows) {
      refill(bucket, bucket.perMinute, this.#now());
      if (bucket.left === bucket.perMinute * MINUTE_MS) this.#rows.delete(id);
    }
  }

  #takeUnits(id: string, { most, need, ahead, back }: RateDemand): RateGrant {
    const now = this.#now();
    const row = this.#rows.get(id) ?? { bucket: fullBucket(most, now), second: 0, ahead: 0, before: 0 };
    this.#rows.set(id, row);
    const { bucket } = row;
    refill(bucket, most, now);
    this.roll(row, Math.floor(bucket.at / AHEAD_MS));
    take(bucket, -back);
    bucket.left = Math.min(bucket.left, this.room(most, row.ahead + row.before));
    const granted = Math.min(need, unitsLeft(bucket));
    take(bucket, granted);
    const given = Math.max(0, Math.min(ahead, Math.floor(most / 60) - row.ahead, unitsLeft(bucket)));
    take(bucket, given);
    row.ahead += given;
    return { granted, ahead: given, left: bucket.left };
  }

  protected roll(row: MemoryRate, second: number): void {
    if (second === row.second) return;
    row.before = second === row.second + 1 ? row.ahead : 0;
    row.ahead = 0;
    row.second = second;
  }

  /** Returns how far a bucket fills up while units are taken in advance, in the bucket's smallest unit. */
  protected room(most: number, out: number): number {
    return Math.max(0, most - out) * MINUTE_MS;
  }

  #takeStreams(id: string, name: InstanceName, { most, need, held }: RateDemand): RateGrant {
    const holders = this.#streams.getOrInsertComputed(id, () => new Map());
    const own = `${name.slot} ${name.epoch}`;
    let others = 0;
    for (const [key, { name, count }] of holders) if (key !== own && this.#lives(name)) others += count;
    const granted = Math.max(0, Math.min(need, most - others - held));
    if (held + granted > 0) holders.set(own, { name, count: held + granted });
    else holders.delete(own);
    return { granted, ahead: 0, left: most - others - held - granted };
  }
}
