import { describe, expect, test } from 'bun:test';
import { learned } from '../../plugins/estimators/learned.ts';
import { defineEstimator, Type } from '../../src/contract/plugin.ts';
import { moved } from '../../src/core/estimate.ts';
import type { LearningPolicyInForce } from '../../src/learning/answer.ts';
import { openLearningReader } from '../../src/learning/open.ts';
import { replayOutcomes, resetLearning } from '../../src/learning/outcomes.ts';
import { overviewOf } from '../../src/learning/overview.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { learningMigrations } from '../../src/store/sqlite/learning/schema.ts';
import { facts, model } from '../routing/build.ts';
import { exampleOf, lab, labTest, latestOutcomes, NOON, policyOf, toy, WEEK } from './support.ts';

const scored = (decision: number, score: number, label: string | null = null) => ({ decision, score, label });

describe('an estimate', () => {
  labTest('is learned in mode on, shown in mode shadow, and by length alone in mode off', async (one) => {
    const { learner } = one;
    const options = { step: 1, length: 0.5 };
    const on = policyOf({ options });
    const { decision } = await one.example(on);
    await learner.score(on, scored(decision, 0));
    const features = Uint8Array.of(51, 0);
    const inOn = learner.memories.estimate(on, facts(), features);
    expect(inOn.shadow).toBeNull();
    expect(inOn.quality[0]).toBeLessThan(0.8);
    expect(inOn.quality[1]).toBe(moved(0.6, 0.1));
    expect(inOn.counts).toEqual(Float32Array.of(1, 0));
    const inShadow = learner.memories.estimate(policyOf({ mode: 'shadow', options }), facts(), features);
    expect(inShadow.quality).toEqual(Float64Array.of(moved(0.8, 0.1), moved(0.6, 0.1)));
    expect(inShadow.shadow).toEqual(inOn.quality);
    const off = policyOf({ mode: 'off', options });
    const inOff = learner.memories.estimate(off, facts(), features);
    expect(inOff).toMatchObject({ shadow: null, length: 0.1, trust: 0, counts: Float32Array.of(0, 0) });
    expect(inOff.quality).toEqual(inShadow.quality);
    // Without text there is no length: exactly the declared qualities.
    expect(learner.memories.estimate(off, facts(), null).quality).toEqual(Float64Array.of(0.8, 0.6));
  });

  labTest('stays as it is while others are made, since its record is written later', async (one) => {
    const options = { step: 1, length: 0.5 };
    const on = policyOf({ options });
    const { decision } = await one.example(on);
    await one.learner.score(on, scored(decision, 0));
    for (const mode of ['on', 'shadow', 'off'] as const) {
      const policy = policyOf({ mode, options });
      const first = one.learner.memories.estimate(policy, facts(), Uint8Array.of(51, 0));
      const kept = structuredClone(first);
      one.learner.memories.estimate(policy, facts(), null);
      one.learner.memories.estimate(policy, facts(), Uint8Array.of(7, 200));
      expect(first).toEqual(kept);
    }
  });

  labTest('weighs the tasks of an uncertain request by their shares', async (one) => {
    const both = { quality: Float64Array.of(0.8, 0.4), declared: { general: 0.8, stated: Uint8Array.of(0, 1) } };
    const policy = policyOf({ models: [model('a', { ...both, declared: { ...both.declared, basis: 'guessed' } })] });
    const tasks = [...policy.snapshot.tasks, { ...policy.snapshot.tasks[0]!, name: 'math' }];
    const taskIndex = new Map([
      ['general', 0],
      ['math', 1],
    ]);
    const wide = { ...policy, snapshot: { ...policy.snapshot, tasks, taskIndex } };
    const mix = [
      { task: 'math', share: 0.75 },
      { task: 'general', share: 0.25 },
    ];
    expect(one.learner.memories.estimate(wide, facts({ task: 'math', mix }), null).quality[0]).toBeCloseTo(0.5, 12);
    expect(one.learner.memories.estimate(wide, facts({ task: 'math' }), null).quality[0]).toBe(0.4);
  });

  test('is the declared quality if the plugin throws or returns no share, and the fault is reported once', async () => {
    for (const quality of [Number.NaN, 1.2, -0.1, null]) {
      await using one = await lab();
      const broken = defineEstimator({
        ...toy,
        name: 'broken',
        options: Type.Object({}),
        prepare: (_, secret) => {
          const prepared = toy.prepare({ step: 0.1, length: 0 }, secret);
          return {
            ...prepared,
            open: (parts) => {
              const memory = prepared.open(parts);
              return {
                ...memory,
                over: (catalog) => ({
                  ...memory.over(catalog),
                  estimate: (_, into) => {
                    if (quality === null) throw new Error('no');
                    into.quality.fill(quality);
                  },
                  learn: () => {
                    throw new Error('no');
                  },
                }),
              };
            },
          };
        },
      });
      const policy = policyOf({ plugin: broken });
      for (let i = 0; i < 3; i++) {
        expect(one.learner.memories.estimate(policy, facts(), null).quality).toEqual(Float64Array.of(0.8, 0.6));
      }
      const { decision } = await one.example(policy);
      expect(await one.learner.score(policy, scored(decision, 0))).toMatchObject({ result: 'learnt' });
      expect(one.faults).toEqual(['broken estimate', 'broken learn']);
      expect(one.learner.activity.faults).toBe(4);
    }
  });

  labTest(
    'keeps what was learned when a later policy has other options, and earlier policies continue with it',
    async (one) => {
      const { learner } = one;
      const early = policyOf({ options: { step: 1 } });
      const { decision } = await one.example(early);
      await learner.score(early, scored(decision, 0));
      const before = learner.memories.estimate(early, facts(), null).quality;
      const late = policyOf({ options: { step: 5 } });
      expect(learner.memories.estimate(late, facts(), null).quality).toEqual(before);
      const next = await one.example(early);
      await learner.score(early, scored(next.decision, 0));
      const after = learner.memories.estimate(late, facts(), null).quality;
      expect(after[0]).toBeLessThan(before[0]!);
      expect(learner.memories.estimate(early, facts(), null).quality).toEqual(after);
    },
  );

  labTest('of another plugin has its own memory, and the first plugin finds its own again', async (one) => {
    const { learner } = one;
    const mine = policyOf();
    const other = policyOf({ plugin: { ...toy, name: 'other' } });
    const { decision } = await one.example(mine);
    await learner.score(mine, scored(decision, 0));
    const learnt = learner.memories.estimate(mine, facts(), null).quality;
    expect(learner.memories.estimate(other, facts(), null).quality).toEqual(Float64Array.of(0.8, 0.6));
    expect(learner.memories.estimate(mine, facts(), null).quality).toEqual(learnt);
  });
});

