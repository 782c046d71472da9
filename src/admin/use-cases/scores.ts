import { commandName } from '../../core/command-name.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { StoreReader } from '../../store/driver.ts';
import type { OutcomeFilter, OutcomeRow } from '../../store/learning.ts';
import { openStore, readStore } from '../../store/open.ts';
import type { Repositories } from '../../store/repositories.ts';
import { LEARNING } from '../../store/trail.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** Reads the scores of a database in one consistent state, whether a server is running or not. Rejects with StoreError. */
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
 * Excludes all scores so far from the means of a model, given by ID, or of all models for null.
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
    `No answer of the model \`${model}\` was scored. To see the models with scores, run ${commandName()} learn status.`,
  );
}

/** The most rows of a page. */
const PAGE = 1_000;

/** Returns the scores that match a filter, in order, in pages. Rejects with StoreError. */
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
