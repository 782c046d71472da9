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

/** The measured speed of an endpoint. `EndpointSpeed` ignores absurd values (0, negative, NaN, infinite). */
export class EndpointSpeed {
  readonly ttft = new LearnedMedian(TTFT_MS);
  /** The time to the first content if most of the prompt is in the provider's cache. */
  readonly warmTtft = new LearnedMedian(TTFT_MS);
  readonly rate = new LearnedMedian(RATE);
  /** The time to the first content in the catalog of the latest snapshot that names the endpoint, in ms. */
  assumedTtftMs = Number.NaN;

  observeTtft(ms: number, isWarm: boolean, now: number): void {
    if (ms > 0 && ms <= TTFT_MS.range[1]) (isWarm ? this.warmTtft : this.ttft).observe(ms, now);
  }

  /** Records a measured output rate; all times are in ms. @param totalMs the time of an unstreamed answer; null for a stream */
  observeOutput(tokens: number, outputMs: number, totalMs: number | null, now: number): void {
    if (!(tokens >= TOKENS_MIN)) return;
    const ms = totalMs === null ? outputMs : this.#outputOf(totalMs);
    if (!(ms >= OUTPUT_MS_MIN)) return;
    const rate = (tokens * 1_000) / ms;
    const [lowest, highest] = RATE.range;
    if (rate >= lowest && rate <= highest) this.rate.observe(rate, now);
  }

  publish(now: number): boolean {
    const ttft = this.ttft.publish(now);
    const warmTtft = this.warmTtft.publish(now);
    const rate = this.rate.publish(now);
    return ttft || warmTtft || rate;
  }

  /** Returns the output's part of an answer's time in ms; NaN if the first token may have taken most of it. */
  #outputOf(totalMs: number): number {
    const { ttft, assumedTtftMs } = this;
    const ttftMs = ttft.published === null ? assumedTtftMs : ttft.blendedWith(assumedTtftMs);
    const rest = totalMs - ttftMs;
    return rest >= ttftMs ? rest : Number.NaN;
  }
}