describe('a score', () => {
  labTest(
    'is learned once: the same again is repeated, another contradicts, and of two concurrent ones the first wins',
    async (one, policy) => {
      const { learner } = one;
      const { decision } = await one.example(policy);
      const first = await Promise.all([0, 1, 0].map((score) => learner.score(policy, scored(decision, score, 'ok'))));
      expect(first).toEqual([
        { result: 'learnt', weight: 1, label: 'ok' },
        'contradicts',
        { result: 'repeated', weight: 1, label: 'ok' },
      ]);
      for (const label of [null, 'other']) {
        const again = await learner.score(policy, scored(decision, 0, label));
        expect(again).toEqual({ result: 'repeated', weight: 1, label: 'ok' });
      }
      expect(await latestOutcomes(one.store)).toMatchObject([
        { decision, source: 'caller', model: 'a', task: 'general', score: 0, weight: 1, declared: 0.8, label: 'ok' },
      ]);
      expect(learner.activity.scores).toBe(1);
      expect(learner.memories.known(policy)[0]).toMatchObject({ model: 'a', outcomes: 1 });
    },
  );

  labTest('is unknown without an example, and after either window', async (one, policy) => {
    const { learner } = one;
    expect(await learner.score(policy, scored(5, 1))).toBe('unknown');
    const { decision } = await one.example(policy);
    one.pass(WEEK / 2);
    const shorter = policyOf({ feedbackWindowMs: WEEK / 4 });
    expect(await learner.score(shorter, scored(decision, 1))).toBe('unknown');
    one.pass(WEEK / 2 + 1);
    expect(await learner.score(policyOf({ feedbackWindowMs: 9 * WEEK }), scored(decision, 1))).toBe('unknown');
  });

  labTest('waits for an example that is being written, and learning off stores none', async (one) => {
    const { learner, store } = one;
    const policy = policyOf();
    learner.keepExample(policy, exampleOf(7));
    one.pass(-NOON + Date.UTC(2026, 0, 1));
    expect(await learner.score(policy, scored(7, 1))).toMatchObject({ result: 'learnt' });
    learner.noteAnswer(policyOf({ mode: 'off' }), exampleOf(8));
    learner.keepExample(policyOf({ mode: 'off' }), exampleOf(8));
    learner.noteAnswer(policy, exampleOf(9, { model: 'gone' }));
    await store.flush();
    expect(await Promise.all([8, 9].map((id) => store.learning.examples.find(id)))).toEqual([null, null]);
  });

  labTest('counts with the weight of the policy; without weight it is stored', async (one) => {
    const { learner } = one;
    const half = policyOf({ feedbackWeight: 0.5 });
    const scores = [half, policyOf({ feedbackWeight: 0 }), policyOf({ mode: 'off' })].map(async (policy) => {
      const { decision } = await one.example(half);
      return learner.score(policy, scored(decision, 1));
    });
    expect(await Promise.all(scores)).toEqual([
      { result: 'learnt', weight: 0.5, label: null },
      { result: 'kept', weight: 0, label: null },
      { result: 'kept', weight: 0, label: null },
    ]);
    expect(learner.activity.withheld).toBe(0);
  });

  labTest('of a model that the policy no longer has is still learned', async (one) => {
    const both = policyOf();
    const { decision } = await one.example(both);
    const alone = policyOf({ models: [model('b', { q: 0.6 })] });
    expect(await one.learner.score(alone, scored(decision, 0))).toMatchObject({ result: 'learnt', weight: 1 });
    expect(one.learner.memories.estimate(both, facts(), null).quality[0]).toBeLessThan(0.8);
  });

  labTest('is learned once even if the disk fails, and is written when it recovers', async (one, policy) => {
    const { decision } = await one.example(policy);
    const flush = one.store.flush.bind(one.store);
    one.store.flush = () => Promise.reject(new Error('no disk'));
    await expect(one.learner.score(policy, scored(decision, 0))).rejects.toThrow('no disk');
    one.store.flush = flush;
    expect(await one.learner.score(policy, scored(decision, 0))).toMatchObject({ result: 'repeated', weight: 1 });
    expect(one.learner.memories.known(policy)[0]).toMatchObject({ outcomes: 1 });
    expect(await latestOutcomes(one.store)).toHaveLength(1);
  });

  labTest('measures the accuracy of the estimates', async (one) => {
    const policy = policyOf({ options: { step: 2 } });
    expect(one.learner.activity.brier).toEqual({ declared: Number.NaN, estimated: Number.NaN });
    for (let i = 0; i < 20; i++) {
      const { decision } = await one.example(policy);
      await one.learner.score(policy, scored(decision, 0));
    }
    const { declared, estimated } = one.learner.activity.brier;
    expect(declared).toBeCloseTo(0.64, 9);
    expect(estimated).toBeLessThan(0.5);
    const errors: number[] = [];
    const onOutcome = (row: { readonly estimated: number }, again: number) => errors.push(again - row.estimated);
    const replayed = await replayOutcomes(one.store, policy, { onOutcome });
    expect(errors).toEqual(Array.from({ length: 20 }, () => 0));
    expect(replayed.outcomes).toBe(20);
    expect(replayed.known).toEqual([...one.learner.memories.known(policy)]);
  });
});

