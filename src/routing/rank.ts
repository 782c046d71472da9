import type { Candidates } from '../contract/strategy.ts';

/** The estimates by which candidates with equal utility are ordered. */
type Ranked = Pick<Candidates, 'n' | 'quality' | 'cost' | 'latency'>;

/** Utilities are rounded to 1/GRAIN, so smaller differences count as ties. */
const GRAIN = 1e9;
const EXACT_MAX = Number.MAX_SAFE_INTEGER / GRAIN;

/** The criteria that decide in this order between candidates with equal utility, before the ID. */
const CRITERIA = ['quality', 'cost', 'latency'] as const;
type Criterion = (typeof CRITERIA)[number];
export const TIE_BREAKERS = [...CRITERIA, 'id'] as const;
export type TieBreaker = (typeof TIE_BREAKERS)[number];

/** Returns the criterion that decides between two candidates with equal utility. */
export const tieBreaker = (a: number, b: number, candidates: Ranked): TieBreaker =>
  CRITERIA.find((criterion) => merit(a, criterion, candidates) !== merit(b, criterion, candidates)) ?? 'id';

/** Returns how good a candidate is by a criterion; more is better. */
function merit(at: number, criterion: Criterion, { quality, cost, latency }: Ranked): number {
  if (criterion === 'quality') return quality[at]!;
  return criterion === 'cost' ? -cost[at]! : -latency[at]!;
}

/** Whether candidate `a` ranks before `b`: by utility, the criteria in order, and then ID. */
function precedes(a: number, b: number, utility: Float64Array, candidates: Ranked): boolean {
  if (utility[a] !== utility[b]) return utility[a]! > utility[b]!;
  for (const criterion of CRITERIA) {
    const own = merit(a, criterion, candidates);
    const other = merit(b, criterion, candidates);
    if (own !== other) return own > other;
  }
  return a < b;
}

/**
 * Writes the positions of the best `k` candidates to `into`, from best to worst. Candidates are in the order of their IDs, so their
 * position breaks the last tie. `selectTop` rounds `utility` in place. If a utility is NaN, or none is finite, all utilities count as
 * equal: quality, cost, latency and ID decide, and the result has `faulty: true`.
 */
export function selectTop(candidates: Ranked, utility: Float64Array, k: number, into: number[]): { faulty: boolean } {
  const faulty = !roundUtilities(candidates.n, utility);
  into.length = 0;
  for (let i = 0; i < candidates.n; i++) {
    if (utility[i] === Number.NEGATIVE_INFINITY) continue;
    let at = into.length;
    if (at < k) into.push(i);
    else if (precedes(i, into[k - 1]!, utility, candidates)) at = k - 1;
    else continue;
    for (; at > 0 && precedes(i, into[at - 1]!, utility, candidates); at--) into[at] = into[at - 1]!;
    into[at] = i;
  }
  return { faulty };
}

function roundUtilities(n: number, utility: Float64Array): boolean {
  let wanted = false;
  for (let i = 0; i < n; i++) {
    const value = utility[i]!;
    if (Number.isNaN(value) || value === Number.POSITIVE_INFINITY) return resetUtilities(n, utility);
    if (value === Number.NEGATIVE_INFINITY) continue;
    wanted = true;
    // A plugin may use a scale so large that a double cannot represent steps of 1/GRAIN.
    if (Math.abs(value) < EXACT_MAX) utility[i] = Math.round(value * GRAIN) / GRAIN;
  }
  return wanted || resetUtilities(n, utility);
}

function resetUtilities(n: number, utility: Float64Array): false {
  utility.fill(0, 0, n);
  return false;
}
