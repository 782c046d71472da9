import type { Candidates, PreparedStrategy } from '../contract/strategy.ts';

/** Utilities count to this grain; what differs by less is a tie. */
const GRAIN = 1e9;
const EXACT_MAX = Number.MAX_SAFE_INTEGER / GRAIN;

type TieBreak = PreparedStrategy['tieBreak'];

/** Whether candidate `a` goes before `b`: utility, then what breaks ties, then Q, C, L, then the order of the IDs. */
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
 * The best `k` candidates, best first, as their positions. Candidates stand in the order of their
 * IDs, so a position settles the last tie. Rounds `utility` in place; a NaN, or nothing wanted at
 * all, makes every utility equal and leaves the choice to Q, C, L and ID. Returns whether that was so.
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
    if (Number.isNaN(value) || value === Number.POSITIVE_INFINITY) return levelled(n, utility);
    if (value === Number.NEGATIVE_INFINITY) continue;
    wanted = true;
    // A plugin's own scale may be so large that the grain is below a double's last bit.
    if (Math.abs(value) < EXACT_MAX) utility[i] = Math.round(value * GRAIN) / GRAIN;
  }
  return wanted || levelled(n, utility);
}

function levelled(n: number, utility: Float64Array): false {
  utility.fill(0, 0, n);
  return false;
}

/** A quality such as 0.9 − 0.1, or a mean over tasks, may fall short of a floor of 0.8 by the last bit of a double. */
const FLOOR_SLACK = 1e-9;

/**
 * Holds candidates to a least quality: those below it are no longer wanted. Where none that is wanted reaches it, Q itself
 * becomes the utility, so that the best in quality is taken. Returns whether one reaches it.
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
