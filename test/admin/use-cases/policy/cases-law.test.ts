import { beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { CaseRun } from '../../../../src/admin/use-cases/policy/cases.ts';
import { isDecision, reasonsAgainst } from '../../../../src/admin/use-cases/policy/reasons.ts';
import { SignalboxError } from '../../../../src/core/errors.ts';
import type { PolicyCase } from '../../../../src/core/policy/case.ts';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
import { runCase } from '../../../support/run-case.ts';
import { anyGiven, caseOf, policyText, runtimeFor } from './cases-support.ts';

type Run = (policyCase: PolicyCase, runtime: Runtime) => CaseRun;
type Expect = PolicyCase['expect'];
const RUNS = { numRuns: 150, endOnFailure: true };
/** Each mutant is tried until it fails. */
const MUTANT_RUNS = { ...RUNS, numRuns: 20_000, endOnFailure: true };
let runtime: Runtime;

beforeAll(async () => {
  runtime = await runtimeFor(policyText());
});

/** Returns everything that a case can expect from a request. */
function truthOf(given: PolicyCase['given']): Partial<Expect> {
  const { outcome } = runCase(caseOf(given), runtime);
  if (outcome === null) throw new Error('every model of the policy is served');
  if (outcome instanceof SignalboxError) return { refused: outcome.code };
  const { snapshot } = runtime;
  const against = snapshot.models.map(({ id }) => [id, reasonsAgainst(id, outcome.facts, runtime)[0]] as const);
  const rejected = Object.fromEntries(against.flatMap(([id, reason]) => (reason ? [[id, reason]] : [])));
  const { task } = outcome.facts;
  if (!isDecision(outcome))
    return { task, rejected, refused: outcome.group === 'context' ? 'context_length_exceeded' : 'no_eligible_model' };
  const [choice] = outcome.ranked;
  const { id, endpoints } = snapshot.models[choice.model]!;
  return {
    task,
    rejected,
    models: [id],
    provider: endpoints[choice.endpoints[0]!]!.provider,
    reason: outcome.reason,
    costBelowCredits: choice.costCredits * 1.01,
    latencyBelowMs: choice.latencyMs * 1.01,
    qualityAbove: choice.quality * 0.99,
  };
}

const spoil =
  <Key extends keyof Expect>(key: Key, other: (value: NonNullable<Expect[Key]>) => Expect[Key]) =>
  (expect: Expect): Partial<Expect> | null => {
    const value = expect[key];
    return value === null ? null : { [key]: other(value) };
  };

/** Changes a key of the expectation so that the expectation is wrong; null if the expectation does not state the key. */
const SPOILT: Readonly<Record<string, (expect: Expect) => Partial<Expect> | null>> = {
  model: spoil('models', (models) => ['dear', 'middle', 'cheap'].filter((id) => !models.includes(id))),
  provider: spoil('provider', (provider) => (provider === 'first' ? 'second' : 'first')),
  task: spoil('task', (task) => (task === 'coding' ? 'general' : 'coding')),
  reason: spoil('reason', (reason) => `${reason}!`),
  cost_below_credits: spoil('costBelowCredits', (bound) => bound * 0.5),
  latency_below_ms: spoil('latencyBelowMs', (bound) => bound * 0.5),
  quality_above: spoil('qualityAbove', () => 0.99),
  refused: spoil('refused', () => 'rate_limit_exceeded'),
  'rejected.dear': spoil('rejected', (rejected) => ({ ...rejected, dear: 'unbounded_media' })),
};

/** Whichever true expectations are made wrong, a run reports exactly these. */
const namesWhatIsWrong = (run: Run) =>
  fc.property(anyGiven, fc.subarray(Object.keys(SPOILT)), (given, keys) => {
    const truth = caseOf(given, truthOf(given));
    const isTurnedAway = runCase(truth, runtime).outcome instanceof Error;
    let { expect: spoilt } = truth;
    const wrong = keys.filter((key) => {
      const change = SPOILT[key]!(spoilt);
      spoilt = { ...spoilt, ...change };
      return change !== null && !(isTurnedAway && key.startsWith('rejected'));
    });
    if (isTurnedAway) spoilt = { ...spoilt, rejected: {} };
    const found = run({ ...truth, expect: spoilt }, runtime).failures.map(({ key }) => key);
    return JSON.stringify([...found].sort()) === JSON.stringify([...wrong].sort());
  });

/** The outcome of a case does not depend on the cases before it. */
const standsAlone = (run: Run) =>
  fc.property(fc.array(anyGiven, { minLength: 1, maxLength: 6 }), fc.nat(), (givens, pick) => {
    const cases = givens.map((given) => caseOf(given, { task: 'coding', models: ['middle'] }));
    const one = cases[pick % cases.length]!;
    const alone = runCase(one, runtime);
    for (const before of cases) run(before, runtime);
    return Bun.deepEquals(shownOf(run(one, runtime)), shownOf(alone));
  });

const shownOf = ({ outcome, failures }: CaseRun) => ({
  failures,
  outcome: outcome instanceof Error ? outcome.message : outcome,
});

describe('of any request', () => {
  test('the actual outcome of a request, used as its expectation, holds; each changed part, and only that, fails', () => {
    fc.assert(namesWhatIsWrong(runCase), RUNS);
  });

  test('the outcome of a case does not depend on the cases that ran before', () => {
    fc.assert(standsAlone(runCase), RUNS);
  });
});

const MUTANTS: Readonly<Record<string, Run>> = {
  'a case run that stops at the first failure': (one, on) => {
    const run = runCase(one, on);
    return { ...run, failures: run.failures.slice(0, 1) };
  },
  'a case run that never checks the provider': (one, on) =>
    runCase({ ...one, expect: { ...one.expect, provider: null } }, on),
  'a case run that treats every bound as met': (one, on) =>
    runCase({ ...one, expect: { ...one.expect, latencyBelowMs: null } }, on),
};

describe('the first law finds a faulty case run', () => {
  for (const [name, mutant] of Object.entries(MUTANTS)) {
    test(name, () => {
      expect(fc.check(namesWhatIsWrong(mutant), MUTANT_RUNS).failed).toBe(true);
    });
  }
});

test('the second law finds a case run that remembers results by the requested model', () => {
  const memory = new Map<string, CaseRun>();
  const forgetful: Run = (one, on) => {
    const known = memory.get(one.given.model) ?? runCase(one, on);
    memory.set(one.given.model, known);
    return known;
  };
  expect(fc.check(standsAlone(forgetful), MUTANT_RUNS).failed).toBe(true);
});

test('the random requests of the laws of cases include decided, refused and rejected requests', () => {
  const kinds = new Set(fc.sample(anyGiven, 300).map((given) => Object.keys(truthOf(given)).length));
  expect([...kinds].sort()).toEqual([1, 3, 8]);
});
