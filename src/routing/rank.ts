import type { Candidates, PreparedStrategy } from '../contract/strategy.ts';

/** Utilities are rounded to 1/GRAIN, so smaller differences count as ties. */
const GRAIN = 1e9;
const EXACT_MAX = Number.MAX_SAFE_INTEGER / GRAIN;

type TieBreak = PreparedStrategy['tieBreak'];

/** The criteria that can decide between candidates with equal utility. */
export const TIE_BREAKERS = ['quality', 'cost', 'latency', 'id'] as const;
export type TieBreaker = (typeof TIE_BREAKERS)[number];
type Criterion = Exclude<TieBreaker, 'id'>;

const QUALITY_FIRST: readonly Criterion[] = ['quality', 'cost', 'latency'];
/** The order with classes of quality: a difference within a class means nothing. */
const QUALITY_LAST: readonly Criterion[] = ['cost', 'latency', 'quality'];

/**
 * Returns the criteria that decide in order between candidates with equal utility. If the strategy failed, all utilities are equal, and
 * quality decides first.
 */
export function tieOrder({ exactQuality }: Candidates, tieBreak: TieBreak, faulty: boolean): readonly Criterion[] {
  if (faulty) return QUALITY_FIRST;
  const order = exactQuality === undefined ? QUALITY_FIRST : QUALITY_LAST;
  return tieBreak === undefined ? order : [tieBreak, ...order];
}

/** Returns the criterion that decides between two candidates with equal utility. */
export const tieBreaker = (a: number, b: number, candidates: Candidates, order: readonly Criterion[]): TieBreaker =>
  order.find((criterion) => merit(a, criterion, candidates) !== merit(b, criterion, candidates)) ?? 'id';

/** Returns how good a candidate is by a criterion; more is better. */
function merit(
  at: number,
  criterion: Criterion,
  { quality, exactQuality = quality, cost, latency }: Candidates,
): number {
  if (criterion === 'quality') return exactQuality[at]!;
  return criterion === 'cost' ? -cost[at]! : -latency[at]!;
}

/** Whether candidate `a` ranks before `b`: by utility, the criteria in order, and then ID. */
function precedes(
  a: number,
  b: number,
  utility: Float64Array,
  candidates: Candidates,
  order: readonly Criterion[],
): boolean {
  if (utility[a] !== utility[b]) return utility[a]! > utility[b]!;
  for (let i = 0; i < order.length; i++) {
    const own = merit(a, order[i]!, candidates);
    const other = merit(b, order[i]!, candidates);
    if (own !== other) return own > other;
  }
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
  const tied = tieOrder(candidates, tieBreak, faulty);
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

/** Whether a quality is at least a floor. */
export const reachesFloor = (quality: number, floor: number): boolean => quality >= floor - FLOOR_SLACK;

/**
 * Sets the utility of candidates below the quality floor to -Infinity. If no candidate with a finite utility reaches the floor,
 * `holdToFloor` returns false and uses the quality as the utility, so that the best quality wins.
 */
export function holdToFloor(
  { n, quality: scored, exactQuality: quality = scored }: Candidates,
  utility: Float64Array,
  floor: number,
): boolean {
  const least = floor - FLOOR_SLACK;
  let reached = false;
  for (let i = 0; i < n && !reached; i++) reached = quality[i]! >= least && utility[i] !== Number.NEGATIVE_INFINITY;
  for (let i = 0; i < n; i++) {
    if (!reached) utility[i] = quality[i]!;
    else if (quality[i]! < least) utility[i] = Number.NEGATIVE_INFINITY;
  }
  return reached;
}
