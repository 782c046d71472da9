import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { defineEstimator, Type } from '../../src/contract/plugin.ts';
import type { LearningPolicy } from '../../src/core/learning-policy.ts';
import { LEARNING_OFF } from '../../src/policy/learning.ts';
import { type ParsedPolicy, parsePolicy } from '../../src/policy/load.ts';
import { diffPolicies } from '../../src/runtime/diff.ts';
import { brief, load, loadText, only, SMALL, snapshotOf } from './support.ts';

const DAY_MS = 86_400_000;
const learningOf = (section: string): LearningPolicy => snapshotOf(loadText(`${SMALL}${section}\n`)).learning;
const parsed = (section: string): ParsedPolicy => parsePolicy([{ path: 'p.yaml', text: `${SMALL}${section}\n` }]);

const DEFAULTS = {
  mode: 'off',
  estimator: 'learned',
  options: { length: 0.25, trust: 0 },
  feedbackWindowMs: 7 * DAY_MS,
  feedbackWeight: 1,
  influenceMax: 0.5,
  explore: null,
} as const;

describe('learning is off, with the defaults of its estimator,', () => {
  test.each([
    ['without the section', ''],
    ['where it is empty', 'learning: {}'],
    ['where it says so', 'learning: off'],
    ['where its mode says so', 'learning: { mode: off }'],
    ['where it says so in the way of YAML 1.1, in quotes', 'learning: "off"'],
  ])('%s', (_, section) => {
    expect(learningOf(section)).toEqual(DEFAULTS);
  });

  test('as is the default without an estimator', () => {
    expect(LEARNING_OFF).toEqual({ ...DEFAULTS, options: {} });
  });
});

describe('the section in the snapshot', () => {
  test.each(['shadow', 'on'] as const)('the mode %s may stand alone', (mode) => {
    expect(learningOf(`learning: ${mode}`)).toEqual({ ...DEFAULTS, mode });
    expect(learningOf(`learning: { mode: ${mode} }`)).toEqual({ ...DEFAULTS, mode });
  });

  test('has the stated values, and is frozen', () => {
    const learning = learningOf(`learning:
  mode: on
  options: { trust: 0.5 }
  feedback_window_days: 2
  feedback_weight: 0.25
  influence_max: 1
  explore: { share: 0, temperature: 0.2 }`);
    expect(learning).toEqual({
      mode: 'on',
      estimator: 'learned',
      options: { length: 0.25, trust: 0.5 },
      feedbackWindowMs: 2 * DAY_MS,
      feedbackWeight: 0.25,
      influenceMax: 1,
      explore: { share: 0, temperature: 0.2, qualityMargin: 0.2 },
    });
    expect(Object.isFrozen(learning) && Object.isFrozen(learning.options)).toBe(true);
  });

  test('explores only if the policy says so', () => {
    const explored = { share: 0.08, temperature: 0.05, qualityMargin: 0.2 };
    expect(learningOf('learning: { mode: shadow, explore: {} }').explore).toEqual(explored);
    expect(learningOf('learning: { mode: on, explore: off }').explore).toBeNull();
  });

  test.each(['off', '{ retry: off, schema: 0.5 }', '{ refusals: 2 }'])(
    'takes the signals of an earlier version, which were %s, with a warning',
    (signals) => {
      const loaded = loadText(`${SMALL}learning: { mode: on, signals: ${signals} }\n`);
      expect(loaded.diagnostics.map(({ code, severity }) => [code, severity])).toEqual([['former-key', 'warning']]);
      expect(snapshotOf(loaded).learning).toEqual({ ...DEFAULTS, mode: 'on' });
    },
  );

  test('may be spread over files', () => {
    const files = [SMALL, 'learning: shadow', 'learning: { feedback_weight: 0.5 }'];
    const loaded = load(files.map((text, at) => ({ path: `${at}.yaml`, text })));
    expect(snapshotOf(loaded).learning).toEqual({ ...DEFAULTS, mode: 'shadow', feedbackWeight: 0.5 });
  });

  test('is the same in the difference of two revisions, whatever its form', () => {
    const difference = (a: string, b: string) => diffPolicies(parsed(a).outline, parsed(b).outline);
    expect(difference('learning: shadow', 'learning: { mode: shadow }')).toEqual([]);
    expect(difference('learning: shadow', 'learning: { mode: on, influence_max: 1 }')).toEqual([
      {
        change: 'changed',
        section: 'learning',
        name: null,
        keys: [
          { key: 'influence_max', to: 1 },
          { key: 'mode', from: 'shadow', to: 'on' },
        ],
      },
    ]);
  });
});

