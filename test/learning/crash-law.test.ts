import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { learned } from '../../plugins/estimators/learned.ts';
import { createIds } from '../../src/core/id.ts';
import type { Example, LearningPolicyInForce } from '../../src/learning/answer.ts';
import { openLearner } from '../../src/learning/open.ts';
import { replayOutcomes, resetLearning } from '../../src/learning/outcomes.ts';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import { copyDatabase } from '../../src/store/sqlite/copy.ts';
import { openSqlite, type SqliteRepositories } from '../../src/store/sqlite/database.ts';
import { learningMigrations } from '../../src/store/sqlite/learning/schema.ts';
import { effort } from '../deep/effort.ts';
import { facts, model } from '../routing/build.ts';
import { tempFolder } from '../store/support.ts';
import { exampleOf, NOON, policyOf, toy } from './support.ts';

type CrashStep =
  | { readonly kind: 'score'; readonly model: string; readonly value: number }
  | { readonly kind: 'reset'; readonly model: string | null }
  | { readonly kind: 'checkpoint' | 'seen' | 'crash' | 'close' };

const names = fc.constantFrom('a', 'b');
const value = fc.constantFrom(0, 0.25, 1);
const outcome: fc.Arbitrary<CrashStep> = fc.record({ kind: fc.constant('score'), model: names, value });
const plain = (...kinds: ('checkpoint' | 'seen' | 'crash' | 'close')[]): fc.Arbitrary<CrashStep> =>
  fc.record({ kind: fc.constantFrom(...kinds) });
const reset: fc.Arbitrary<CrashStep> = fc.record({
  kind: fc.constant('reset'),
  model: fc.constantFrom<(string | null)[]>('a', null),
});

const QUESTIONS = ['Is 7 prime?', 'Prove that the sum of two odd numbers is even, and tell why.', 'Name a colour.'];

/** A faulty store, which the law must detect. */
type Breakage = (writes: readonly SqlWrite[]) => readonly SqlWrite[];
const sound: Breakage = (writes) => writes;
const without =
  (table: string): Breakage =>
  (writes) =>
    writes.filter(({ statement }) => !statement.sql.includes(table));

const mutants: Readonly<Record<string, Breakage>> = {
  'a checkpoint that does not say how far it goes': without('learnt_through'),
  'outcomes that are learnt and not written': without('INTO outcomes'),
  'figures that are taken from the log twice': (writes) =>
    writes.map((write) =>
      write.statement.sql.includes('INTO learning_standing')
        ? { ...write, params: [0, ...write.params.slice(1)] }
        : write,
    ),
};

/** The same secret puts words into the same buckets, so that two installations can be compared. */
const SAME_SECRET = { sql: 'INSERT INTO learning_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING' };

/** A server's learner with its own database, clock and IDs, all deterministic. */
class Bench implements AsyncDisposable {
  readonly #folder = tempFolder();
  readonly #policy: LearningPolicyInForce;
  readonly #breakage: Breakage;
  #copies = 0;
  #time = NOON;
  #nextId = createIds(() => this.#time, 0);
  #file = join(this.#folder.path, 'lab.db');
  #store!: SqliteRepositories;
  #learner!: Awaited<ReturnType<typeof openLearner>>;

  constructor(policy: LearningPolicyInForce, breakage: Breakage) {
    this.#policy = policy;
    this.#breakage = breakage;
  }

