import { type Static, Type } from '@sinclair/typebox';

/** The number of outcomes after which one counts half. */
const HALF_LIFE = 500;
const KEEP = 0.5 ** (1 / HALF_LIFE);

/** Weighted sums of squared errors, and the sum of their weights. */
export const BrierSums = Type.Object({ weight: Type.Number(), declared: Type.Number(), estimated: Type.Number() });
export type BrierSums = Static<typeof BrierSums>;

const NONE: BrierSums = { weight: 0, declared: 0, estimated: 0 };

/** Mean squared errors of the declared and the estimated qualities, over the latest scores. */
export class BrierScore {
  sums: BrierSums;

  constructor(sums = NONE) {
    this.sums = sums;
  }

  /** @param weight how much the score counts; all values are 0..1 */
  note(score: number, { declared, estimated }: Pick<BrierSums, 'declared' | 'estimated'>, weight: number): void {
    const { sums } = this;
    this.sums = {
      weight: KEEP * sums.weight + weight,
      declared: KEEP * sums.declared + weight * (score - declared) ** 2,
      estimated: KEEP * sums.estimated + weight * (score - estimated) ** 2,
    };
  }

  /** Forgets all scores, for estimates that start afresh. */
  restart(): void {
    this.sums = NONE;
  }

  /** NaN before the first score. */
  get declared(): number {
    return this.sums.declared / this.sums.weight;
  }

  get estimated(): number {
    return this.sums.estimated / this.sums.weight;
  }
}
