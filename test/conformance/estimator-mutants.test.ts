import { describe } from 'bun:test';
import { ESTIMATOR_LAWS, type EstimatorSubject } from '../../src/conformance/estimator.ts';
import {
  defineEstimator,
  type Estimator,
  type EstimatorCatalog,
  type EstimatorMemory,
  type Inquiry,
  type PreparedEstimator,
  Type,
} from '../../src/contract/plugin.ts';
import { testMutants } from './support.ts';

/** Sums of scores and weights, by model and task. */
type Sums = Map<string, readonly [number, number]>;

const keyOf = ({ models, tasks }: EstimatorCatalog, model: number, task: number): string =>
  `${models[model]?.id} ${tasks[task]}`;

/** The parts of an estimator that a mutant changes. */
interface Mistakes {
  readonly read?: PreparedEstimator['read'];
  readonly key?: typeof keyOf;
  estimated?(sums: Sums, inquiry: Inquiry, seen: boolean, into: Parameters<Estimator['estimate']>[1]): void;
  readonly memory?: (memory: EstimatorMemory, sums: Sums) => Partial<EstimatorMemory>;
  readonly learnt?: (share: number) => number;
  readonly open?: PreparedEstimator['open'];
  readonly prepared?: () => void;
}

/** A mean for each model and task, in which the declared quality counts as ten outcomes; with mistakes. */
function tally({ read = () => new Uint8Array(), key = keyOf, ...more }: Mistakes = {}): EstimatorSubject {
  const open = (parts: ReadonlyMap<string, Uint8Array>): EstimatorMemory => {
    const sums: Sums = new Map([...parts].map(([name, bytes]) => [name, figuresOf(bytes)]));
    const changed = new Set<string>();
    const forget = (id: string) => {
      for (const name of sums.keys()) if (name.startsWith(`${id} `)) changed.add(name) && sums.delete(name);
    };
    const over = (catalog: EstimatorCatalog): Estimator => {
      const mean = (model: number, task: number, declared: number) => {
        const [sum, weight] = sums.get(key(catalog, model, task)) ?? [0, 0];
        return (10 * declared + sum) / (10 + weight);
      };
      return {
        estimate(inquiry, into, seen) {
          for (const list of [into.outcomes, into.text, into.counts]) list.fill(0);
          Object.assign(into, { length: 0, trust: 0 });
          inquiry.declared.forEach((share, at) => {
            into.quality[at] = mean(at, inquiry.task, share);
          });
          more.estimated?.(sums, inquiry, seen, into);
        },
        learn({ model, task, declared, score, weight }) {
          const before = mean(model, task, declared);
          const name = key(catalog, model, task);
          const [sum, all] = sums.get(name) ?? [0, 0];
          sums.set(name, [sum + weight * score, all + weight]);
          changed.add(name);
          return more.learnt?.(before) ?? before;
        },
        known: () =>
          [...sums].map(([name, [, outcomes]]) => ({
            model: name.split(' ')[0]!,
            task: null,
            outcomes,
            declared: 0,
            learnt: 0,
          })),
        telling: () => [],
      };
    };
    const memory: EstimatorMemory = {
      over,
      forget(model) {
        if (model !== null) return forget(model);
        for (const name of sums.keys()) changed.add(name);
        sums.clear();
      },
      save(everything) {
        const names = [...(everything ? sums.keys() : changed)];
        changed.clear();
        return new Map(names.map((name) => [name, bytesOf(sums.get(name))]));
      },
    };
    return { ...memory, ...more.memory?.(memory, sums) };
  };
  return {
    plugin: defineEstimator({
      name: 'tally',
      status: 'alpha',
      options: Type.Object({}),
      prepare: () => {
        more.prepared?.();
        return { read, open: more.open ?? open };
      },
    }),
  };
}

const bytesOf = (sums: readonly [number, number] | undefined): Uint8Array | null =>
  sums ? new Uint8Array(Float64Array.of(...sums).buffer) : null;

function figuresOf(bytes: Uint8Array): [number, number] {
  if (bytes.length !== 16) throw new Error('a part is no two figures');
  const [sum = 0, weight = 0] = new Float64Array(bytes.slice().buffer);
  return [sum, weight];
}

let asked = 0;
const log: string[] = [];

describe('estimator laws:', () => {
  testMutants(ESTIMATOR_LAWS, tally(), {
    options: [
      [
        'refuses its own defaults',
        tally({
          prepared: () => {
            throw new Error('no');
          },
        }),
      ],
    ],
    fills: [
      [
        'leaves the trust unwritten',
        tally({ estimated: (_, __, ___, into) => Object.assign(into, { trust: Number.NaN }) }),
      ],
      ['adds to what stood there', tally({ estimated: (_, __, ___, into) => (into.counts[0] = Number.NaN) })],
      ['estimates more than there is', tally({ estimated: (_, __, ___, into) => (into.quality[0]! *= 1.2) })],
      ['returns what is no share', tally({ learnt: (share) => share + 1 })],
    ],
    deterministic: [
      ['throws dice', tally({ estimated: (_, __, ___, into) => (into.quality[0]! *= Math.random()) })],
      ['remembers other lives', tally({ estimated: (_, __, ___, into) => (into.quality[0]! /= 1 + (asked++ % 5)) })],
    ],
    unseen: [
      [
        'learns from being asked',
        tally({
          estimated: (sums, _, __, into) =>
            (into.length = sums.set('asked x', [0, (sums.get('asked x')?.[1] ?? 0) + 1]).get('asked x')![1]),
        }),
      ],
    ],
    names: [['remembers by indices', tally({ key: (_, model, task) => `${model} ${task}` })]],
    saved: [
      ['saves nothing', tally({ memory: () => ({ save: () => new Map() }) })],
      ['saves all each time', tally({ memory: (memory) => ({ save: () => memory.save(true) }) })],
      [
        'forgets what it has not saved',
        tally({ memory: ({ save }) => ({ save: (all) => (all ? save(true) : new Map()) }) }),
      ],
    ],
    forgets: [
      ['forgets nobody', tally({ memory: () => ({ forget: () => {} }) })],
      ['forgets all but one', tally({ memory: ({ forget }) => ({ forget: (model) => forget(model ?? 'a') }) })],
    ],
    bounded: [
      ['keeps the whole question', tally({ read: (text) => new TextEncoder().encode(text) })],
      [
        'keeps every outcome',
        tally({ memory: (memory, sums) => ({ save: (all) => withLog(memory.save(all), sums) }) }),
      ],
    ],
    'strange-parts': [
      [
        'throws a text',
        tally({
          open: () => {
            throw 'no';
          },
        }),
      ],
    ],
  });
});

/** A log of all outcomes, as an additional part. */
function withLog(parts: Map<string, Uint8Array | null>, sums: Sums): Map<string, Uint8Array | null> {
  for (const [, weight] of sums.values()) log.push('an outcome '.repeat(weight));
  return parts.set('log', new TextEncoder().encode(log.join('')));
}
