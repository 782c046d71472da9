import fc from 'fast-check';
import { shipped } from '../../../../plugins/index.ts';
import { rehearse } from '../../../../src/admin/use-cases/policy/rehearse.ts';
import type { PolicyCase } from '../../../../src/core/policy/case.ts';
import { createPluginLoader } from '../../../../src/host/plugins/load.ts';
import { compileCandidate, isRejected, type PolicyTools } from '../../../../src/policy/runtime/candidate.ts';
import { parseFiles } from '../../../../src/policy/runtime/parse-files.ts';
import type { Runtime } from '../../../../src/policy/runtime/runtime.ts';
import { testPolicy } from '../../../support/policies.ts';

const KEY = 'TEST_UPSTREAM_KEY';

export const tools: PolicyTools = {
  folder: '.',
  shipped,
  loader: createPluginLoader(),
  env: { get: (name) => (name === KEY ? 'key-of-the-test' : undefined) },
  now: () => 0,
  parse: parseFiles,
  rehearse,
};

export const bundleOf = (text: string) => ({ files: [{ path: 'policy.yaml', text }], hash: 'h' });

/** A policy with a rule of every kind, two providers, and models with one endpoint and with two. */
export const policyText = (cases = ''): string =>
  testPolicy(
    { first: 'http://127.0.0.1:9/v1', second: 'http://127.0.0.1:9/v1' },
    {
      dear: { endpoints: ['first', 'second'], price: { input: 10, output: 40 }, quality: 0.9 },
      middle: { endpoints: ['second'], price: { input: 1, output: 4 }, quality: 0.88 },
      cheap: { endpoints: ['first'], price: { input: 0.1, output: 0.4 }, quality: 0.6 },
    },
    `selectors:
  auto: { strategy: auto }
  auto-cheap: { strategy: auto-cheap }
  small: { strategy: auto, models: { require: model.price.output < 10.0 } }
constraints:
  - { name: legal-is-cheap, when: 'key.labels.department == "legal"', require: model.price.output < 1.0 }
  - { name: second-only, when: 'request.metadata.where == "second"', require: 'endpoint.provider == "second"' }
  - { name: quick, when: 'request.metadata.interactive == "true"', max_latency_ms: 5000 }
  - { name: sane, require: model.price.output < 1000.0 }
preferences:
  - { name: cheap-at-night, when: time.hour < 6.0, prefer: model.price.output < 1.0, worth: 0.3 }
${cases}`,
  );

export async function runtimeFor(text: string): Promise<Runtime> {
  const prepared = await compileCandidate(bundleOf(text), tools);
  if (isRejected(prepared)) throw new Error(prepared.message ?? JSON.stringify(prepared.problems, null, 1));
  return prepared.runtime;
}

const NOTHING: PolicyCase['expect'] = {
  models: null,
  provider: null,
  task: null,
  reason: null,
  tier: null,
  rejected: {},
  costBelowCredits: null,
  latencyBelowMs: null,
  qualityAbove: null,
  blocked: null,
  masked: [],
  repaired: [],
  cached: null,
  refused: null,
};

/** A case that has only the stated expectations. */
export const caseOf = (given: PolicyCase['given'], expect: Partial<PolicyCase['expect']> = {}): PolicyCase => ({
  name: JSON.stringify(given),
  place: { file: 'policy.yaml', line: 1, column: 1 },
  given,
  expect: { ...NOTHING, ...expect },
});

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** Random requests to this policy. The policy refuses some of the requests. */
export const anyGiven: fc.Arbitrary<PolicyCase['given']> = fc
  .record({
    model: fc.constantFrom('auto', 'auto-cheap', 'small', 'dear', 'cheap'),
    task: maybe(fc.constantFrom('general', 'coding')),
    input: maybe(fc.constantFrom(10, 5_000, 20_000, 1_000_000)),
    ceiling: maybe(fc.constantFrom(1, 4_000, 9_000)),
    weights: maybe(fc.constant({ cost_weight: 0.5, quality_weight: 0.5 })),
    department: fc.constantFrom('', 'legal'),
    where: fc.constantFrom('', 'second'),
    interactive: fc.constantFrom('', 'true'),
    models: maybe(fc.constantFrom(['cheap'], ['dear', 'middle'])),
    time: fc.constantFrom(null, '2026-11-20T03:00:00Z'),
  })
  .map(({ model, task, input, ceiling, weights, department, where, interactive, models, time }) => ({
    model,
    query: {
      ...(task && { task_type: task }),
      ...(input && { estimated_input_tokens: input }),
      ...(ceiling && { constraints: { max_latency_ms: ceiling } }),
      ...(weights && { route_strategy: weights }),
    },
    metadata: { where, interactive },
    key: { id: 'case', labels: { department }, models: models ?? null },
    ...{ team: null, user: null },
    time,
  }));
