import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Coverage, type CoverageReport, summaryOf } from '../../../../src/admin/use-cases/policy/coverage.ts';
import type { PolicyCase } from '../../../../src/core/policy/case.ts';
import { parsePolicy } from '../../../../src/policy/load.ts';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
import { runCase } from '../../../support/run-case.ts';
import { anyGiven, bundleOf, caseOf, policyText, runtimeFor } from './cases-support.ts';

const text = policyText();
const policy = parsePolicy(bundleOf(text).files);
let runtime: Runtime;

beforeAll(async () => {
  runtime = await runtimeFor(text);
});

function coverageBy(cases: readonly PolicyCase[]): CoverageReport {
  const coverage = new Coverage(policy);
  coverage.declare(runtime.snapshot);
  for (const one of cases) coverage.add(runCase(one, runtime), runtime);
  return coverage.report();
}

const touchedIn = (report: CoverageReport): string[] =>
  report.filter(({ isTouched }) => isTouched).map(({ name }) => name);

const PLAIN: PolicyCase['given'] = {
  model: 'auto',
  query: {},
  metadata: {},
  key: { id: 'case', labels: {}, models: null },
  team: null,
  user: null,
  time: null,
};
const legal = { ...PLAIN, key: { ...PLAIN.key, labels: { department: 'legal' } } };
const quick = { interactive: 'true' };

const TOUCHED: readonly (readonly [string, PolicyCase, readonly string[]])[] = [
  ['a case covers the model that is chosen', caseOf(PLAIN), ['middle']],
  ['a case covers a constraint that rejects models', caseOf(legal), ['legal-is-cheap', 'cheap']],
  [
    'a case covers a constraint that leaves a model fewer endpoints',
    caseOf({ ...PLAIN, model: 'dear', metadata: { where: 'second' } }),
    ['second-only', 'dear'],
  ],
  [
    'a case does not cover a constraint that all models satisfy',
    caseOf({ ...PLAIN, model: 'cheap', key: legal.key }),
    ['cheap'],
  ],
  [
    'a case covers a ceiling that a model exceeds',
    caseOf({ ...PLAIN, query: { task_type: 'coding' }, metadata: quick }),
    ['quick'],
  ],
  ['a case does not cover a ceiling that no model exceeds', caseOf({ ...PLAIN, metadata: quick }), ['middle']],
  [
    'a case covers a preference if a preferred and another model are eligible',
    caseOf({ ...PLAIN, model: 'small', time: '2026-11-20T03:00:00Z' }),
    ['cheap-at-night', 'cheap'],
  ],
  [
    'a case does not cover a preference that prefers all eligible models',
    caseOf({ ...PLAIN, key: { ...PLAIN.key, models: ['cheap'] }, time: '2026-11-20T03:00:00Z' }),
    ['cheap'],
  ],
  [
    'a case does not cover a preference if the request names a model',
    caseOf({ ...PLAIN, model: 'cheap', time: '2026-11-20T03:00:00Z' }),
    ['cheap'],
  ],
  [
    'a constraint is not covered by models that the selector cannot choose',
    caseOf({ ...legal, model: 'small' }),
    ['legal-is-cheap', 'cheap'],
  ],
  [
    'a case covers a model whose rejection it expects',
    caseOf({ ...PLAIN, model: 'small' }, { rejected: { dear: 'selector' } }),
    ['dear', 'middle'],
  ],
];

describe('what a case touches:', () => {
  for (const [name, policyCase, touched] of TOUCHED) {
    test(name, () => expect(touchedIn(coverageBy([policyCase])).sort()).toEqual([...touched].sort()));
  }
});

test('the coverage report has the location of every rule and model', () => {
  const lines = text.split('\n');
  const found = coverageBy([]).map(({ kind, name, place }) => {
    expect(lines[place.line - 1]!.slice(place.column - 1)).toStartWith(name);
    return kind;
  });
  expect(new Set(found)).toEqual(new Set(['constraint', 'preference', 'model']));
});

test('the coverage percentage is rounded down, and the minimum is compared exactly', () => {
  const place = { file: 'a.yaml', line: 1, column: 1 };
  const parts = [true, true, false].map(
    (isTouched, at) => ({ kind: 'model', name: `${at}`, place, isTouched }) as const,
  );
  expect(summaryOf(parts, 66.6)).toMatchObject({ touched: 2, total: 3, percent: 66.6, enough: true });
  expect(summaryOf(parts, 66.67)).toMatchObject({ enough: false, untouched: [{ name: '2' }] });
  expect(summaryOf([], 100)).toMatchObject({ touched: 0, total: 0, percent: 100, enough: true });
});

/** Whatever some cases cover is also covered by more cases, in any order. */
const grows = (touched: (cases: readonly PolicyCase[]) => readonly string[]) =>
  fc.property(fc.array(anyGiven, { maxLength: 5 }), anyGiven, (givens, more) => {
    const cases = givens.map((given) => caseOf(given));
    const before = touched(cases);
    const after = touched([...cases, caseOf(more)]);
    const inAnotherOrder = touched([caseOf(more), ...cases.toReversed()]);
    return (
      before.every((name) => after.includes(name)) &&
      JSON.stringify([...after].sort()) === JSON.stringify([...inAnotherOrder].sort())
    );
  });

const LAW = { numRuns: 100, endOnFailure: true };

test('another case never reduces the coverage of a policy, and the order of cases does not matter', () => {
  fc.assert(
    grows((cases) => touchedIn(coverageBy(cases))),
    LAW,
  );
});

describe('the law of coverage finds a wrong count', () => {
  test('the law of coverage finds a count of only the last case', () => {
    expect(
      fc.check(
        grows((cases) => touchedIn(coverageBy(cases.slice(-1)))),
        LAW,
      ).failed,
    ).toBe(true);
  });
  test('the law of coverage finds a count in which a second case uncovers a part', () => {
    const alone = (cases: readonly PolicyCase[]) => {
      const all = cases.flatMap((one) => touchedIn(coverageBy([one])));
      return all.filter((name) => all.indexOf(name) === all.lastIndexOf(name));
    };
    expect(fc.check(grows(alone), LAW).failed).toBe(true);
  });
});
