import { Figure, type Learning } from './figures.ts';

/**
 * Lengths change with who asks, over hours. They differ by a factor of e or so: 20 answers tell their median to within
 * a third, which is as much as a declared figure, mostly a guess, can claim.
 */
const TOKENS: Learning = { range: [1, 1_000_000], halfLifeMs: 6 * 3_600_000, priorAnswers: 20 };

/** Of each caller one answer of a task counts in so long, ms: who asks the most must not say for all what to expect. */
const TURN_MS = 10_000;

/** How long answers are, by the name of their task: visible output tokens of one choice. Outlives reloads. */
export class Outputs {
  readonly #clock: () => number;
  readonly #byTask = new Map<string, Figure>();
  /** Whose answer of which task was counted in this turn. */
  readonly #heard = new Set<string>();
  #turnEndsAt = 0;

  /** `clock`: ms, never goes back. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** An answer of a size that nobody had fixed, to the key of this ID. What is absurd teaches nothing. */
  saw(task: string, tokens: number, keyId: string): void {
    if (!(tokens > 0 && tokens <= TOKENS.range[1]) || !this.#isTurnOf(`${keyId} ${task}`)) return;
    let figure = this.#byTask.get(task);
    if (!figure) {
      figure = new Figure(TOKENS);
      this.#byTask.set(task, figure);
    }
    figure.observe(tokens, this.#clock());
  }

  #isTurnOf(who: string): boolean {
    const now = this.#clock();
    if (now >= this.#turnEndsAt) {
      this.#heard.clear();
      this.#turnEndsAt = now + TURN_MS;
    }
    if (this.#heard.has(who)) return false;
    this.#heard.add(who);
    return true;
  }

  /** Takes over what came in; true when it makes a difference. */
  publish(): boolean {
    let isNew = false;
    for (const [task, figure] of this.#byTask) {
      isNew = figure.publish(this.#clock()) || isNew;
      if (figure.published === null) this.#byTask.delete(task);
    }
    return isNew;
  }

  /** What is to be expected of a task, where the policy declares so much. */
  expected(task: string, declared: number): number {
    return this.#byTask.get(task)?.blendedWith(declared) ?? declared;
  }

  /** How many answers of the present what was published is worth. */
  weight(task: string): number {
    return this.#byTask.get(task)?.published?.weight ?? 0;
  }
}
