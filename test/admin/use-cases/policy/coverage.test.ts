import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { runCase } from '../../../../src/admin/use-cases/policy/cases.ts';
import { Coverage, type CoverageReport, summaryOf } from '../../../../src/admin/use-cases/policy/coverage.ts';
import type { PolicyCase } from '../../../../src/core/policy-case.ts';
import { parsePolicy } from '../../../../src/policy/load.ts';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
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
  ['a choice touches its model', caseOf(PLAIN), ['middle']],
  ['a constraint that rejects models is touched', caseOf(legal), ['legal-is-cheap', 'cheap']],
  [
    'a constraint that leaves a model fewer endpoints is touched',
    caseOf({ ...PLAIN, model: 'dear', metadata: { where: 'second' } }),
    ['second-only', 'dear'],
  ],
  ['a constraint that all fulfil is not', caseOf({ ...PLAIN, model: 'cheap', key: legal.key }), ['cheap']],
  [
    'a ceiling that a model is above is touched',
    caseOf({ ...PLAIN, query: { task_type: 'coding' }, metadata: quick }),
    ['quick'],
  ],
  ['a ceiling that none is above is not', caseOf({ ...PLAIN, metadata: quick }), ['middle']],
  [
    'a preference is touched when one that it prefers is eligible, and one that it does not',
    caseOf({ ...PLAIN, time: '2026-11-20T03:00:00Z' }),
    ['cheap-at-night', 'cheap'],
  ],
  [
    'a preference moves nothing where it prefers all that are eligible',
    caseOf({ ...PLAIN, key: { ...PLAIN.key, models: ['cheap'] }, time: '2026-11-20T03:00:00Z' }),
    ['cheap'],
  ],
  [
    'a preference moves nothing where a model is requested by name',
    caseOf({ ...PLAIN, model: 'cheap', time: '2026-11-20T03:00:00Z' }),
    ['cheap'],
  ],
  [
    'what a selector does not choose from is not what a constraint rejects',
    caseOf({ ...legal, model: 'small' }),
    ['legal-is-cheap', 'cheap'],
  ],
  [
    'a model whose rejection is expected is touched',
    caseOf({ ...PLAIN, model: 'small' }, { rejected: { dear: 'selector' } }),
    ['dear', 'middle'],
  ],
];

describe('what a case touches:', () => {
  for (const [name, policyCase, touched] of TOUCHED) {
    test(name, () => expect(touchedIn(coverageBy([policyCase])).sort()).toEqual([...touched].sort()));
  }
});

test('every rule and model has its place in the policy', () => {
  const lines = text.split('\n');
  const found = coverageBy([]).map(({ kind, name, place }) => {
    expect(lines[place.line - 1]!.slice(place.column - 1)).toStartWith(name);
    return kind;
  });
  expect(new Set(found)).toEqual(new Set(['constraint', 'preference', 'model']));
});

test('the percentage is rounded down, and the minimum is compared exactly', () => {
  const place = { file: 'a.yaml', line: 1, column: 1 };
  const parts = [true, true, false].map(
    (isTouched, at) => ({ kind: 'model', name: `${at}`, place, isTouched }) as const,
  );
  expect(summaryOf(parts, 66.6)).toMatchObject({ touched: 2, total: 3, percent: 66.6, enough: true });
  expect(summaryOf(parts, 66.67)).toMatchObject({ enough: false, untouched: [{ name: '2' }] });
  expect(summaryOf([], 100)).toMatchObject({ touched: 0, total: 0, percent: 100, enough: true });
});

/** What is touched by some cases is touched by more of them, in whatever order. */
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

test('one more case never uncovers anything, and the order of cases does not matter', () => {
  fc.assert(
    grows((cases) => touchedIn(coverageBy(cases))),
    LAW,
  );
});

describe('the law of coverage kills', () => {
  test('one that counts the last case alone', () => {
    expect(
      fc.check(
        grows((cases) => touchedIn(coverageBy(cases.slice(-1)))),
        LAW,
      ).failed,
    ).toBe(true);
  });
  test('one that counts a part as covered only while one case touches it', () => {
    const alone = (cases: readonly PolicyCase[]) => {
      const all = cases.flatMap((one) => touchedIn(coverageBy([one])));
      return all.filter((name) => all.indexOf(name) === all.lastIndexOf(name));
    };
    expect(fc.check(grows(alone), LAW).failed).toBe(true);
  });
});
