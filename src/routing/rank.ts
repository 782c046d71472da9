import type { Candidates, PreparedStrategy } from '../contract/strategy.ts';

/** Utilities are rounded to 1/GRAIN, so smaller differences count as ties. */
const GRAIN = 1e9;
const EXACT_MAX = Number.MAX_SAFE_INTEGER / GRAIN;

type TieBreak = PreparedStrategy['tieBreak'];

/** Whether candidate `a` ranks before `b`: by utility, the strategy's tie-break, quality, cost, latency, and then ID. */
function precedes(a: number, b: number, utility: Float64Array, candidates: Candidates, tieBreak: TieBreak): boolean {
  if (utility[a] !== utility[b]) return utility[a]! > utility[b]!;
  const { quality, cost, latency } = candidates;
  if (tieBreak !== undefined) {
    const criterion = candidates[tieBreak];
    if (criterion[a] !== criterion[b]) return criterion[a]! < criterion[b]!;
  }
  if (quality[a] !== quality[b]) return quality[a]! > quality[b]!;
  if (cost[a] !== cost[b]) return cost[a]! < cost[b]!;
  if (latency[a] !== latency[b]) return latency[a]! < latency[b]!;
  return a < b;
}

/**
 * Writes the positions of the best `k` candidates to `into`, from best to worst. Candidates are in the order of their IDs, so their
 * position breaks the last tie. `selectTop` rounds `utility` in place. If a utility is NaN, or none is finite, all utilities count as
 * equal: quality, cost, latency and ID decide, and the result has `faulty: true`.
 */
export function selectTop(
  candidates: Candidates,
  utility: Float64Array,
  k: number,
  into: number[],
  tieBreak?: TieBreak,
): { faulty: boolean } {
  const faulty = !roundUtilities(candidates.n, utility);
  const tied = faulty ? undefined : tieBreak;
  into.length = 0;
  for (let i = 0; i < candidates.n; i++) {
    if (utility[i] === Number.NEGATIVE_INFINITY) continue;
    let at = into.length;
    if (at < k) into.push(i);
    else if (precedes(i, into[k - 1]!, utility, candidates, tied)) at = k - 1;
    else continue;
    for (; at > 0 && precedes(i, into[at - 1]!, utility, candidates, tied); at--) into[at] = into[at - 1]!;
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

/** In floating point, 0.9 − 0.1 is slightly below 0.8, so the comparison with a floor needs a tolerance. */
const FLOOR_SLACK = 1e-9;

/**
 * Sets the utility of candidates below the quality floor to -Infinity. If no candidate with a finite utility reaches the floor,
 * `holdToFloor` returns false and uses the quality as the utility, so that the best quality wins.
 */
export function holdToFloor({ n, quality }: Candidates, utility: Float64Array, floor: number): boolean {
  const least = floor - FLOOR_SLACK;
  let reached = false;
  for (let i = 0; i < n && !reached; i++) reached = quality[i]! >= least && utility[i] !== Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    if (!reached) utility[i] = quality[i]!;
    else if (quality[i]! < least) utility[i] = Number.NEGATIVE_INFINITY;
  }
  return reached;
}
