import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { defineEstimator, type EstimatorMemory, Type } from '../../../src/contract/plugin.ts';
import type { Learner } from '../../../src/learning/learner.ts';
import { openLearner } from '../../../src/learning/open.ts';
import type { Write } from '../../../src/store/store.ts';
import { tries } from '../../deep/effort.ts';
import { exampleOf, policyOf } from '../../learning/support.ts';
import { model } from '../../routing/build.ts';
import { VirtualClock } from '../../store/hostile/clock.ts';
import { timersOf } from '../../store/hostile/leases.ts';
import { through } from '../../store/hostile/through.ts';
import { World } from '../../store/hostile/world.ts';

const START = Date.UTC(2026, 10, 20, 12);
const MODELS = ['a', 'b', 'c'];

/** Counts the outcomes of each model, in a part of its own. */
const counting = defineEstimator({
  name: 'counting',
  status: 'alpha',
  options: Type.Object({}),
  prepare: () => ({
    read: () => new Uint8Array(),
    open: (parts): EstimatorMemory => {
      const counts = new Map([...parts].map(([id, bytes]) => [id, bytes[0]!]));
      const changed = new Set<string>();
      return {
        over: ({ models }) => ({
          estimate: () => {},
          learn: ({ model: at, declared }) => {
            const { id } = models[at]!;
            counts.set(id, (counts.get(id) ?? 0) + 1);
            changed.add(id);
            return declared;
          },
          known: () =>
            models.map(({ id, general }) => ({
              ...{ model: id, task: null, outcomes: counts.get(id) ?? 0 },
              ...{ declared: general, learnt: general },
            })),
          telling: () => [],
        }),
        forget: () => counts.clear(),
        save: (everything) => {
          const ids = everything ? [...counts.keys()] : [...changed];
          changed.clear();
          return new Map(ids.map((id) => [id, Uint8Array.of(counts.get(id) ?? 0)]));
        },
      };
    },
  }),
});
const policy = policyOf({ models: MODELS.map((id) => model(id, { q: 0.5 })), plugin: counting });

/** Two instances that learn on one store, whose answers come late, are lost or refused. */
class Learners {
  readonly clock = new VirtualClock(START);
  readonly world = new World({ clock: this.clock });
  readonly #learners: Learner[] = [];
  readonly #stores: Awaited<ReturnType<World['open']>>[] = [];
  readonly counts = new Map(MODELS.map((id) => [id, 0]));
  /** Commits of checkpoints wait for it. */
  gate: Promise<void> | null = null;

  async begin(at: number): Promise<void> {
    const opening = this.world.open(`learner ${at}`).then(async (store) => {
      const { now, nextId } = store.instance;
      const commit = store.commit.bind(store);
      const gated = through(store, {
        read: (answer) => answer,
        own: { commit: (writes: readonly Write[]) => (this.gate ?? Promise.resolve()).then(() => commit(writes)) },
      });
      const timers = timersOf(this.clock, store.connection);
      const learner = await openLearner({ store: gated, now, nextId, timers });
      learner.memories.over(policy);
      return { store, learner };
    });
    await this.clock.pass(1_000);
    const { store, learner } = await opening;
    this.#stores[at] = store;
    this.#learners[at] = learner;
  }

  async crash(at: number): Promise<void> {
    // All that was told is in the log.
    await this.clock.pass(20_000);
    this.#stores[at]!.connection.crash();
    await this.begin(at);
  }

  /** An answer of a model is scored at an instance. */
  score(at: number, id: string): void {
    const [store, learner] = [this.#stores[at]!, this.#learners[at]!];
    const decision = store.instance.nextId();
    learner.keepExample(policy, exampleOf(decision, { model: id }));
    void learner.score(policy, { decision, score: 1, label: null }).catch(() => {});
    this.counts.set(id, this.counts.get(id)! + 1);
  }

  checkpoint(at: number): void {
    void this.#learners[at]!.checkpoint().catch(() => {});
  }

  /** The outcomes that a start would find, by model. */
  async found(): Promise<Map<string, number>> {
    const opening = openLearner({ store: this.world.store, now: () => this.clock.now(), nextId: () => 0 });
    await this.clock.pass(1_000);
    const { memories } = await opening;
    return new Map(memories.known(policy).map(({ model: id, outcomes }) => [id, outcomes]));
  }
}

type Step = readonly [kind: 'score' | 'checkpoint' | 'crash' | 'pass', at: number, id: string];
const kinds = fc.constantFrom<Step[0][]>('score', 'score', 'score', 'checkpoint', 'checkpoint', 'pass', 'crash');
const plans = fc.array(fc.tuple(kinds, fc.nat(1), fc.constantFrom(...MODELS)), { minLength: 4, maxLength: 40 });

test('a checkpoint that another instance has overtaken is not written: its parts would count outcomes that its place does not', async () => {
  const learners = new Learners();
  await learners.begin(0);
  await learners.begin(1);
  learners.score(0, 'a');
  await learners.clock.pass(100);
  const { promise, resolve } = Promise.withResolvers<void>();
  learners.gate = promise;
  learners.checkpoint(0);
  await learners.clock.pass(100);
  learners.gate = null;
  learners.score(1, 'b');
  await learners.clock.pass(100);
  learners.checkpoint(1);
  await learners.clock.pass(100);
  resolve();
  await learners.clock.pass(100);
  expect(await learners.found()).toEqual(learners.counts);
  learners.checkpoint(0);
  await learners.clock.pass(100);
  expect(await learners.found()).toEqual(learners.counts);
});

test('two that learn on one store: whoever writes a checkpoint, each outcome is learned once', async () => {
  const law = fc.asyncProperty(plans, fc.nat(1_000), async (plan, seed) => {
    const learners = new Learners();
    await learners.begin(0);
    await learners.begin(1);
    for (let at = 0; at < seed; at++) learners.world.random();
    const { faults } = learners.world;
    for (const [kind, at, id] of plan) {
      const slow = {
        ...faults,
        slowBefore: 0.5,
        slowAfter: 0.5,
        delayMs: 200,
        refused: kind === 'checkpoint' ? 0.1 : 0,
      };
      if (kind !== 'crash') learners.world.faults = slow;
      if (kind === 'score') learners.score(at, id);
      else if (kind === 'checkpoint') learners.checkpoint(at);
      else if (kind === 'crash') await learners.crash(at);
      await learners.clock.pass(kind === 'pass' ? 100 : 10);
      learners.world.faults = faults;
      if (kind === 'crash') expect(await learners.found()).toEqual(learners.counts);
    }
    await learners.clock.pass(20_000);
    expect(await learners.found()).toEqual(learners.counts);
  });
  await fc.assert(law, tries('two that learn on one store', 120, 2_000));
});
