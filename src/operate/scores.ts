import { commandName } from '../core/command-name.ts';
import { UsageError } from '../core/usage-error.ts';
import type { StoreReader } from '../store/driver.ts';
import type { OutcomeFilter, OutcomeRow, ScoreMean, SourceSums } from '../store/learning.ts';
import { openStore, readStore } from '../store/open.ts';
import type { Repositories } from '../store/repositories.ts';
import { LEARNING } from '../store/trail.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The stored scores: how many there are by source, and their means by model and task. */
export interface ScoreStatus {
  readonly sources: readonly SourceSums[];
  /** Each model's mean of all tasks, whose `task` is null, comes before those of its tasks. */
  readonly models: readonly (Omit<ScoreMean, 'task'> & { readonly task: string | null })[];
}

/** Reads the status of the scores. Rejects with StoreError. */
export async function scoreStatus(by: Principal, { learning }: Pick<Repositories, 'learning'>): Promise<ScoreStatus> {
  checkAction(by.caller, 'learning.read');
  const means = await learning.outcomes.means();
  const models = Map.groupBy(means, ({ model }) => model);
  return {
    sources: await learning.outcomes.sums(),
    models: [...models].flatMap(([model, byTask]) => [{ ...sumOf(byTask), model, task: null }, ...byTask]),
  };
}

function sumOf(means: readonly ScoreMean[]) {
  const outcomes = means.reduce((sum, one) => sum + one.outcomes, 0);
  const meanOf = (figure: 'mean' | 'declared') =>
    means.reduce((sum, one) => sum + one.outcomes * one[figure], 0) / outcomes;
  return { outcomes, mean: meanOf('mean'), declared: meanOf('declared') };
}

/** The difference between the scores and the declared quality, in points of a hundred. */
export const points = ({ declared, mean }: Pick<ScoreMean, 'declared' | 'mean'>): number => 100 * (mean - declared);

/**
 * The status as the admin API and `signalbox learn status --json` show it. Members that showed what versions learned from outcomes have
 * the values of a server that learns nothing.
 */
export const scoresBody = ({ sources, models }: ScoreStatus) => ({
  mode: 'off',
  estimator: 'learned',
  outcomes: sources,
  examples: 0,
  checkpoint: null,
  brier: { declared: null, estimated: null },
  models: models.map(({ mean, ...one }) => ({
    ...one,
    learnt: mean,
    difference_points: points({ ...one, mean }),
  })),
  keys: [],
  faults: [],
});

/** Reads the scores of a database as they are at one moment, next to a server or without one. Rejects with StoreError. */
export async function readScores<T>(
  by: Principal,
  database: string,
  read: (reader: StoreReader) => T | Promise<T>,
): Promise<T> {
  checkAction(by.caller, 'learning.read');
  using reader = await readStore(database, ['learning']);
  return await read(reader);
}

/**
 * Leaves the scores so far out of the means of a model, by ID, or of all for null.
 * @param now ms since 1970
 * @throws UsageError for a model without scores; rejects with StoreError
 */
export async function resetScores(by: Principal, database: string, model: string | null, now: number): Promise<void> {
  checkAction(by.caller, 'learning.change');
  const store = await openStore(database, { mode: 'beside', rooms: ['access', 'learning'] });
  try {
    const subject = model === null ? LEARNING : { kind: 'model', id: model };
    const entry = store.trail.add({ time: now, actor: by.actor, action: 'reset', subject, details: {} });
    await store.commit([store.learning.resets.add(model, now), entry]);
  } finally {
    await store.close();
  }
}

/** @throws UsageError for a model without scores */
export async function checkScored({ learning }: Pick<Repositories, 'learning'>, model: string): Promise<void> {
  if ((await learning.outcomes.models()).includes(model)) return;
  throw new UsageError(
    `No answer of a model \`${model}\` was scored. Run ${commandName()} learn status to see the models with scores.`,
  );
}

/** The most rows of a page. */
const PAGE = 1_000;

/** The outcomes that match, in their order, in pages. Rejects with StoreError. */
export async function* outcomePages(
  { learning }: Pick<Repositories, 'learning'>,
  filter: OutcomeFilter,
): AsyncGenerator<readonly OutcomeRow[]> {
  for (let after: number | undefined = filter.after; after !== undefined; ) {
    const rows = await learning.outcomes.list({ ...filter, after }, PAGE);
    if (rows.length > 0) yield rows;
    after = rows.at(-1)?.id;
  }
}