  async open(): Promise<this> {
    this.#store = await openSqlite(this.#file, [learningMigrations]);
    await this.#store.commit([write(SAME_SECRET, new Uint8Array(8).fill(7))]);
    const { commit, append } = this.#store;
    this.#store.commit = (writes: readonly SqlWrite[]) => commit.call(this.#store, this.#breakage(writes));
    this.#store.append = (writes: readonly SqlWrite[], droppable) =>
      append.call(this.#store, this.#breakage(writes), droppable);
    this.#learner = await openLearner({ store: this.#store, now: () => this.#time, nextId: () => this.#nextId() });
    return this;
  }

  /** @param isCalm leaves out crashes and closings */
  async run(steps: readonly CrashStep[], isCalm: boolean): Promise<this> {
    for (const step of steps) {
      this.#time += 60_000;
      if (step.kind === 'score') await this.#teach(step);
      else if (step.kind === 'reset') await this.#reset(step.model);
      else if (step.kind === 'checkpoint') await this.#learner.checkpoint();
      else if (step.kind === 'seen') this.#request('a');
      else if (!isCalm) await this.crash(step.kind === 'close');
    }
    return this;
  }

  /** Restarts from the current disk. */
  async crash(isClosed = false): Promise<void> {
    if (isClosed) await this.#learner.close();
    const copy = join(this.#folder.path, `${++this.#copies}.db`);
    copyDatabase(this.#file, copy);
    await this.#store.close();
    this.#file = copy;
    await this.open();
  }

  /** The observable state. */
  seen(): unknown {
    const asked = [null, ...QUESTIONS].map((text) =>
      this.#learner.memories.estimate(this.#policy, facts(), this.#learner.memories.read(this.#policy, text)),
    );
    return { known: this.#learner.memories.known(this.#policy), asked, brier: this.#learner.activity.brier };
  }

  /** The learned state, and that of a replay of the log. */
  async compared(): Promise<readonly [unknown, unknown]> {
    const { known } = await replayOutcomes(this.#store, this.#policy);
    return [this.#learner.memories.known(this.#policy), known];
  }

  /** Teaches without waiting for the disk. */
  hurry(steps: readonly CrashStep[]): void {
    for (const step of steps) {
      if (step.kind === 'score') this.#teach(step).catch(() => {});
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store.close();
    this.#folder[Symbol.dispose]();
  }

  /** Simulates a request and its answer. */
  #request(model: string): Example {
    const decision = this.#nextId();
    const features = this.#learner.memories.read(this.#policy, QUESTIONS[decision % QUESTIONS.length]!);
    const example = exampleOf(decision, { model, features });
    this.#learner.memories.noteRequest(this.#policy, example.facts, example.features);
    return example;
  }

  #teach({ model, value }: Extract<CrashStep, { value: number }>): Promise<unknown> {
    const example = this.#request(model);
    this.#learner.noteAnswer(this.#policy, example);
    return this.#learner.score(this.#policy, { decision: example.decision, score: value, label: null });
  }

  async #reset(model: string | null): Promise<void> {
    const other = await openSqlite(this.#file, [learningMigrations]);
    await resetLearning(other, model, this.#time);
    await other.close();
    await this.#learner.refresh();
  }
}

const policies = [
  policyOf({ options: { step: 0.7 } }),
  policyOf({ plugin: learned, models: [model('a', { q: 0.8 }), model('b', { q: 0.6 })] }),
];

/** The weights of words are megabytes, which each start and checkpoint carries. */
const { runs, seed, proved } = effort('learning', 4, 600);
const runsOf = ({ estimator }: LearningPolicyInForce): number => (estimator === learned ? Math.ceil(runs / 4) : runs);

describe('after a crash at any moment', () => {
  const isSame = (policy: LearningPolicyInForce, breakage: Breakage = sound) =>
    fc.asyncProperty(
      fc.array(
        fc.oneof({ weight: 6, arbitrary: outcome }, { weight: 1, arbitrary: reset }, plain('checkpoint', 'crash')),
        {
          minLength: 1,
          maxLength: 14,
        },
      ),
      async (steps) => {
        await using calm = await new Bench(policy, sound).open();
        await using broken = await new Bench(policy, breakage).open();
        const expected = (await calm.run(steps, true)).seen();
        await broken.run([...steps, { kind: 'crash' }], false);
        return Bun.deepEquals(broken.seen(), expected);
      },
    );

  test('no learned outcome is lost, repeated or revived', async () => {
    for (const policy of policies) await fc.assert(isSame(policy), { numRuns: runsOf(policy), seed });
    for (const [name, breakage] of Object.entries(mutants)) {
      const { failed } = await fc.check(isSame(policies[0]!, breakage), { seed: 3, numRuns: 60, endOnFailure: true });
      expect({ name, failed }).toEqual({ name, failed: true });
    }
    proved(
      'outcomes, resets, checkpoints and crashes in any order: nothing that was learnt is lost, learnt twice or brought back',
    );
  });

  test('the learned state equals a replay of the log, however much of it was written', async () => {
    const property = fc.asyncProperty(
      fc.array(outcome, { maxLength: 6 }),
      fc.boolean(),
      fc.array(outcome, { maxLength: 6 }),
      async (before, isKept, hurried) => {
        await using bench = await new Bench(policies[0]!, sound).open();
        await bench.run(isKept ? [...before, { kind: 'checkpoint' }] : before, true);
        bench.hurry(hurried);
        await bench.crash();
        const [known, replayed] = await bench.compared();
        return Bun.deepEquals(known, replayed);
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });

  test('a close keeps everything, including what only requests moved', async () => {
    const steps = fc.array(fc.oneof(outcome, plain('seen', 'checkpoint', 'close')), { maxLength: 12 });
    for (const policy of policies) {
      const property = fc.asyncProperty(steps, async (given) => {
        await using calm = await new Bench(policy, sound).open();
        await using closed = await new Bench(policy, sound).open();
        const expected = (await calm.run(given, true)).seen();
        await closed.run([...given, { kind: 'close' }], false);
        return Bun.deepEquals(closed.seen(), expected);
      });
      await fc.assert(property, { numRuns: runsOf(policy), seed });
    }
  });
});

test('the toy estimator distinguishes the order, words and weights of outcomes', () => {
  const known = (lessons: readonly [number, number, number][]) => {
    const over = toy
      .prepare({ step: 0.7, length: 0 }, [0, 0])
      .open(new Map())
      .over({
        tasks: ['general'],
        models: [{ id: 'a', quality: Float64Array.of(0.8), stated: Uint8Array.of(0), general: 0.8, basis: 'measured' }],
      });
    for (const [score, weight, word] of lessons) {
      const lesson = { model: 0, task: 0, declared: 0.8, probability: 1, among: 1 };
      over.learn({ ...lesson, score, weight, features: Uint8Array.of(word) });
    }
    return over.known()[0]!.learnt;
  };
  const all = [
    known([
      [0, 1, 1],
      [1, 1, 1],
    ]),
    known([
      [1, 1, 1],
      [0, 1, 1],
    ]),
    known([
      [0, 1, 2],
      [1, 1, 1],
    ]),
    known([
      [0, 0.5, 1],
      [1, 1, 1],
    ]),
  ];
  expect(new Set(all).size).toBe(4);
});
