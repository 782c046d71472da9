import { SIGNALS, type Signal } from '../core/learning-policy.ts';
import type { AnswerSignals } from './answer.ts';

/** The prior probability that a bad answer shows a signal. */
const GUESSES: Readonly<Record<Signal, number>> = {
  schema: 0.3,
  tool_arguments: 0.3,
  refusal: 0.1,
  empty: 0.03,
  retry: 0.1,
};
/** The weight of the prior in bad answers: as many as 200 answers have if three quarters are good. */
const GUESS_COUNT = 50;
/** Bounds the probability that an answer shows a signal, so that the absence of signals still counts. */
const SHOWN_MAX = 0.9;
/** Bounds the quality away from 0 and 1, where signals would carry no information. */
const QUALITY_MIN = 0.02;

/** The outcome that the signals of an answer imply. */
interface SignalVerdict {
  readonly source: 'checks' | 'retry';
  /** 0..1 */
  readonly score: number;
  /** In outcomes: above 0, at most 1. */
  readonly weight: number;
  /** The signals that were checked, as bits by `SIGNALS`. */
  readonly looked: number;
  /** The signal that the answer showed, the one with the most weight; null if it showed none. */
  readonly blamed: Signal | null;
}

/** Smaller weights are no outcome. */
const WEIGHT_MIN = 1e-9;

type Weights = Readonly<Record<Signal, number>>;

/**
 * φ, the probability that a bad answer shows each signal. Learned over the answers of all models, so that a failure
 * common to all moves none.
 */
export class SignalRates {
  /** By `SIGNALS`: answers that showed the signal, and the expected number of bad answers among those checked. */
  readonly #shown: Float64Array;
  readonly #bad: Float64Array;

  constructor(sums: SignalSums = { shown: [], bad: [] }) {
    this.#shown = Float64Array.from(SIGNALS, (_, at) => sums.shown[at] ?? 0);
    this.#bad = Float64Array.from(SIGNALS, (_, at) => sums.bad[at] ?? 0);
  }

  of(signal: Signal): number {
    const at = SIGNALS.indexOf(signal);
    return (GUESS_COUNT * GUESSES[signal] + this.#shown[at]!) / (GUESS_COUNT + this.#bad[at]!);
  }

  /** @param share how much of the answer counts, 0..1 */
  note({ looked, blamed }: Pick<SignalVerdict, 'looked' | 'blamed'>, quality: number, share: number): void {
    for (let at = 0; at < SIGNALS.length; at++) {
      if (looked & (1 << at)) this.#bad[at]! += share * (1 - clampQuality(quality));
      if (blamed === SIGNALS[at]) this.#shown[at]! += share;
    }
  }

  get sums(): SignalSums {
    return { shown: [...this.#shown], bad: [...this.#bad] };
  }
}

interface SignalSums {
  readonly shown: readonly number[];
  readonly bad: readonly number[];
}

const clampQuality = (quality: number): number => Math.min(1 - QUALITY_MIN, Math.max(QUALITY_MIN, quality));

/**
 * The outcome to learn from the signals of an answer; null if there is none.
 *
 * An answer that shows signal s has score 0 and weight κ·w_s. That alone would lower every model in use. So an answer
 * that shows none counts as well, with the weight that keeps the mean in place while bad answers, and only they, show s
 * with probability φ_s. With Σ over the checked signals, r = (1−Q)·Σφ_s the probability that one is shown, and a mean
 * that moves by weight × (score − Q), the expected move is
 *
 *   Σ (1−Q)·φ_s·κ·w_s·(0 − Q)  +  (1 − r)·W·(S − Q)  =  0   ⇔   W·(S − Q) = κ·(1−Q)·N,   N = Q·Σφ_s·w_s/(1 − r).
 *
 * W = κ·max(Σφ_s·w_s, N) and S = Q + (1−Q)·N/max(Σφ_s·w_s, N) solve it with S ≤ 1, and κ = min(1, 1/max(Σφ_s·w_s, N))
 * keeps W ≤ 1: if signals are more frequent than bad answers, each counts less. A retry follows the check, so it is in
 * the sums of weights and not in r.
 * @param quality Q, the current estimate for the answer, 0..1
 */
export function judge(
  signals: AnswerSignals,
  weights: Weights,
  rates: Pick<SignalRates, 'of'>,
  quality: number,
): SignalVerdict | null {
  return signals.retry === undefined
    ? checkVerdict(signals, weights, rates, clampQuality(quality))
    : retryVerdict(signals.retry, weights, rates, clampQuality(quality));
}

function checkVerdict(
  signals: AnswerSignals,
  weights: Weights,
  rates: Pick<SignalRates, 'of'>,
  q: number,
): SignalVerdict | null {
  let looked = 0;
  let shown = 0;
  let worth = 0;
  let blamed: Signal | null = null;
  for (let at = 0; at < SIGNALS.length; at++) {
    const signal = SIGNALS[at]!;
    const weight = weights[signal];
    if (weight < WEIGHT_MIN || (signal !== 'retry' && signals[signal] === undefined)) continue;
    const rate = rates.of(signal);
    looked |= 1 << at;
    worth += rate * weight;
    if (signal !== 'retry') shown += rate;
    if (signals[signal] && (blamed === null || weight > weights[blamed])) blamed = signal;
  }
  if (worth < WEIGHT_MIN) return null;
  const needed = (q * worth) / (1 - Math.min(SHOWN_MAX, (1 - q) * shown));
  const most = Math.max(worth, needed);
  const part = Math.min(1, 1 / most);
  if (blamed !== null) return { source: 'checks', score: 0, weight: part * weights[blamed], looked, blamed };
  const score = Math.min(1, q + ((1 - q) * needed) / most);
  return { source: 'checks', score, weight: Math.min(1, part * most), looked, blamed };
}

/** The check of the answer already counted the absence of a retry. */
function retryVerdict(
  isRetried: boolean,
  weights: Weights,
  rates: Pick<SignalRates, 'of'>,
  q: number,
): SignalVerdict | null {
  const weight = Math.min(weights.retry, 1 / Math.max(1, q * rates.of('retry')));
  return isRetried && weight > WEIGHT_MIN ? { source: 'retry', score: 0, weight, looked: 0, blamed: 'retry' } : null;
}
