import type { OutcomeRow } from '../../store/learning.ts';

/** The part of an outcome that is judged. */
type ScoredOutcome = Pick<OutcomeRow, 'model' | 'score' | 'declared' | 'weight' | 'offered'>;

const BINS = 5;

/** Sums up callers' scores by model and by expected quality. */
export class Judgements {
  readonly #all = { ...NO_SUMS };
  readonly #models = new Map<string, Sums>();
  readonly #declared = Array.from({ length: BINS }, () => ({ ...NO_SUMS }));
  readonly #estimated = Array.from({ length: BINS }, () => ({ ...NO_SUMS }));

  note(outcome: ScoredOutcome, estimated: number): void {
    const { model, declared } = outcome;
    const own = this.#models.get(model) ?? { ...NO_SUMS };
    this.#models.set(model, own);
    const bins = [this.#declared[binOf(declared)]!, this.#estimated[binOf(estimated)]!];
    for (const sums of [this.#all, own, ...bins]) add(sums, outcome, estimated);
  }

  get all(): Judgement {
    return judgementOf(this.#all);
  }

  /** The model with the most scores comes first. */
  get models(): readonly (readonly [model: string, judgement: Judgement])[] {
    const models = [...this.#models].map(([model, sums]) => [model, judgementOf(sums)] as const);
    return models.sort(([, one], [, other]) => other.scores - one.scores);
  }

  /** Fifths of the scale, those with scores: the means of what was expected within each, and of the scores. */
  get bins() {
    return this.#declared
      .map((sums, at) => {
        const [declared, estimated] = [judgementOf(sums), judgementOf(this.#estimated[at]!)];
        return {
          from: at / BINS,
          to: (at + 1) / BINS,
          declared: { scores: declared.scores, said: declared.declared, score: declared.score },
          estimated: { scores: estimated.scores, said: estimated.estimated, score: estimated.score },
        };
      })
      .filter(({ declared, estimated }) => declared.scores + estimated.scores > 0);
  }
}

const binOf = (said: number): number => Math.min(BINS - 1, Math.floor(said * BINS));

const NO_SUMS = {
  ...{ scores: 0, weight: 0, score: 0, declared: 0, estimated: 0, declaredError: 0, estimatedError: 0 },
  // Σw²·d², Σw²·d and Σw², of the differences d: what the standard error of their mean takes.
  ...{ squares: 0, products: 0, weights: 0 },
};
type Sums = typeof NO_SUMS;

function add(sums: Sums, { score, declared, weight, offered }: ScoredOutcome, estimated: number): void {
  const share = weight / offered;
  const declaredError = (score - declared) ** 2;
  const estimatedError = (score - estimated) ** 2;
  const better = declaredError - estimatedError;
  sums.scores++;
  sums.weight += share;
  sums.score += share * score;
  sums.declared += share * declared;
  sums.estimated += share * estimated;
  sums.declaredError += share * declaredError;
  sums.estimatedError += share * estimatedError;
  sums.squares += (share * better) ** 2;
  sums.products += share ** 2 * better;
  sums.weights += share ** 2;
}

/** Scores compared with the qualities expected before. Means are weighted by how much each score counts, 0..1; NaN of none. */
export type Judgement = ReturnType<typeof judgementOf>;

function judgementOf({ scores, weight, squares, products, weights, ...sums }: Sums) {
  const better = (sums.declaredError - sums.estimatedError) / weight;
  const spread = squares - 2 * better * products + better ** 2 * weights;
  return {
    scores,
    // The means of the scores, and of the declared and estimated qualities.
    score: sums.score / weight,
    declared: sums.declared / weight,
    estimated: sums.estimated / weight,
    // Mean squared errors: Brier scores.
    declaredError: sums.declaredError / weight,
    estimatedError: sums.estimatedError / weight,
    // By how much the estimates are nearer: the mean difference of squared errors, with its standard error.
    better,
    error: Math.sqrt(Math.max(0, spread)) / weight,
  };
}

/** Scores without which a difference tells nothing, and as how many standard errors it must be. */
const SCORES_MIN = 30;
const ERRORS_MIN = 2;

/** Whether learning would have helped, in a sentence or two. */
export function verdict({ scores, better, error }: Judgement): string {
  if (scores < SCORES_MIN) return `These are too few scores to judge: at least ${SCORES_MIN} are needed.`;
  const margin = `${Math.abs(better).toFixed(4)} ± ${(ERRORS_MIN * error).toFixed(4)}`;
  if (Math.abs(better) <= ERRORS_MIN * error) return `Learning makes no clear difference (${margin}).`;
  return better > 0
    ? `Learning would have helped, by ${margin}.`
    : `Learning would have done harm, by ${margin}. Keep \`mode: shadow\`, and check whose scores these are.`;
}
