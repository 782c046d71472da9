import { timeOfId } from '../core/id.ts';
import type { OutcomeFilter, OutcomeRow } from '../store/learning.ts';
import type { Repositories } from '../store/repositories.ts';
import { loadLearningState } from './open.ts';
import { PAGE, pagesOf } from './pages.ts';

/** The stored state of learning. */
export type LearningOverview = Readonly<Awaited<ReturnType<typeof overviewOf>>>;

/** The recent influence of a key; masses and traffic decay by half in a week. */
export type KeyShare = LearningOverview['keys'][number];

/** Reads the overview of a store that has been migrated. Rejects with StoreError. */
export async function overviewOf(
  store: Pick<Repositories, 'learning'>,
  { estimator, influenceMax, now }: { estimator: string; influenceMax: number; now: number },
) {
  const { outcomes, examples, memories } = store.learning;
  const through = (await memories.positions()).find((position) => position.estimator === estimator);
  const { influence } = await loadLearningState(store, now, await outcomes.horizon());
  const { stakes } = influence.sums;
  const [mass, chats] = [1, 2].map((at) => stakes.reduce((sum, stake) => sum + Number(stake[at]), 0));
  const keys = stakes.map(([keyId, own, requests]) => ({
    /** Empty for all keys beyond the maximum. */
    keyId,
    /** The weight of its outcomes. */
    learnt: own,
    /** Shares of all learned weight and of all chats, 0..1. */
    share: mass ? own / mass : 0,
    chats: chats ? requests / chats : 0,
    /** The maximum weight; Infinity if there is no bound. */
    bound: influence.bound(keyId, influenceMax),
  }));
  return {
    sources: await outcomes.sums(),
    /** Number of decisions whose answers can still be scored. */
    examples: await examples.countOpen(now),
    /** The estimator's last outcome, ms since 1970, and the number of outcomes since; null before the first. */
    checkpoint:
      through && through.outcome > 0
        ? { at: timeOfId(through.outcome), behind: await outcomes.countAfter(estimator, through.outcome) }
        : null,
    /** The key with the most learned weight comes first. */
    keys: keys.sort((one, other) => other.learnt - one.learnt),
  };
}

/** The outcomes that match, in their order, in pages. Rejects with StoreError. */
export const outcomePages = (
  { learning }: Pick<Repositories, 'learning'>,
  filter: OutcomeFilter,
): AsyncGenerator<readonly OutcomeRow[]> =>
  pagesOf((after) => learning.outcomes.list({ ...filter, after }, PAGE), filter.after);
