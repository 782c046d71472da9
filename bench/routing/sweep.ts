import { aiqOf, costAt, hullOf, type Point } from './hull.ts';
import type { Sheet } from './pools.ts';

/** The weights of cost against quality: 0, from 10^−3 to 10^3 in steps of 8 %, and infinity. */
const STEP = 1.08;
const LAMBDAS = [0, ...Array.from({ length: 181 }, (_, i) => 10 ** -3 * STEP ** i), Number.POSITIVE_INFINITY];

/** The results of the single models under one weighting of rows. */
export interface Singles {
  readonly points: readonly Point[];
  /** The AIQ of the points' hull. */
  readonly aiq: number;
  /** The costs of the cheapest and the most expensive model. */
  readonly from: number;
  readonly to: number;
}

/** The results of a router according to its hull. */
export interface RouterResult {
  /**
   * The cost at 95 % and at 99 % of the best single model's quality, as a share of that model's cost; NaN if the quality is never reached.
   */
  readonly cost95: number;
  readonly cost99: number;
  readonly hull: readonly Point[];
}

/**
 * The choices `argmax P − λ·C/C_ref` over all weights λ. As λ grows, each request's choice moves to cheaper models a few times. These moves
 * are stored, so any weighting of rows is measured in time linear in their number.
 */
export class Sweep {
  readonly #sheet: Sheet;
  readonly #first: Uint8Array;
  /** The moves in the order of λ; `#ends[l]` counts the moves up to λ number l. */
  readonly #rows: Uint32Array;
  readonly #quality: Float64Array;
  readonly #cost: Float64Array;
  readonly #ends: Uint32Array;

  /** `predicted`: by row, then by model. `references`: C_ref of each row. */
  constructor(predicted: Float64Array, references: Float64Array, sheet: Sheet) {
    this.#sheet = sheet;
    const n = sheet.rows.length;
    const m = predicted.length / n;
    const moves: { at: number; row: number; quality: number; cost: number }[] = [];
    this.#first = new Uint8Array(n);
    for (let row = 0; row < n; row++) {
      let chosen = -1;
      LAMBDAS.forEach((lambda, at) => {
        const next = best(predicted, sheet.costs, references[row]!, row * m, m, lambda);
        if (at === 0) this.#first[row] = next;
        else if (next !== chosen) {
          const [old, now] = [row * m + chosen, row * m + next];
          const { labels, costs } = sheet;
          moves.push({ at, row, quality: labels[now]! - labels[old]!, cost: costs[now]! - costs[old]! });
        }
        chosen = next;
      });
    }
    moves.sort((a, b) => a.at - b.at);
    this.#rows = Uint32Array.from(moves, ({ row }) => row);
    this.#quality = Float64Array.from(moves, ({ quality }) => quality);
    this.#cost = Float64Array.from(moves, ({ cost }) => cost);
    this.#ends = new Uint32Array(LAMBDAS.length);
    for (const { at } of moves) this.#ends[at]!++;
    for (let at = 1; at < LAMBDAS.length; at++) this.#ends[at]! += this.#ends[at - 1]!;
  }

  /** Returns the AIQ minus the AIQ of the single models' hull. */
  gain(weights: ArrayLike<number>, { aiq, from, to }: Singles): number {
    return aiqOf(hullOf(this.points(weights)), from, to) - aiq;
  }

  routed(weights: ArrayLike<number>, { points }: Singles): RouterResult {
    const best = points.reduce((a, b) => (b[1] > a[1] || (b[1] === a[1] && b[0] < a[0]) ? b : a));
    const hull = hullOf(this.points(weights));
    return { cost95: costAt(hull, 0.95 * best[1]) / best[0], cost99: costAt(hull, 0.99 * best[1]) / best[0], hull };
  }

  /** Returns the mean cost and quality at each weight. */
  points(weights: ArrayLike<number>): Point[] {
    const { labels, costs, rows } = this.#sheet;
    const m = labels.length / rows.length;
    let [total, quality, cost] = [0, 0, 0];
    for (let row = 0; row < rows.length; row++) {
      const weight = weights[row]!;
      total += weight;
      quality += weight * labels[row * m + this.#first[row]!]!;
      cost += weight * costs[row * m + this.#first[row]!]!;
    }
    let move = 0;
    return Array.from(this.#ends, (end) => {
      for (; move < end; move++) {
        const weight = weights[this.#rows[move]!]!;
        quality += weight * this.#quality[move]!;
        cost += weight * this.#cost[move]!;
      }
      return [cost / total, quality / total];
    });
  }
}

/** Returns the model with the best utility; the cheapest of several equal models. */
function best(
  predicted: Float64Array,
  costs: Float64Array,
  reference: number,
  from: number,
  m: number,
  lambda: number,
): number {
  let chosen = 0;
  for (let i = 1; i < m; i++) {
    const [p, c] = [predicted[from + i]! - predicted[from + chosen]!, costs[from + i]! - costs[from + chosen]!];
    const better = lambda === Number.POSITIVE_INFINITY ? -c || p : p - (lambda * c) / reference || -c;
    if (better > 0) chosen = i;
  }
  return chosen;
}

export function singlesOf({ labels, costs, rows }: Sheet, weights: ArrayLike<number>): Singles {
  const m = labels.length / rows.length;
  const quality = new Float64Array(m);
  const cost = new Float64Array(m);
  let total = 0;
  for (let row = 0; row < rows.length; row++) {
    const weight = weights[row]!;
    total += weight;
    for (let i = 0; i < m; i++) {
      quality[i]! += weight * labels[row * m + i]!;
      cost[i]! += weight * costs[row * m + i]!;
    }
  }
  const points = Array.from(quality, (sum, i): Point => [cost[i]! / total, sum / total]);
  const [from, to] = [Math.min(...cost) / total, Math.max(...cost) / total];
  return { points, aiq: aiqOf(hullOf(points), from, to), from, to };
}

/** Returns the C_ref of each row: its mean cost over the models (size-neutral), or the mean of these costs for all rows. */
export function referencesOf({ rows, costs }: Pick<Sheet, 'rows' | 'costs'>, isFixed: boolean): Float64Array {
  const m = costs.length / rows.length;
  const own = Float64Array.from(rows, (_, row) => meanOf(costs.subarray(row * m, (row + 1) * m)));
  return isFixed ? new Float64Array(rows.length).fill(meanOf(own)) : own;
}

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
