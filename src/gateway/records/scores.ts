import { idAt } from '../../core/id.ts';
import { totalBy } from '../../host/telemetry/counts.ts';
import type { Family } from '../../host/telemetry/families.ts';
import type { OutcomeRow } from '../../store/learning.ts';
import type { Repositories } from '../../store/repositories.ts';
import { isUnmet, type Store, type Write } from '../../store/store.ts';

/** A caller's score of an answer. */
export type AnswerScore = Omit<OutcomeRow, 'id'>;

/** The stored score of a decision, which may be a score that the caller sent earlier. */
export interface ScoreReceipt {
  readonly isFirst: boolean;
  /** The score, from 0 to 1. */
  readonly score: number;
  readonly label: string | null;
}

/** Stores callers' scores, one for each decision. State: scores. */
export class Scores {
  readonly #store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>;
  readonly #nextId: () => number;
  /** The number of scores since the process began. */
  count = 0;

  /** @param nextId returns numbers that grow with time and never repeat */
  constructor(store: Pick<Store, 'commit'> & Pick<Repositories, 'learning'>, nextId: () => number) {
    this.#store = store;
    this.#nextId = nextId;
  }

  /** Stores the first score of a decision, in one commit with other writes. Resolves once the score is durable; rejects with StoreError. */
  async add(score: AnswerScore, also: readonly Write[] = []): Promise<ScoreReceipt> {
    const { outcomes } = this.#store.learning;
    const earlier = await outcomes.findScore(score.decision);
    if (earlier) return { ...earlier, isFirst: false };
    try {
      await this.#store.commit([outcomes.add({ ...score, id: this.#nextId() }), ...also]);
    } catch (cause) {
      const other = isUnmet(cause) ? await outcomes.findScore(score.decision) : null;
      if (other) return { ...other, isFirst: false };
      throw cause;
    }
    this.count++;
    return { ...score, isFirst: true };
  }

  /** Deletes scores older than `ageMs`, in batches. Rejects with StoreError. @param now ms since 1970 */
  async prune(ageMs: number, now: number): Promise<void> {
    await this.#store.learning.outcomes.prune(idAt(now - ageMs));
  }
}

/** The metric that counts the scores that callers send. */
export const scoreFamilies = (scores: Pick<Scores, 'count'>): readonly Family[] => [
  totalBy('signalbox_outcomes_total', 'Scores of answers, by source.', 'source', () => [['caller', scores.count]]),
];
