import type { Candidates } from '../contract/strategy.ts';
import type { Draw } from '../core/estimate.ts';
import type { ExplorePolicy } from '../core/learning-policy.ts';

/** Who takes part in a draw, by their positions, and how likely each is; the chances add up to 1. */
interface Chances {
  readonly at: readonly number[];
  readonly probability: readonly number[];
}

/** What was drawn, by its position. */
interface Drawn extends Draw {
  readonly at: number;
}

/**
 * The chance of every candidate whose quality is at most the margin below the best, and of the best by utility whatever
 * its quality: `(1 − share)·softmax(U/temperature) + share/n`. Whom the strategy does not want takes no part.
 */
export function chancesOf(
  { share, temperature, qualityMargin }: ExplorePolicy,
  { n, quality }: Pick<Candidates, 'n' | 'quality'>,
  utility: Float64Array,
  best: number,
): Chances {
  let bestQuality = quality[best]!;
  for (let i = 0; i < n; i++) if (Number.isFinite(utility[i]) && quality[i]! > bestQuality) bestQuality = quality[i]!;
  const at: number[] = [];
  const weights: number[] = [];
  let sum = 0;
  for (let i = 0; i < n; i++) {
    if (i !== best && !(Number.isFinite(utility[i]) && quality[i]! >= bestQuality - qualityMargin)) continue;
    // Of the best it is 1, so the sum is never 0, and no power overflows.
    const behind = utility[i]! - utility[best]!;
    const weight = behind === 0 ? 1 : Math.exp(behind / temperature);
    at.push(i);
    weights.push(weight);
    sum += weight;
  }
  return { at, probability: weights.map((weight) => (1 - share) * (weight / sum) + share / at.length) };
}

/** The candidate that a seed draws; null where the best alone takes part. Pure: the same seed draws the same. */
export function drawnBy(
  seed: string,
  policy: ExplorePolicy,
  candidates: Pick<Candidates, 'n' | 'quality'>,
  utility: Float64Array,
  best: number,
): Drawn | null {
  const { at, probability } = chancesOf(policy, candidates, utility, best);
  if (at.length < 2) return null;
  const number = uniform(seed);
  let chosen = at.indexOf(best);
  let sum = 0;
  for (let i = 0; i < at.length; i++) {
    sum += probability[i]!;
    if (number >= sum) continue;
    chosen = i;
    break;
  }
  return { at: at[chosen]!, probability: probability[chosen]!, among: at.length };
}

/** A number from 0 to below 1 of a seed of 64 bits in hexadecimal: its first 53 bits after SplitMix64's mixing (Steele, Lea, Flood 2014). */
function uniform(seed: string): number {
  const wrapped = (value: bigint): bigint => BigInt.asUintN(64, value);
  let z = wrapped(BigInt(`0x${seed}`) + 0x9e3779b97f4a7c15n);
  z = wrapped((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = wrapped((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
}
