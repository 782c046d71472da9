/** After so many outcomes one counts half. */
const HALF_LIFE = 500;
const KEEP = 0.5 ** (1 / HALF_LIFE);

export interface BrierSums {
  readonly weight: number;
  readonly declared: number;
  readonly estimated: number;
}

const NONE: BrierSums = { weight: 0, declared: 0, estimated: 0 };

/** Mean squared error of what was declared and of what was estimated, of the latest scores. */
export class Brier {
  #sums: BrierSums;

  constructor(sums = NONE) {
    this.#sums = sums;
  }

  /** `weight`: how much the score counts. All 0..1. */
  note(score: number, { declared, estimated }: Pick<BrierSums, 'declared' | 'estimated'>, weight: number): void {
    const sums = this.#sums;
    this.#sums = {
      weight: KEEP * sums.weight + weight,
      declared: KEEP * sums.declared + weight * (score - declared) ** 2,
      estimated: KEEP * sums.estimated + weight * (score - estimated) ** 2,
    };
  }

  /** As before the first score: what is estimated from now on has nothing to do with what was. */
  restart(): void {
    this.#sums = NONE;
  }

  /** NaN before the first. */
  get declared(): number {
    return this.#sums.declared / this.#sums.weight;
  }

  get estimated(): number {
    return this.#sums.estimated / this.#sums.weight;
  }

  get sums(): BrierSums {
    return this.#sums;
  }
}
