import { describe, expect, test } from 'bun:test';
import { learned } from '../../plugins/estimators/learned.ts';
import { idAt } from '../../src/core/id.ts';
import { openLearningReader } from '../../src/learning/open.ts';
import { replayOutcomes, resetLearning } from '../../src/learning/outcomes.ts';
import { overviewOf } from '../../src/learning/overview.ts';
import { write } from '../../src/store/sql/statement.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { learningMigrations } from '../../src/store/sqlite/learning/schema.ts';
import { exampleOf, lab, labTest, latestOutcomes, NOON, policyOf, WEEK } from './support.ts';

const scored = (decision: number, score: number) => ({ decision, score, label: null });

describe('stored data', () => {
  labTest('is deleted after its retention, in batches', async (one) => {
    const { learner, store } = one;
    const policy = policyOf();
    const examples = Array.from({ length: 1_001 }, () => exampleOf(one.nextId()));
    for (const example of examples) learner.keepExample(policy, example);
    await learner.score(policy, scored(examples[0]!.decision, 1));
    await learner.prune(WEEK);
    const rows = (table: string) => store.query({ sql: `SELECT * FROM ${table}` });
    expect([await rows('examples'), await rows('outcomes')].map(({ length }) => length)).toEqual([1_001, 1]);
    one.pass(WEEK + 3_600_000);
    await learner.prune(WEEK);
    expect([await rows('examples'), await rows('outcomes')]).toEqual([[], []]);
  });

  labTest(
    'that is unreadable is reported and started afresh, and the next outcomes replace it',
    async (one, policy) => {
      const { decision } = await one.example(policy);
      await one.learner.score(policy, scored(decision, 0));
      await one.learner.close();
      await one.store.commit([
        write({ sql: "UPDATE learnt SET bytes = x'00'" }),
        write({ sql: "INSERT INTO learnt VALUES ('toy', 'stray', x'00')" }),
        write({ sql: "UPDATE learning_standing SET body = '{'" }),
      ]);
      const { learner, store } = await one.open();
      expect(learner.memories.known(policy)[0]).toMatchObject({ outcomes: 0 });
      expect(one.faults).toEqual(['toy open']);
      await learner.close();
      expect(await store.query({ sql: 'SELECT part FROM learnt' })).toEqual([{ part: 'sums' }]);
      await store.close();
    },
  );

  labTest('survives except for the unreadable part and the parts that depend on it', async (one) => {
    const policy = policyOf({ plugin: learned });
    for (const name of ['a', 'b', 'a', 'b', 'b']) {
      const { decision } = await one.example(policy, {
        model: name,
        features: one.learner.memories.read(policy, `what is ${name}?`),
      });
      await one.learner.score(policy, scored(decision, 0));
    }
    await one.learner.close();
    const parts = async () => (await one.store.query<{ part: string }>({ sql: 'SELECT part FROM learnt' })).length;
    const before = await parts();
    await one.store.commit([write({ sql: "UPDATE learnt SET bytes = x'00' WHERE part = 'outcomes:a'" })]);
    const { learner, store } = await one.open();
    const outcomes = learner.memories
      .known(policy)
      .filter(({ task }) => task === null)
      .map((known) => known.outcomes);
    expect(outcomes).toEqual([3]);
    expect(one.faults).toEqual(['learned open']);
    await learner.close();
    await store.close();
    expect([before, await parts()]).toEqual([6, 4]);
  });

  labTest('skips outcomes that an earlier version drew from answers and retries, and still lists them', async (one) => {
    const { learner, store } = one;
    const policy = policyOf();
    const { decision } = await one.example(policy);
    await learner.score(policy, scored(decision, 0));
    await learner.checkpoint();
    const [score] = await latestOutcomes(store);
    for (const [source, label] of [
      ['checks', 'schema'],
      ['retry', 'retry'],
    ] as const) {
      const id = one.nextId();
      await store.commit([store.learning.outcomes.add({ ...score!, id, decision: id, source, label, looked: 3 })]);
    }
    const later = await one.example(policy);
    await learner.score(policy, scored(later.decision, 1));
    // A crash: the checkpoint lacks the last three.
    const next = await one.open();
    expect(next.learner.memories.known(policy)).toEqual([...learner.memories.known(policy)]);
    expect(next.learner.memories.known(policy)[0]).toMatchObject({ outcomes: 2 });
    expect(next.learner.activity.brier).toEqual(learner.activity.brier);
    expect(await replayOutcomes(next.store, policy)).toMatchObject({ outcomes: 2 });
    const { sources, checkpoint } = await overviewOf(next.store, {
      estimator: 'toy',
      influenceMax: 0.5,
      now: one.now(),
    });
    expect(sources.map(({ source, outcomes }) => [source, outcomes])).toEqual([
      ['caller', 2],
      ['checks', 1],
      ['retry', 1],
    ]);
    expect(checkpoint).toMatchObject({ behind: 3 });
    await next.learner.checkpoint();
    const overview = await overviewOf(next.store, { estimator: 'toy', influenceMax: 0.5, now: one.now() });
    expect(overview.checkpoint).toMatchObject({ behind: 0 });
    await next.store.close();
  });

  labTest('of the shared figures is read with those of signals, which an earlier version kept', async (one, policy) => {
    const { decision } = await one.example(policy);
    await one.learner.score(policy, scored(decision, 0));
    await one.learner.close();
    const earlier = `json_set(body, '$.signals', json('{"shown":[1,0,0,0,0],"bad":[2,0,0,0,0]}'))`;
    await one.store.commit([write({ sql: `UPDATE learning_standing SET body = ${earlier}` })]);
    const { learner, store } = await one.open();
    expect(learner.activity.brier).toEqual(one.learner.activity.brier);
    await store.close();
  });

  test('is written at intervals, and what another process resets is heard of', async () => {
    const errors: unknown[] = [];
    await using one = await lab({ checkpointMs: 4, onError: (error) => errors.push(error) });
    const policy = policyOf();
    const { decision } = await one.example(policy);
    await one.learner.score(policy, scored(decision, 0));
    const other = await openSqlite(one.file, [learningMigrations]);
    await resetLearning(other, 'a', one.now());
    await one.store.news.look();
    expect(one.learner.memories.known(policy)[0]!.outcomes).toBe(0);
    for (let i = 0; i < 200; i++) {
      const [row] = await other.query<{ reset: number }>({ sql: 'SELECT reset FROM learnt_through' });
      if (row?.reset === 1) break;
      await Bun.sleep(2);
    }
    expect(await other.query({ sql: 'SELECT reset FROM learnt_through' })).toEqual([{ reset: 1 }]);
    await other.close();
    await one.learner.close();
    expect(one.learner.memories.known(policy)[0]).toMatchObject({ outcomes: 0 });
    expect(errors).toEqual([]);
  });

  labTest('includes a secret, created once; nothing is known before that', async (one) => {
    await using other = await lab();
    const policy = policyOf();
    const read = one.learner.memories.read(policy, 'hello');
    expect(read?.[0]).toBe(5);
    expect(one.learner.memories.read(policy, null)).toBeNull();
    expect((await openLearningReader(one.store))!.read(policy, 'hello')).toEqual(read!);
    const [first] = await one.store.query<{ secret: Uint8Array }>({ sql: 'SELECT secret FROM learning_secret' });
    const [second] = await other.store.query<{ secret: Uint8Array }>({ sql: 'SELECT secret FROM learning_secret' });
    expect(first!.secret).not.toEqual(second!.secret);
    await one.store.commit([write({ sql: 'DELETE FROM learning_secret' })]);
    expect(await openLearningReader(one.store)).toBeNull();
    await one.store.commit([write({ sql: 'DROP TABLE learning_secret' })]);
    expect(await openLearningReader(one.store)).toBeNull();
  });

  labTest('has ascending IDs even if the clock goes back', async (one, policy) => {
    const { decision } = await one.example(policy);
    await one.learner.score(policy, scored(decision, 0));
    const { learner, store } = await one.open();
    const early = idAt(NOON) - 5_000_000;
    learner.keepExample(policy, exampleOf(early));
    await learner.score(policy, scored(early, 1));
    const outcomes = await latestOutcomes(store);
    expect(outcomes.map((row) => row.decision)).toEqual([early, decision]);
    await store.close();
  });
});
