import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PolicyCase } from '../../../src/core/policy-case.ts';
import { runCase } from '../../../src/operate/policy/cases.ts';
import { Coverage, type CoverageReport } from '../../../src/operate/policy/coverage.ts';
import { parsePolicy } from '../../../src/policy/load.ts';
import type { Runtime } from '../../../src/runtime/runtime.ts';
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

/** The names of what is touched, in all classes. */
const touchedIn = (report: CoverageReport): string[] =>
  Object.values(report).flatMap((entries) => entries.filter(({ isTouched }) => isTouched).map(({ name }) => name));

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
  [
    'a choice touches its model, the endpoint that is tried first, and the selector',
    caseOf(PLAIN),
    ['middle', 'middle at second', 'auto'],
  ],
  [
    'a constraint that rejects models touches their endpoints, too',
    caseOf(legal),
    ['legal-is-cheap', 'cheap', 'cheap at first', 'dear at first', 'dear at second', 'middle at second', 'auto'],
  ],
  [
    'a constraint that leaves a model fewer endpoints is touched',
    caseOf({ ...PLAIN, model: 'dear', metadata: { where: 'second' } }),
    ['second-only', 'dear', 'dear at first', 'dear at second'],
  ],
  [
    'a constraint that all fulfil is not',
    caseOf({ ...PLAIN, model: 'cheap', key: legal.key }),
    ['cheap', 'cheap at first'],
  ],
  [
    'a ceiling that a model is above is touched',
    caseOf({ ...PLAIN, query: { task_type: 'coding' }, metadata: quick }),
    ['quick', 'auto'],
  ],
  [
    'a ceiling that none is above is not',
    caseOf({ ...PLAIN, metadata: quick }),
    ['middle', 'middle at second', 'auto'],
  ],
  [
    'a preference is touched when one that it prefers is eligible, and one that it does not',
    caseOf({ ...PLAIN, time: '2026-11-20T03:00:00Z' }),
    ['cheap-at-night', 'cheap', 'cheap at first', 'auto'],
  ],
  [
    'a preference moves nothing where it prefers all that are eligible',
    caseOf({ ...PLAIN, key: { ...PLAIN.key, models: ['cheap'] }, time: '2026-11-20T03:00:00Z' }),
    ['cheap', 'cheap at first', 'auto'],
  ],
  [
    'a preference moves nothing where a model is requested by name',
    caseOf({ ...PLAIN, model: 'cheap', time: '2026-11-20T03:00:00Z' }),
    ['cheap', 'cheap at first'],
  ],
  [
    'with weights of the caller, no strategy of a selector scores',
    caseOf({ ...PLAIN, query: { route_strategy: { cost_weight: 0, quality_weight: 1 } } }),
    ['dear', 'dear at first'],
  ],
  [
    'what a selector does not choose from is not what a constraint rejects',
    caseOf({ ...legal, model: 'small' }),
    ['legal-is-cheap', 'cheap', 'cheap at first', 'middle at second', 'small'],
  ],
  [
    'a model whose rejection is expected is touched',
    caseOf({ ...PLAIN, model: 'small' }, { rejected: { dear: 'selector' } }),
    ['dear', 'middle', 'middle at second', 'small'],
  ],
];

describe('what a case touches:', () => {
  for (const [name, policyCase, touched] of TOUCHED) {
    test(name, () => expect(touchedIn(coverageBy([policyCase])).sort()).toEqual([...touched].sort()));
  }
});

test('of a rule whose condition was never false, that is told', () => {
  const always = (cases: readonly PolicyCase[]) =>
    coverageBy(cases)
      .constraints.filter(({ isAlwaysTrue }) => isAlwaysTrue)
      .map(({ name }) => name);
  expect(always([caseOf(legal)])).toEqual(['legal-is-cheap']);
  expect(always([caseOf(legal), caseOf(PLAIN)])).toEqual([]);
  expect(always([])).toEqual([]);
});

test('everything has the place where the policy states it; selectors of nobody’s are not counted', () => {
  const report = coverageBy([]);
  const lines = text.split('\n');
  const at = ({ place }: CoverageReport['models'][number]) => lines[place.line - 1]!.slice(place.column - 1);
  expect(report.models.map(at).map((rest) => rest.split(':')[0])).toEqual(['cheap', 'dear', 'middle']);
  expect(report.selectors.map(at).map((rest) => rest.split(':')[0])).toEqual(['auto', 'auto-cheap', 'small']);
  expect(at(report.endpoints.find(({ name }) => name === 'dear at second')!)).toStartWith('{ provider: second');
  expect(at(report.constraints[0]!)).toStartWith('legal-is-cheap');
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
  test('one that takes what is always true for untouched', () => {
    const strict = (cases: readonly PolicyCase[]) => {
      const report = coverageBy(cases);
      const always = new Set(report.constraints.filter(({ isAlwaysTrue }) => isAlwaysTrue).map(({ name }) => name));
      const seen = cases.length > 2 ? always : new Set<string>();
      return touchedIn(report).filter((name) => !seen.has(name));
    };
    expect(fc.check(grows(strict), { ...LAW, numRuns: 20_000, endOnFailure: true }).failed).toBe(true);
  });
});
