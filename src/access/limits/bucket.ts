import { MINUTE_MS } from '../../core/clock.ts';
/**
 * A token bucket in integers. Its level is counted in grains of 1/60,000 of a unit, so that each millisecond adds
 * exactly `perMinute` grains and nothing is rounded: with limits up to 10^9 all figures stay below 2^53, where doubles
 * are exact.
 * The law: in any `w` milliseconds at most `perMinute` + `perMinute` × w / 60,000 units pass, apart from what a single
 * request takes beyond a full bucket.
 * Has no clock. Times are whole milliseconds; a time before the last counts as the last.
 */
export interface Bucket {
  /** Grains. Negative when more was used than expected. */
  left: number;
  /** The time of `left`. */
  at: number;
  /** The limit of `left`. */
  perMinute: number;
}

/** The largest debt, so that sums stay exact. No request can owe so much. */
const DEBT_MAX = 2 ** 52;

export function fullBucket(perMinute: number, now: number): Bucket {
  return { left: perMinute * MINUTE_MS, at: now, perMinute };
}

/** Refills a bucket up to `now`. Under another limit it keeps its relative level. */
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
  // Only a sum that is not above `most` needs to be exact.
  bucket.left = came >= most - left ? most : left + came;
  bucket.at = now;
}

/** left × to / from, rounded down. The product would not be exact as a double. */
function scaled(left: number, to: number, from: number): number {
  const product = BigInt(left) * BigInt(to);
  const whole = product / BigInt(from);
  return Number(product < 0n && whole * BigInt(from) !== product ? whole - 1n : whole);
}

/** Milliseconds until the units may be taken; 0 for now. A full bucket gives more than it holds. */
export function waitMs({ left, perMinute }: Bucket, units: number): number {
  const needed = Math.min(units, perMinute) * MINUTE_MS;
  return left >= needed ? 0 : Math.ceil((needed - left) / perMinute);
}

/** Takes units even if they are missing. Gives negative units back, up to a full bucket. */
export function take(bucket: Bucket, units: number): void {
  const most = bucket.perMinute * MINUTE_MS;
  bucket.left = Math.max(-DEBT_MAX, Math.min(most, bucket.left - units * MINUTE_MS));
}

export function unitsLeft({ left }: Bucket): number {
  return Math.max(0, Math.floor(left / MINUTE_MS));
}

/** Milliseconds until it is full. */
export function fullAfterMs({ left, perMinute }: Bucket): number {
  return Math.ceil((perMinute * MINUTE_MS - left) / perMinute);
}
