import type { OutcomeRow } from '../../store/learning.ts';

/** The part of an outcome that is judged. */
type ScoredOutcome = Pick<OutcomeRow, 'model' | 'score' | 'declared' | 'weight' | 'offered'>;

/** Scores compared with the qualities expected before. Means are weighted by how much each score counts, 0..1; NaN of none. */
export interface Judgement {
  readonly scores: number;
  /** The means of the scores, and of the declared and estimated qualities. */
  readonly score: number;
  readonly declared: number;
  readonly estimated: number;
  /** Mean squared errors: Brier scores. */
  readonly declaredError: number;
  readonly estimatedError: number;
  /** By how much the estimates are nearer: the mean difference of squared errors, with its standard error. */
  readonly better: number;
  readonly error: number;
}

const BINS = 5;

/** Sums up callers' scores by model and by expected quality. */
export class Judgements {
  readonly #all = new Sums();
  readonly #models = new Map<string, Sums>();
  readonly #declared = Array.from({ length: BINS }, () => new Sums());
  readonly #estimated = Array.from({ length: BINS }, () => new Sums());

  note(outcome: ScoredOutcome, estimated: number): void {
    const { model, declared } = outcome;
    const own = this.#models.get(model) ?? new Sums();
    this.#models.set(model, own);
    for (const sums of [this.#all, own, this.#declared[binOf(declared)]!, this.#estimated[binOf(estimated)]!]) {
      sums.note(outcome, estimated);
    }
  }

  get all(): Judgement {
    return this.#all.judgement;
  }

  /** The model with the most scores comes first. */
  get models(): readonly (readonly [model: string, judgement: Judgement])[] {
    const models = [...this.#models].map(([model, sums]) => [model, sums.judgement] as const);
    return models.sort(([, one], [, other]) => other.scores - one.scores);
  }

  /** Fifths of the scale, those with scores: the means of what was expected within each, and of the scores. */
  get bins() {
    return this.#declared
      .map((sums, at) => {
        const [declared, estimated] = [sums.judgement, this.#estimated[at]!.judgement];
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

class Sums {
  #scores = 0;
  #weight = 0;
  #score = 0;
  #declared = 0;
  #estimated = 0;
  #declaredError = 0;
  #estimatedError = 0;
  /** Σw²·d², Σw²·d and Σw², of the differences d: what the standard error of their mean takes. */
  #squares = 0;
  #products = 0;
  #weights = 0;

  note({ score, declared, weight, offered }: ScoredOutcome, estimated: number): void {
    const share = weight / offered;
    const declaredError = (score - declared) ** 2;
    const estimatedError = (score - estimated) ** 2;
    const better = declaredError - estimatedError;
    this.#scores++;
    this.#weight += share;
    this.#score += share * score;
    this.#declared += share * declared;
    this.#estimated += share * estimated;
    this.#declaredError += share * declaredError;
    this.#estimatedError += share * estimatedError;
    this.#squares += (share * better) ** 2;
    this.#products += share ** 2 * better;
    this.#weights += share ** 2;
  }

  get judgement(): Judgement {
    const weight = this.#weight;
    const better = (this.#declaredError - this.#estimatedError) / weight;
    const spread = this.#squares - 2 * better * this.#products + better ** 2 * this.#weights;
    return {
      scores: this.#scores,
      score: this.#score / weight,
      declared: this.#declared / weight,
      estimated: this.#estimated / weight,
      declaredError: this.#declaredError / weight,
      estimatedError: this.#estimatedError / weight,
      better,
      error: Math.sqrt(Math.max(0, spread)) / weight,
    };
  }
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
