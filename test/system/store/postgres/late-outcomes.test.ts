import { expect, test } from 'bun:test';
import type { OutcomeRow } from '../../../../src/store/learning.ts';
import { openHandle, withRepositories } from '../../../store/postgres/opened.ts';
import { waitFor } from '../../../support/answers.ts';
import { layCable } from '../../../support/cable.ts';
import { laidDatabase } from '../../../support/shared-postgres.ts';

const outcome = (id: number): OutcomeRow => ({
  ...{ id, decision: id, source: 'caller', estimator: 'learned', keyId: 'k', model: 'm', task: 'general', score: 1 },
  ...{ offered: 1, weight: 1, declared: 0.5, estimated: 0.6, probability: 1, among: 1, looked: 0, label: null },
});

test('of two open transactions the one with the lesser ID ends last: who follows the log finds both outcomes, each once', async () => {
  await using database = await laidDatabase();
  using cable = await layCable(database.server.port);
  const late = withRepositories(await openHandle(database.url.replace(`:${database.server.port}/`, `:${cable.port}/`)));
  const early = withRepositories(await openHandle(database.url));
  const { outcomes } = early.learning;
  const found: number[] = [];
  let through = 0;
  const follow = async () => {
    const horizon = await outcomes.horizon();
    for (const { id, decision } of await outcomes.after(through, 99)) if (id <= horizon) found.push(decision);
    through = horizon;
  };
  const { promise: end, resolve: goOn } = Promise.withResolvers<void>();
  let isHeld = false;
  cable.holds = (sent) => {
    if (!sent.includes('COMMIT\0')) return null;
    isHeld = true;
    return end;
  };
  const first = late.commit([late.learning.outcomes.add(outcome(5))]);
  await waitFor(() => isHeld);
  const second = early.commit([outcomes.add(outcome(7))]);
  const waits = `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'`;
  await Promise.race([second, waitFor(async () => (await database.run(waits)).length > 0)]);
  await follow();
  goOn();
  await Promise.all([first, second]);
  await follow();
  // One that was given its ID before both and is written behind them.
  await late.commit([late.learning.outcomes.add(outcome(3))]);
  await follow();
  expect(found).toEqual([5, 7, 3]);
  for (const store of [late, early]) await store.close();
});
