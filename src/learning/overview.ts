import { timeOfId } from '../core/id.ts';
import type { Statement, Store } from '../store/store.ts';
import { loadLearningState } from './open.ts';
import { type OutcomeRow, type OutcomeSource, SELECT_PAGE } from './tables.ts';

/** The outcomes of one source. */
export interface SourceSums {
  readonly source: OutcomeSource;
  readonly outcomes: number;
  /** Their weight in outcomes. */
  readonly learnt: number;
  /** Those that did not count because their key had reached its share. */
  readonly withheld: number;
}

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

const SELECT_SOURCES: Statement = {
  sql: `SELECT source, count(*) AS outcomes, total(weight) AS learnt, total(weight = 0 AND offered > 0) AS withheld
    FROM outcomes GROUP BY source ORDER BY source`,
};
const SELECT_MODELS: Statement = { sql: 'SELECT DISTINCT model FROM outcomes ORDER BY model' };
const COUNT_EXAMPLES: Statement = { sql: 'SELECT count(*) AS n FROM examples WHERE until >= ?' };
const SELECT_CHECKPOINT: Statement = {
  sql: `SELECT t.outcome, (SELECT count(*) FROM outcomes o
      WHERE o.estimator = t.estimator AND o.id > t.outcome AND o.weight > 0) AS behind
    FROM learnt_through t WHERE t.estimator = ?`,
};

/** Reads the overview of a store that has been migrated. Rejects with StoreError. */
export async function overviewOf(
  store: Pick<Store, 'query'>,
  { estimator, influenceMax, now }: { estimator: string; influenceMax: number; now: number },
): Promise<LearningOverview> {
  const sources = await store.query<SourceSums>(SELECT_SOURCES);
  const [examples] = await store.query<{ n: number }>(COUNT_EXAMPLES, [now]);
  const [through] = await store.query<{ outcome: number; behind: number }>(SELECT_CHECKPOINT, [estimator]);
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
    sources,
    examples: examples?.n ?? 0,
    checkpoint: through && through.outcome > 0 ? { at: timeOfId(through.outcome), behind: through.behind } : null,
    keys: keys.sort((one, other) => other.learnt - one.learnt),
  };
}

/** IDs of the models with outcomes. Rejects with StoreError. */
export async function modelsWithOutcomes(store: Pick<Store, 'query'>): Promise<string[]> {
  const rows = await store.query<{ model: string }>(SELECT_MODELS);
  return rows.map(({ model }) => model);
}

/** Selects outcomes; null for all. */
export interface OutcomeFilter {
  /** IDs, exclusive. */
  readonly after: number;
  readonly before: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly source: OutcomeSource | null;
}

const PAGE = 1_000;

/** Outcomes in their order, in pages. Rejects with StoreError. */
export async function* outcomePages(
  store: Pick<Store, 'query'>,
  { after, before, keyId, model, source }: OutcomeFilter,
): AsyncGenerator<readonly OutcomeRow[]> {
  for (let from = after; ; ) {
    const rows = await store.query<OutcomeRow>(SELECT_PAGE, [from, before, PAGE, keyId, model, source]);
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    from = last.id;
  }
}
