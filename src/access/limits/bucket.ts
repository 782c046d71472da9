import { MINUTE_MS } from '../../core/time/clock.ts';
/**
 * A token bucket in integers. The level of a bucket is counted in grains of 1/60,000 of a unit. Each millisecond adds exactly `perMinute`
 * grains, so nothing is rounded. With limits up to 10^9, all numbers stay below 2^53 and are exact as floating-point numbers. The law: in
 * any `w` milliseconds at most `perMinute` + `perMinute` × w / 60,000 units pass, apart from what a single request takes beyond a full
 * bucket. The bucket has no clock. Times are whole milliseconds. A time before the last one counts as the last one.
 */
export interface Bucket {
  /** The level in grains; negative if more units were used than expected. */
  left: number;
  /** The time for which `left` is the level. */
  at: number;
  /** The limit for which `left` is the level. */
  perMinute: number;
}

/** The largest debt, so that sums stay exact. No request can cause a debt of this size. */
const DEBT_MAX = 2 ** 52;

export function fullBucket(perMinute: number, now: number): Bucket {
  return { left: perMinute * MINUTE_MS, at: now, perMinute };
}

/** Refills a bucket up to `now`. If the limit has changed, the bucket keeps its relative level. */
export function refill(bucket: Bucket, perMinute: number, now: number): void {
  bringUp(bucket, now);
  if (bucket.perMinute === perMinute) return;
  bucket.left = scaled(bucket.left, perMinute, bucket.perMinute);
  bucket.perMinute = perMinute;
}

function bringUp(bucket: Bucket, now: number): void {
  const elapsed = now - bucket.at;
  if (elapsed <= 0) return;
  const { left, perMinute } = bucket;
  const most = perMinute * MINUTE_MS;
  const came = elapsed * perMinute;
  // The sum must be exact only if it is not above `most`.
  bucket.left = came >= most - left ? most : left + came;
  bucket.at = now;
}

/** Computes left × to / from, rounded down, with BigInt, because the product would not be exact as a floating-point number. */
function scaled(left: number, to: number, from: number): number {
  const product = BigInt(left) * BigInt(to);
  const whole = product / BigInt(from);
  return Number(product < 0n && whole * BigInt(from) !== product ? whole - 1n : whole);
}

/** Milliseconds until the units may be taken; 0 for now. A full bucket allows a request that needs more than the bucket holds. */
export function waitMs({ left, perMinute }: Bucket, units: number): number {
  const needed = Math.min(units, perMinute) * MINUTE_MS;
  return left >= needed ? 0 : Math.ceil((needed - left) / perMinute);
}

/** Takes units even if the bucket does not have them. A negative number gives units back to the bucket until it is full. */
export function take(bucket: Bucket, units: number): void {
  const most = bucket.perMinute * MINUTE_MS;
  bucket.left = Math.max(-DEBT_MAX, Math.min(most, bucket.left - units * MINUTE_MS));
}

export function unitsLeft({ left }: Bucket): number {
  return Math.max(0, Math.floor(left / MINUTE_MS));
}

/** Milliseconds until the bucket is full. */
export function fullAfterMs({ left, perMinute }: Bucket): number {
  return Math.ceil((perMinute * MINUTE_MS - left) / perMinute);
}