describe('an estimator of the policy’s own', () => {
  const mine = defineEstimator({
    name: 'mine',
    status: 'alpha',
    options: Type.Object({ memory: Type.Integer({ minimum: 1, default: 5 }) }),
    prepare: () => ({ read: () => new Uint8Array(), open: () => ({ over: fail, forget: fail, save: fail }) }),
  });
  const fail = () => {
    throw new Error('not asked for');
  };
  const text = (more: string) => `${SMALL}plugins: [./mine.ts]\nlearning: { mode: on, estimator: mine${more} }\n`;
  const loaded = (more: string) =>
    load([{ path: 'p.yaml', text: text(more) }], {}, { plugins: new Map([['./mine.ts', [mine]]]) });

  test('is found, and its schema checks the options', () => {
    expect(snapshotOf(loaded('')).learning).toMatchObject({ estimator: 'mine', options: { memory: 5 } });
    expect(loaded(', options: { memory: 0 }').diagnostics.map(brief)).toEqual(['15:59 out-of-range']);
  });

  test('is unknown if no plugin defines it', () => {
    const found = only(loadText(`${SMALL}learning: { mode: off, estimator: mine }\n`), 'unknown-reference');
    expect(found).toMatchObject({ message: 'there is no estimator `mine`', line: 14, column: 35 });
  });
});

describe('records are kept as long as an answer can be scored', () => {
  interface Written {
    readonly retention: number | null;
    readonly window: number | null;
  }
  const days = (max: number) => fc.option(fc.integer({ min: 1, max }));
  const policy = ({ retention, window }: Written) =>
    `${SMALL}${retention === null ? '' : `records: { retention_days: ${retention} }\n`}learning: { mode: on${
      window === null ? '' : `, feedback_window_days: ${window}`
    } }\n`;
  const keeps = ({ retention }: Written) => (retention ?? 30) * DAY_MS;
  /** The feedback window of a policy, ms; null if the policy is refused. */
  type Reads = (written: Written) => number | null;
  const reads: Reads = (written) => loadText(policy(written)).snapshot?.learning.feedbackWindowMs ?? null;

  const holds = (read: Reads) =>
    fc.property(fc.record({ retention: days(60), window: days(60) }), (written) => {
      const found = read(written);
      if (found === null) return (written.window ?? 0) * DAY_MS > keeps(written);
      return found <= keeps(written) && (written.window === null || found === written.window * DAY_MS);
    });

  test('whatever the policy says', () => {
    fc.assert(holds(reads), { numRuns: 200 });
  });

  const mutants: Readonly<Record<string, Reads>> = {
    'a default that is longer': ({ window }) => (window ?? 7) * DAY_MS,
    'a stated one that is cut silently': (written) => Math.min((written.window ?? 7) * DAY_MS, keeps(written)),
    'a default that is refused': (written) => {
      const window = (written.window ?? 7) * DAY_MS;
      return window > keeps(written) ? null : window;
    },
  };
  test.each(Object.keys(mutants))('and %s is found', (name) => {
    expect(fc.check(holds(mutants[name]!), { numRuns: 2000, endOnFailure: true }).failed).toBe(true);
  });
});
