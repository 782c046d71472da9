import { test } from 'bun:test';
import { join } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import {
  defineEstimator,
  type Estimator,
  type EstimatorCatalog,
  type EstimatorMemory,
  Type,
} from '../../src/contract/plugin.ts';
import { moved } from '../../src/core/estimate.ts';
import { createIds } from '../../src/core/id.ts';
import type { LearningPolicy } from '../../src/core/learning-policy.ts';
import type { Model } from '../../src/core/snapshot.ts';
import type { Example, LearningPolicyInForce } from '../../src/learning/answer.ts';
import type { Learner, LearnerOptions } from '../../src/learning/learner.ts';
import { openLearner } from '../../src/learning/open.ts';
import { LEARNING_OFF } from '../../src/policy/learning.ts';
import type { OutcomeRow } from '../../src/store/learning.ts';
import { openSqlite, type SqliteRepositories } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { learningMigrations } from '../../src/store/sqlite/learning/schema.ts';
import { facts, GENERAL, model, snapshot } from '../routing/build.ts';
import { tempFolder } from '../store/support.ts';

/** By model: the shift of its mean in log odds, and the number of outcomes; `seen`: the number of requests. */
interface ToySums {
  shifts: Map<string, number>;
  counts: Map<string, number>;
  seen: number;
}

const PART = 'sums';

const read = (bytes: Uint8Array | undefined): ToySums => {
  if (!bytes) return { shifts: new Map(), counts: new Map(), seen: 0 };
  const { shifts, counts, seen } = JSON.parse(new TextDecoder().decode(bytes));
  return { shifts: new Map(shifts), counts: new Map(counts), seen };
};

const write = ({ shifts, counts, seen }: ToySums): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ shifts: [...shifts], counts: [...counts], seen }));

/** A minimal estimator that depends on the order of outcomes, their features and the options to the last bit. */
export const toy = defineEstimator({
  name: 'toy',
  status: 'alpha',
  options: Type.Object({ step: Type.Number({ default: 0.1 }), length: Type.Number({ default: 0 }) }),
  prepare: ({ step = 0.1, length = 0 }, [secret]) => ({
    read: (text) => Uint8Array.of(text.length & 255, secret & 255),
    open: (parts): EstimatorMemory => {
      const sums = read(parts.get(PART));
      let isChanged = false;
      return {
        over: ({ models }: EstimatorCatalog): Estimator => ({
          estimate: ({ declared, features }, into, seen) => {
            into.length = features ? length * (features[0]! / 255) : 0;
            models.forEach(({ id }, at) => {
              into.outcomes[at] = sums.shifts.get(id) ?? 0;
              into.counts[at] = sums.counts.get(id) ?? 0;
              into.text[at] = 0;
              into.quality[at] = moved(declared[at]!, into.length + into.outcomes[at]!);
            });
            if (!seen) return;
            sums.seen++;
            isChanged = true;
          },
          learn: ({ model: at, declared, score, weight, features }) => {
            const { id } = models[at]!;
            const shift = sums.shifts.get(id) ?? 0;
            const before = moved(declared, shift);
            const twist = 1 + (features?.[0] ?? 0) / 1_000;
            sums.shifts.set(id, shift + (step * weight * twist * (score - before)) / (1 + Math.abs(shift)));
            sums.counts.set(id, (sums.counts.get(id) ?? 0) + weight);
            isChanged = true;
            return before;
          },
          known: () =>
            models.map(({ id, general }) => ({
              model: id,
              task: null,
              outcomes: sums.counts.get(id) ?? 0,
              declared: general,
              learnt: moved(general, sums.shifts.get(id) ?? 0),
            })),
          telling: (text) => [{ word: text.slice(0, 3), adds: 0.1 }],
        }),
        forget: (id) => {
          isChanged = true;
          if (id === null) {
            sums.shifts.clear();
            sums.counts.clear();
            sums.seen = 0;
          }
          sums.shifts.delete(id ?? '');
          sums.counts.delete(id ?? '');
        },
        save: (everything) => {
          if (!everything && !isChanged) return new Map();
          isChanged = false;
          return new Map([[PART, write(sums)]]);
        },
      };
    },
  }),
});

export const NOON = Date.UTC(2026, 5, 1, 12);
const DAY = 86_400_000;

interface PolicyMore extends Partial<LearningPolicy> {
  readonly models?: readonly Model[];
  readonly plugin?: LearningPolicyInForce['estimator'];
}

export function policyOf({
  models = [model('a', { q: 0.8 }), model('b', { q: 0.6 })],
  plugin = toy,
  ...more
}: PolicyMore = {}): LearningPolicyInForce {
  const tasks = [GENERAL];
  const options = { ...(Value.Default(plugin.options, { ...more.options }) as object) };
  const learning = { ...LEARNING_OFF, mode: 'on' as const, estimator: plugin.name, ...more, options };
  return { snapshot: snapshot(models, { tasks, learning }), estimator: plugin };
}

/** A learner with its own database, and a clock that moves only on demand. */
export async function lab(more: Partial<LearnerOptions> = {}) {
  const folder = tempFolder();
  const file = join(folder.path, 'lab.db');
  const faults: string[] = [];
  let time = NOON;
  const now = () => time;
  const nextId = createIds(now, 0);
  const open = async (): Promise<{ store: SqliteRepositories; learner: Learner }> => {
    const store = await openSqlite(file, [accessMigrations, learningMigrations]);
    const onFault = (estimator: string, where: string) => void faults.push(`${estimator} ${where}`);
    return { store, learner: await openLearner({ store, now, nextId, onFault, ...more }) };
  };
  const first = await open();
  return {
    ...first,
    faults,
    nextId,
    now,
    file,
    pass: (ms: number) => {
      time += ms;
    },
    open,
    /** A decision whose answer can be scored. */
    async example(policy: LearningPolicyInForce, more: Partial<Example> = {}, learner = first.learner) {
      const store = this.store;
      const example = exampleOf(nextId(), more);
      learner.keepExample(policy, example);
      await store.flush();
      return example;
    },
    async [Symbol.asyncDispose]() {
      await first.store.close().catch(() => {});
      folder[Symbol.dispose]();
    },
  };
}

type Lab = Awaited<ReturnType<typeof lab>>;

/** A test in a laboratory of its own, with the usual policy. */
export function labTest(name: string, run: (one: Lab, policy: LearningPolicyInForce) => Promise<void>): void {
  test(name, async () => {
    await using one = await lab();
    await run(one, policyOf());
  });
}

export const exampleOf = (decision: number, more: Partial<Example> = {}): Example => ({
  decision,
  keyId: 'k1',
  model: 'a',
  facts: facts(),
  features: Uint8Array.of(decision & 63, 7),
  draw: null,
  ...more,
});

export const WEEK = 7 * DAY;

/** The latest nine outcomes, the latest first. */
export const latestOutcomes = (
  { learning }: Pick<SqliteRepositories, 'learning'>,
  filter: Partial<Pick<OutcomeRow, 'model' | 'source'>> = {},
): Promise<OutcomeRow[]> => {
  const all = { after: -1, before: Number.MAX_SAFE_INTEGER, keyId: null, model: null, source: null };
  return learning.outcomes.list({ ...all, ...filter }, 9, true);
};
