import { expect, test } from 'bun:test';
import { createIds } from '../../src/core/id.ts';
import { openLearner } from '../../src/learning/open.ts';
import type { LearningTables, OutcomeLog } from '../../src/store/learning.ts';
import { exampleOf, NOON, policyOf } from '../learning/support.ts';
import { memoryLearning } from '../store/memory/learning.ts';
import { MemoryStore } from '../store/memory/store.ts';

/** Tables whose rows a test can hold back, as those of a commit that ends behind others with greater numbers. */
function outOfOrder(store: MemoryStore) {
  const learning = memoryLearning(store);
  const { outcomes } = learning;
  const hidden = new Set<number>();
  const seen = <Row extends { readonly id: number }>(rows: readonly Row[]) => rows.filter(({ id }) => !hidden.has(id));
  const log: OutcomeLog = {
    ...outcomes,
    horizon: async () => Math.min(await outcomes.horizon(), ...[...hidden].map((id) => id - 1)),
    after: async (...asked) => seen(await outcomes.after(...asked)),
    tail: async (...asked) => seen(await outcomes.tail(...asked)),
    list: async (...asked) => seen(await outcomes.list(...asked)),
  };
  const tables: LearningTables = { ...learning, outcomes: log };
  /** Those of a writer whose rows become visible when the test says so. */
  const slow: LearningTables = {
    ...tables,
    outcomes: {
      ...log,
      add(row) {
        hidden.add(row.id);
        return outcomes.add(row);
      },
    },
  };
  return { tables, slow, show: () => hidden.clear() };
}

test('outcomes of two writers that appear out of order are learnt once, before and after a start', async () => {
  const store = new MemoryStore();
  const { tables, slow, show } = outOfOrder(store);
  let now = NOON;
  const nextId = createIds(() => now, 0);
  const policy = policyOf();
  const parts = {
    commit: store.commit.bind(store),
    append: store.append.bind(store),
    defer: store.defer.bind(store),
    flush: store.flush.bind(store),
    news: store.news,
  };
  const open = (learning: LearningTables) => openLearner({ store: { ...parts, learning }, now: () => now, nextId });
  const [one, other] = [await open(tables), await open(slow)];
  const rate = async (learner: typeof one, model: string) => {
    now += 1_000;
    const example = exampleOf(nextId(), { model });
    learner.keepExample(policy, example);
    await learner.score(policy, { decision: example.decision, score: 1, label: null });
  };
  const learntBy = async (learner: typeof one) =>
    Object.fromEntries(learner.memories.known(policy).map(({ model, outcomes }) => [model, outcomes]));
  await rate(one, 'a');
  await one.checkpoint();
  // The other's row has a lesser number than the next of this one, and appears behind its checkpoint.
  await rate(other, 'b');
  await rate(one, 'a');
  await one.checkpoint();
  show();
  expect(await learntBy(await open(tables))).toEqual({ a: 2, b: 1 });
  await one.checkpoint();
  expect(await learntBy(one)).toEqual({ a: 2, b: 1 });
  expect(await learntBy(await open(tables))).toEqual({ a: 2, b: 1 });
  await one.checkpoint();
  expect(await learntBy(await open(tables))).toEqual({ a: 2, b: 1 });
});