labTest('a withheld outcome does not begin a memory: later outcomes of others survive a crash', async (one) => {
  const before = policyOf({ influenceMax: 0.5 });
  const score = async (keyId: string, policy: LearningPolicyInForce) =>
    one.learner.score(policy, scored((await one.example(policy, { keyId })).decision, 1));
  // A key that is alone, or has most of the chats, has no bound.
  for (let i = 0; i < 9; i++) {
    one.learner.noteAnswer(before, exampleOf(one.nextId(), { keyId: 'k2' }));
    await score('k2', before);
  }
  await Promise.all(Array.from({ length: 120 }, () => score('k1', before)));
  expect(one.learner.activity.withheld).toBeGreaterThan(0);
  const policy = policyOf({ influenceMax: 0.5, plugin: { ...toy, name: 'another' } });
  expect(await score('k1', policy)).toMatchObject({ result: 'kept', weight: 0 });
  expect(await score('k2', policy)).toMatchObject({ result: 'learnt' });
  const { learner, store } = await one.open();
  expect(learner.memories.known(policy)[0]!.outcomes).toBeGreaterThan(0);
  await store.close();
});

describe('a reset', () => {
  labTest('by another process is applied, and no checkpoint revives what it deleted', async (one, policy) => {
    const { learner } = one;
    for (const name of ['a', 'b']) {
      const { decision } = await one.example(policy, { model: name });
      await learner.score(policy, scored(decision, 0));
    }
    await learner.refresh();
    const other = await openSqlite(one.file, [learningMigrations]);
    await resetLearning(other, 'a', one.now() + 1);
    // The store itself lacks what was reset.
    expect((await openLearningReader(other))!.known(policy)).toMatchObject([{ outcomes: 0 }, { outcomes: 1 }]);
    await learner.checkpoint();
    expect((await openLearningReader(other))!.known(policy)).toMatchObject([{ outcomes: 0 }, { outcomes: 1 }]);
    await learner.refresh();
    expect(learner.memories.known(policy)).toMatchObject([{ outcomes: 0 }, { outcomes: 1 }]);
    expect(await replayOutcomes(other, policy)).toMatchObject({ known: [{ outcomes: 0 }, { outcomes: 1 }] });
    const { decision } = await one.example(policy);
    await learner.score(policy, scored(decision, 0));
    await other.close();
    // A crash: it was never closed.
    const { learner: next, store } = await one.open();
    expect(next.memories.known(policy)).toEqual([...learner.memories.known(policy)]);
    expect(next.memories.known(policy)).toMatchObject([{ outcomes: 1 }, { outcomes: 1 }]);
    expect(next.activity.brier.declared).toBeCloseTo(learner.activity.brier.declared, 9);
    await resetLearning(store, null, one.now());
    expect((await openLearningReader(store))!.brier.declared).toBeNaN();
    await store.close();
    const { learner: last, store: open } = await one.open();
    expect(last.memories.known(policy)).toMatchObject([{ outcomes: 0 }, { outcomes: 0 }]);
    // The accuracy concerned what was reset.
    expect(last.activity.brier.declared).toBeNaN();
    const fresh = await one.example(policy, { model: 'b' });
    await last.score(policy, scored(fresh.decision, 0));
    const { brier } = last.activity;
    expect(brier.declared).toBeCloseTo(0.36, 9);
    expect((await openLearningReader(open))!.brier).toMatchObject({ declared: brier.declared });
    await resetLearning(open, null, one.now());
    await last.refresh();
    expect(last.activity.brier.declared).toBeNaN();
    await last.close();
    await open.close();
  });

  labTest('that two refreshes read at once is applied once: what is learnt between them stays', async (one, policy) => {
    const { learner, store } = one;
    const teach = async () => learner.score(policy, scored((await one.example(policy)).decision, 0));
    await teach();
    one.pass(1);
    await resetLearning(store, 'a', one.now());
    const { resets } = store.learning;
    const after = resets.after.bind(resets);
    const held = Promise.withResolvers<void>();
    let reads = 0;
    resets.after = (id) => after(id).then((found) => (reads++ === 0 ? held.promise.then(() => found) : found));
    const late = learner.refresh();
    await learner.refresh();
    await teach();
    held.resolve();
    await late;
    expect(learner.memories.known(policy)[0]).toMatchObject({ outcomes: 1 });
  });
});

