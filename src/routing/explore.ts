import type { Candidates } from '../contract/strategy.ts';
import type { ExplorePolicy } from '../core/decision/exploration.ts';

/**
 * Returns the probabilities of a random draw: `(1 − share)·softmax(U/temperature) + share/n`. The draw includes the model with the highest
 * utility and all models whose quality is at most the margin below the best quality. Models without a score take no part in the draw.
 * @returns the candidates by position, with probabilities that add up to 1
 */
export function chancesOf(
  { share, temperature, qualityMargin }: ExplorePolicy,
  { n, quality }: Pick<Candidates, 'n' | 'quality'>,
  utility: Float64Array,
  best: number,
) {
  let bestQuality = quality[best]!;
  for (let i = 0; i < n; i++) if (Number.isFinite(utility[i]) && quality[i]! > bestQuality) bestQuality = quality[i]!;
  const at: number[] = [];
  const weights: number[] = [];
  let sum = 0;
  for (let i = 0; i < n; i++) {
    if (i !== best && !(Number.isFinite(utility[i]) && quality[i]! >= bestQuality - qualityMargin)) continue;
    // The best candidate has weight 1, so the sum is never 0 and no power overflows.
    const behind = utility[i]! - utility[best]!;
    const weight = behind === 0 ? 1 : Math.exp(behind / temperature);
    at.push(i);
    weights.push(weight);
    sum += weight;
  }
  for (let i = 0; i < weights.length; i++) weights[i] = (1 - share) * (weights[i]! / sum) + share / at.length;
  return { at, probability: weights };
}

/**
 * Draws a candidate from a seed of 64 bits in hexadecimal and returns its position. `drawCandidate` returns null if only the best candidate
 * takes part in the draw. The draw is pure.
 */
export function drawCandidate(
  seed: string,
  policy: ExplorePolicy,
  candidates: Pick<Candidates, 'n' | 'quality'>,
  utility: Float64Array,
  best: number,
) {
  const { at, probability } = chancesOf(policy, candidates, utility, best);
  if (at.length < 2) return null;
  const number = uniform(seed);
  let winner = at.indexOf(best);
  let sum = 0;
  for (let i = 0; i < at.length; i++) {
    sum += probability[i]!;
    if (number >= sum) continue;
    winner = i;
    break;
  }
  return { at: at[winner]!, probability: probability[winner]!, among: at.length };
}

const wrapped = (value: bigint): bigint => BigInt.asUintN(64, value);

/** Returns a number in [0, 1): the first 53 bits of the seed, mixed by SplitMix64 (Steele, Lea, Flood 2014). */
function uniform(seed: string): number {
  let z = wrapped(BigInt(`0x${seed}`) + 0x9e3779b97f4a7c15n);
  z = wrapped((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = wrapped((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
}
