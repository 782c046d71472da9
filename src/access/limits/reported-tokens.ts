import { MINUTE_MS } from '../../core/time/clock.ts';
import { type Bucket, fullBucket, refill, take } from './bucket.ts';

/**
 * The tokens of an endpoint that remain according to its provider. The attempts that were running when the provider reported them may be
 * part of the report, so the tokens that these attempts return do not raise the level of the endpoint above the report. Times are whole
 * milliseconds that never decrease.
 */
export class ReportedTokens {
  /** The tokens that remain now: the report, refilled, without the tokens of later attempts. Null if it limits nothing. */
  #bucket: Bucket | null = null;
  /** The number of attempts that had begun at the report. */
  #begunAtReport = 0;
  #begun = 0;

  /** Notes that an attempt has taken tokens. @returns the number of the attempt */
  begin(tokens: number, now: number): number {
    if (this.#bucket) {
      refill(this.#bucket, this.#bucket.perMinute, now);
      take(this.#bucket, tokens);
    }
    return ++this.#begun;
  }

  /** Notes a report of the provider. */
  report(left: number, perMinute: number, now: number): void {
    this.#bucket = fullBucket(perMinute, now);
    take(this.#bucket, Math.max(0, perMinute - Math.floor(left)));
    this.#begunAtReport = this.#begun;
  }

  /**
   * Returns how many unused tokens of an attempt return to the level of the endpoint.
   * @param attempt as `begin` returned it
   * @param unused negative if the attempt used more than it took
   * @param level of the endpoint, refilled up to now; null without a limit on tokens
   */
  returned(attempt: number, unused: number, level: Bucket | null, now: number): number {
    const bucket = this.#bucket;
    if (!bucket || !level) return unused;
    refill(bucket, level.perMinute, now);
    if (bucket.left === bucket.perMinute * MINUTE_MS) this.#bucket = null;
    if (attempt > this.#begunAtReport) take(bucket, -unused);
    else if (unused > 0) return Math.min(unused, Math.max(0, Math.floor((bucket.left - level.left) / MINUTE_MS)));
    return unused;
  }
}
