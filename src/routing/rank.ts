import type { Candidates } from '../contract/strategy.ts';

/** Utilities count to this grain; what differs by less is a tie. */
const GRAIN = 1e9;
const EXACT_MAX = Number.MAX_SAFE_INTEGER / GRAIN;

/** Whether candidate `a` goes before `b`: utility, then Q, C, L, then the order of the IDs. */
function precedes(a: number, b: number, utility: Float64Array, { quality, cost, latency }: Candidates): boolean {
  if (utility[a] !== utility[b]) return utility[a]! > utility[b]!;
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
): { faulty: boolean } {
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
