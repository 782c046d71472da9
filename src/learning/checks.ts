import { SIGNALS, type Signal } from '../core/learning-policy.ts';
import type { Witnessed } from './learner.ts';

/** How often a bad answer is thought to show a signal, before any was seen. */
const GUESSES: Readonly<Record<Signal, number>> = {
  schema: 0.3,
  tool_arguments: 0.3,
  refusal: 0.1,
  empty: 0.03,
  retry: 0.1,
};
/** As how many bad answers the guess counts: those of 200 answers of which three quarters are good. */
const GUESS_WORTH = 50;
/** An answer is never thought surer than this to show a signal, so that one that shows none still tells something. */
const SHOWN_MAX = 0.9;
/** Of what is never or always good nothing could be told. */
const QUALITY_MIN = 0.02;

/** What a look at an answer comes to. */
export interface Verdict {
  readonly source: 'checks' | 'retry';
  /** 0..1 */
  readonly score: number;
  /** As how many outcomes it counts, above 0, at most 1. */
  readonly weight: number;
  /** What was looked for, as bits by `SIGNALS`. */
  readonly looked: number;
  /** The signal that the answer showed; the weightiest of several. */
  readonly blamed: Signal | null;
}

/** What weighs less is nothing that could be told. */
const WORTH_MIN = 1e-9;

type Weights = Readonly<Record<Signal, number>>;

const bitOf = (signal: Signal): number => 1 << SIGNALS.indexOf(signal);

/**
 * How often a bad answer shows each signal, φ: learnt from the answers of all models together, so that what fails
 * everywhere alike moves nobody.
 */
export class SignalRates {
  /** By `SIGNALS`: answers that showed it, and bad answers to be expected among those that were looked at. */
  readonly #shown: Float64Array;
  readonly #bad: Float64Array;

  constructor(kept: SignalSums = { shown: [], bad: [] }) {
    this.#shown = Float64Array.from(SIGNALS, (_, at) => kept.shown[at] ?? 0);
    this.#bad = Float64Array.from(SIGNALS, (_, at) => kept.bad[at] ?? 0);
  }

  of(signal: Signal): number {
    const at = SIGNALS.indexOf(signal);
    return (GUESS_WORTH * GUESSES[signal] + this.#shown[at]!) / (GUESS_WORTH + this.#bad[at]!);
  }

  /** `share`: how much of it counts, 0..1. */
  note({ looked, blamed }: Pick<Verdict, 'looked' | 'blamed'>, quality: number, share: number): void {
    for (const [at, signal] of SIGNALS.entries()) {
      if (looked & bitOf(signal)) this.#bad[at]! += share * (1 - within(quality));
      if (blamed === signal) this.#shown[at]! += share;
    }
  }

  get sums(): SignalSums {
    return { shown: [...this.#shown], bad: [...this.#bad] };
  }
}

export interface SignalSums {
  readonly shown: readonly number[];
  readonly bad: readonly number[];
}

const within = (quality: number): number => Math.min(1 - QUALITY_MIN, Math.max(QUALITY_MIN, quality));

/**
 * What an outcome is to be learnt of an answer; null for none. Q is its present estimate.
 *
 * An answer that shows signal s is one of score 0 and weight κ·w_s. Were that all, every model that is used would sink.
 * So an answer that shows none counts as well, by as much as keeps the mean where it is while bad answers, and they
 * alone, show s with probability φ_s. With Σ over what was looked for, r = (1−Q)·Σφ_s the chance that one is
 * shown, and a mean that moves by weight × (score − Q), what is expected is
 *
 *   Σ (1−Q)·φ_s·κ·w_s·(0 − Q)  +  (1 − r)·W·(S − Q)  =  0   ⇔   W·(S − Q) = κ·(1−Q)·N,   N = Q·Σφ_s·w_s/(1 − r).
 *
 * W = κ·max(Σφ_s·w_s, N) and S = Q + (1−Q)·N/max(Σφ_s·w_s, N) solve it with S ≤ 1, and κ = min(1, 1/max(Σφ_s·w_s, N))
 * keeps W ≤ 1: where signals are shown more often than answers are bad, each tells less. A retry comes after the
 * look, so it is in the sums of weights and not in r.
 */
export function judge(
  witnessed: Witnessed,
  weights: Weights,
  rates: Pick<SignalRates, 'of'>,
  quality: number,
): Verdict | null {
  return witnessed.retry === undefined
    ? looksOf(witnessed, weights, rates, within(quality))
    : retryOf(witnessed.retry, weights, rates, within(quality));
}

function looksOf(witnessed: Witnessed, weights: Weights, rates: Pick<SignalRates, 'of'>, q: number): Verdict | null {
  let looked = 0;
  let shown = 0;
  let worth = 0;
  let blamed: Signal | null = null;
  for (const signal of SIGNALS) {
    const weight = weights[signal];
    if (weight === 0 || (signal !== 'retry' && witnessed[signal] === undefined)) continue;
    looked |= bitOf(signal);
    worth += rates.of(signal) * weight;
    if (signal !== 'retry') shown += rates.of(signal);
    if (witnessed[signal] && (blamed === null || weight > weights[blamed])) blamed = signal;
  }
  if (worth < WORTH_MIN) return null;
  const needed = (q * worth) / (1 - Math.min(SHOWN_MAX, (1 - q) * shown));
  const most = Math.max(worth, needed);
  const part = Math.min(1, 1 / most);
  if (blamed !== null) return { source: 'checks', score: 0, weight: part * weights[blamed], looked, blamed };
  const score = Math.min(1, q + ((1 - q) * needed) / most);
  return { source: 'checks', score, weight: Math.min(1, part * most), looked, blamed };
}

/** The answers that nobody asked for again have been counted when they were looked at. */
function retryOf(isRetried: boolean, weights: Weights, rates: Pick<SignalRates, 'of'>, q: number): Verdict | null {
  const weight = Math.min(weights.retry, 1 / Math.max(1, q * rates.of('retry')));
  return isRetried && weight > WORTH_MIN ? { source: 'retry', score: 0, weight, looked: 0, blamed: 'retry' } : null;
}
