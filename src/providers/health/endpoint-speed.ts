import type { DeclaredLatency } from '../../core/policy/snapshot.ts';
import { LearnedMedian, type MedianOptions } from './learned-median.ts';
import { HALF_LIFE_MS } from './quantile.ts';

/**
 * The weight of the catalog's figure in answers, by its source. An estimated figure has less weight than a stated figure, so measurements
 * replace it sooner.
 */
export const PRIOR_ANSWERS = { stated: 3, estimated: 1, neutral: 1, slow: 1 } as const;
/** The output rate of an answer with fewer tokens would measure network packets rather than the model. */
const TOKENS_MIN = 16;
const OUTPUT_MS_MIN = 50;

const OF_ENDPOINTS = { halfLifeMs: HALF_LIFE_MS, priorAnswers: PRIOR_ANSWERS.stated };
const TTFT_MS: MedianOptions = { range: [1, 3_600_000], ...OF_ENDPOINTS };
const RATE: MedianOptions = { range: [0.1, 100_000], ...OF_ENDPOINTS };

const UNKNOWN = { ttftMs: Number.NaN, outputTokensPerSecond: Number.NaN };

/** The measured speed of an endpoint. `EndpointSpeed` ignores absurd values (0, negative, NaN, infinite). */
export class EndpointSpeed {
  readonly ttft = new LearnedMedian(TTFT_MS);
  /** The time to the first content if most of the prompt is in the provider's cache. */
  readonly warmTtft = new LearnedMedian(TTFT_MS);
  readonly rate = new LearnedMedian(RATE);
  /** The figures in the catalog of the latest snapshot that names the endpoint. */
  assumed: Pick<DeclaredLatency, 'ttftMs' | 'outputTokensPerSecond'> = UNKNOWN;

  /** The number of answers whose speed was measured and is not forgotten. */
  get answers(): number {
    return Math.max(this.ttft.count + this.warmTtft.count, this.rate.count);
  }

  observeTtft(ms: number, isWarm: boolean, now: number): void {
    if (ms > 0 && ms <= TTFT_MS.range[1]) (isWarm ? this.warmTtft : this.ttft).observe(ms, now);
  }

  /** Records a measured output rate. Returns false if the figures are too small or absurd. @param ms the time of the output */
  observeOutput(tokens: number, ms: number, now: number): boolean {
    if (!(tokens >= TOKENS_MIN && ms >= OUTPUT_MS_MIN)) return false;
    const rate = (tokens * 1_000) / ms;
    const [lowest, highest] = RATE.range;
    if (rate < lowest || rate > highest) return false;
    this.rate.observe(rate, now);
    return true;
  }

  /**
   * Records the speed of an unstreamed answer: its output rate if the output took at least half of the time; otherwise the time to the first
   * token, which took at least the other half.
   */
  observeWhole(tokens: number, totalMs: number, isWarm: boolean, now: number): void {
    const ttftMs = this.ttft.blendedWith(this.assumed.ttftMs);
    const rest = totalMs - ttftMs;
    if (rest >= ttftMs && this.observeOutput(tokens, rest, now)) return;
    const outputMs = (1_000 * tokens) / this.rate.blendedWith(this.assumed.outputTokensPerSecond);
    this.observeTtft(totalMs - Math.min(totalMs / 2, outputMs), isWarm, now);
  }

  publish(now: number): boolean {
    const ttft = this.ttft.publish(now);
    const warmTtft = this.warmTtft.publish(now);
    const rate = this.rate.publish(now);
    return ttft || warmTtft || rate;
  }
}
