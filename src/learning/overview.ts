import { timeOfId } from '../core/id.ts';
import type { OutcomeFilter, OutcomeRow, SourceSums } from '../store/learning.ts';
import type { Repositories } from '../store/repositories.ts';
import { loadLearningState } from './open.ts';
import { PAGE, pagesOf } from './pages.ts';

/** The recent influence of a key; masses and traffic decay by half in a week. */
export interface KeyShare {
  /** Empty for all keys beyond the maximum. */
  readonly keyId: string;
  /** The weight of its outcomes. */
  readonly learnt: number;
  /** Shares of all learned weight and of all chats, 0..1. */
  readonly share: number;
  readonly chats: number;
  /** The maximum weight; Infinity if there is no bound. */
  readonly bound: number;
}

/** The stored state of learning. */
export interface LearningOverview {
  readonly sources: readonly SourceSums[];
  /** Number of decisions whose answers can still be scored. */
  readonly examples: number;
  /** The estimator's last outcome, ms since 1970, and the number of outcomes since; null before the first. */
  readonly checkpoint: { readonly at: number; readonly behind: number } | null;
  /** The key with the most learned weight comes first. */
  readonly keys: readonly KeyShare[];
}

/** Reads the overview of a store that has been migrated. Rejects with StoreError. */
export async function overviewOf(
  store: Pick<Repositories, 'learning'>,
  { estimator, influenceMax, now }: { estimator: string; influenceMax: number; now: number },
): Promise<LearningOverview> {
  const { outcomes, examples, memories } = store.learning;
  const through = (await memories.positions()).find((position) => position.estimator === estimator);
  const { influence } = await loadLearningState(store, now);
  const { stakes } = influence.sums;
  const [mass, chats] = [1, 2].map((at) => stakes.reduce((sum, stake) => sum + Number(stake[at]), 0));
  const keys = stakes.map(([keyId, own, requests]) => ({
    keyId,
    learnt: own,
    share: mass ? own / mass : 0,
    chats: chats ? requests / chats : 0,
    bound: influence.bound(keyId, influenceMax),
  }));
  return {
    sources: await outcomes.sums(),
    examples: await examples.countOpen(now),
    checkpoint:
      through && through.outcome > 0
        ? { at: timeOfId(through.outcome), behind: await outcomes.countAfter(estimator, through.outcome) }
        : null,
    keys: keys.sort((one, other) => other.learnt - one.learnt),
  };
}

/** The outcomes that match, in their order, in pages. Rejects with StoreError. */
export const outcomePages = (
  { learning }: Pick<Repositories, 'learning'>,
  filter: OutcomeFilter,
): AsyncGenerator<readonly OutcomeRow[]> =>
  pagesOf((after) => learning.outcomes.list({ ...filter, after }, PAGE), filter.after);