labTest('keeps its place among the outcomes even if the checkpoint after it failed', async (one) => {
  const { learner, store } = one;
  const policy = policyOf();
  const teach = async () => {
    const { decision } = await one.example(policy);
    await learner.score(policy, scored(decision, 0));
  };
  await teach();
  await learner.refresh();
  const other = await openSqlite(one.file, [learningMigrations]);
  await resetLearning(other, 'a', one.now());
  await other.close();
  const commit = store.commit.bind(store);
  store.commit = () => Promise.reject(new Error('no disk'));
  await expect(learner.refresh()).rejects.toThrow('no disk');
  store.commit = commit;
  await teach();
  const next = await one.open();
  expect(next.learner.memories.known(policy)).toEqual([...learner.memories.known(policy)]);
  expect(next.learner.memories.known(policy)[0]).toMatchObject({ outcomes: 1 });
  await next.store.close();
  // The next checkpoint includes the changes of the failed one.
  await learner.close();
  const last = await one.open();
  expect(last.learner.memories.known(policy)).toEqual([...learner.memories.known(policy)]);
  await last.store.close();
});

labTest('outcomes since the last checkpoint are replayed to one estimator, with their requests', async (one) => {
  const { learner, store } = one;
  const policy = policyOf();
  const { decision } = await one.example(policy);
  await learner.score(policy, scored(decision, 1));
  await learner.checkpoint();
  const other = policyOf({ plugin: learned });
  const later = exampleOf(one.nextId(), { keyId: 'k2' });
  learner.noteAnswer(other, later);
  await learner.score(other, scored(later.decision, 1));
  const of = (estimator: string) => overviewOf(store, { estimator, influenceMax: 0.5, now: one.now() });
  expect((await of('toy')).checkpoint).toMatchObject({ behind: 0 });
  expect((await of('learned')).checkpoint).toMatchObject({ behind: 1 });
  // The traffic of keys is written with the checkpoint.
  await learner.checkpoint();
  expect((await of('toy')).keys.map(({ keyId, chats }) => [keyId, chats])).toEqual([
    ['k1', 0],
    ['k2', 1],
  ]);
});
