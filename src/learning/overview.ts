import { timeOfId } from '../core/id.ts';
import type { Statement, Store } from '../store/store.ts';
import { loadStanding } from './open.ts';
import { type OutcomeRow, type OutcomeSource, SELECT_PAGE } from './tables.ts';

/** What is kept of outcomes of one source. */
export interface SourceSums {
  readonly source: OutcomeSource;
  readonly outcomes: number;
  /** As how many they count. */
  readonly learnt: number;
  /** Those that counted for nothing since their key had its share. */
  readonly withheld: number;
}

/** How much of what is learnt came of one key, lately: masses and traffic are halved in a week. */
export interface KeyShare {
  /** Empty for all keys beyond those that are told apart. */
  readonly keyId: string;
  /** As how many outcomes its own count. */
  readonly learnt: number;
  /** Of all that was learnt, and of all chats, 0..1. */
  readonly share: number;
  readonly chats: number;
  /** As how many they may count; Infinity where nothing bounds it. */
  readonly bound: number;
}

/** What is kept of learning. */
export interface LearningOverview {
  readonly sources: readonly SourceSums[];
  /** Decisions whose answers can still be scored. */
  readonly examples: number;
  /** Of the estimator: when the last outcome in it came, ms since 1970, and how many came after it; null before the first. */
  readonly checkpoint: { readonly at: number; readonly behind: number } | null;
  /** Who taught most comes first. */
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

/** Of a store that a server was started on. Rejects with StoreError. */
export async function overviewOf(
  store: Pick<Store, 'query'>,
  { estimator, influenceMax, now }: { estimator: string; influenceMax: number; now: number },
): Promise<LearningOverview> {
  const sources = await store.query<SourceSums>(SELECT_SOURCES);
  const [kept] = await store.query<{ n: number }>(COUNT_EXAMPLES, [now]);
  const [through] = await store.query<{ outcome: number; behind: number }>(SELECT_CHECKPOINT, [estimator]);
  const { influence } = await loadStanding(store, now);
  const { stakes } = influence.sums;
  const [mass, chats] = [1, 2].map((at) => stakes.reduce((sum, stake) => sum + Number(stake[at]), 0));
  const keys = stakes.map(([keyId, own, asked]) => ({
    keyId,
    learnt: own,
    share: mass ? own / mass : 0,
    chats: chats ? asked / chats : 0,
    bound: influence.bound(keyId, influenceMax),
  }));
  return {
    sources,
    examples: kept?.n ?? 0,
    checkpoint: through && through.outcome > 0 ? { at: timeOfId(through.outcome), behind: through.behind } : null,
    keys: keys.sort((one, other) => other.learnt - one.learnt),
  };
}

/** IDs of the models that there are outcomes of. Rejects with StoreError. */
export async function modelsTaught(store: Pick<Store, 'query'>): Promise<string[]> {
  const rows = await store.query<{ model: string }>(SELECT_MODELS);
  return rows.map(({ model }) => model);
}

/** Which outcomes are wanted; null for all. */
export interface OutcomeFilter {
  /** IDs, exclusive. */
  readonly after: number;
  readonly before: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly source: OutcomeSource | null;
}

const PAGE = 1_000;

/** The log of outcomes in its order, a page at a time. Rejects with StoreError. */
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
