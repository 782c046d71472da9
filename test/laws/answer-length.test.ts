import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { hypotheticalFacts, UNNAMED } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { priorReadings, type Readings } from '../../src/core/decision/readings.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { buildRuntime, type Runtime, strategyOf } from '../../src/policy/runtime/runtime.ts';
import { certify } from '../../src/routing/certify.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { tries } from '../deep/effort.ts';
import { fakeHealth } from '../providers/health/support.ts';
import { loaded } from '../routing/build.ts';
import { chatRequest } from '../support/model-request.ts';

/**
 * The law: a server that has measured another answer length than its policy declares decides bit for bit like a fresh server whose policy
 * declares the measured length.
 */
const { numRuns, seed } = tries('a measured answer length decides like a declared one', 25, 2_000);

const TASKS = ['general', 'chat', 'coding', 'writing', 'math', 'reasoning'] as const;
const SELECTORS = ['auto', 'auto-cheap', 'auto-fast', 'narrow'];
const PROMPTS = [
  'Hello',
  'Write a function that parses dates.',
  'Briefly: why is the sky blue?',
  'Describe a city in one paragraph.',
  'Explain, with an example, how I can plan my week and prove that the plan is best.',
  'Write a long story about a lighthouse and compute 17 * 23 in it.',
  'Solve 3x + 4 = 19 and show every step.',
  'Prove that every finite group of odd order is solvable.',
];

interface World {
  readonly models: readonly {
    readonly q: number;
    readonly price: number;
    readonly ttft: number;
    readonly rate: number;
  }[];
  readonly declared: readonly number[];
  /** Answer lengths by index of the task; null for a task without answers. */
  readonly answers: readonly (number | null)[];
  readonly prompt: string;
  readonly model: string;
  readonly body: object;
}

const length = fc.constantFrom(1, 12, 40, 90, 130, 400, 1_200, 5_000);
const worlds: fc.Arbitrary<World> = fc.record({
  models: fc.array(
    fc.record({
      q: fc.integer({ min: 30, max: 95 }),
      price: fc.constantFrom(0.1, 0.4, 1, 4, 15, 60),
      ttft: fc.integer({ min: 50, max: 3_000 }),
      rate: fc.integer({ min: 5, max: 300 }),
    }),
    { minLength: 2, maxLength: 5 },
  ),
  declared: fc.array(length, { minLength: TASKS.length, maxLength: TASKS.length }),
  answers: fc.array(fc.option(length, { nil: null }), { minLength: TASKS.length, maxLength: TASKS.length }),
  prompt: fc.constantFrom(...PROMPTS),
  model: fc.constantFrom(...SELECTORS, 'm0'),
  body: fc.constantFrom<object>(
    {},
    {},
    { max_tokens: 60 },
    { estimated_output_tokens: 77 },
    { route_strategy: { cost_weight: 0.6, quality_weight: 0.4 } },
    { route_strategy: { cost_weight: 0.2, quality_weight: 0.5, latency_weight: 0.3 } },
    { constraints: { max_latency_ms: 4_000 } },
    { constraints: { max_cost_credits: 2 } },
  ),
});

const EXAMPLE: World = {
  models: [
    { q: 90, price: 15, ttft: 500, rate: 50 },
    { q: 60, price: 1, ttft: 300, rate: 90 },
  ],
  ...{ declared: TASKS.map(() => 400), answers: TASKS.map(() => null), prompt: 'Hello', model: 'auto', body: {} },
};

const policyOf = ({ models }: World, declared: readonly number[]) => `version: 1
providers: { s: { adapter: simulated } }
models:
${models
  .map(
    ({ q, price, ttft, rate }, at) =>
      `  m${at}: { provider: s, price: { input: ${price / 4}, output: ${price} }, context_window: 90000, max_output: 9000, quality: { default: ${q / 100} }, latency: { ttft_ms: ${ttft}, output_tokens_per_second: ${rate}, basis: measured } }`,
  )
  .join('\n')}
tasks:
${TASKS.map((name, at) => `  ${name}: { expected_output_tokens: ${declared[at]}, default_input_tokens: 300 }`).join('\n')}
# The orders of the selectors come from this traffic, not from the declared lengths.
traffic: { general: { share: 1, input_tokens: 300, output_tokens: 400 } }
selectors:
  narrow: { strategy: auto-cheap, models: { require: model.id != "m1" } }
constraints:
  - { name: not-long, when: request.output_tokens > 500, require: model.id != "m0" }
preferences:
  - { name: short, when: request.output_tokens < 100, prefer: model.id == "m1", worth: 0.05 }
`;

const runtimeOf = (text: string): Runtime => buildRuntime(loaded(text), createRegistry(shipped), { get: () => 'x' });

/** Returns the readings of a server that has measured many answers of these lengths. */
function readingsAfter(answers: World['answers'], runtime: Runtime): Readings {
  const { health, time } = fakeHealth();
  const readings = health.watch(runtime.snapshot);
  for (const [at, tokens] of answers.entries()) {
    if (tokens === null) continue;
    for (let key = 0; key < 30; key++) health.outputs.observe(TASKS[at]!, tokens, `key${key}`);
  }
  time.now += 1_000;
  health.publish();
  return readings();
}

/**
 * Returns a whole decision, its certificate included. Only the sources of lengths may differ.
 * @param read the readings with which the request is read
 */
function decisionOf({ prompt, model, body }: World, runtime: Runtime, readings: Readings, read = readings) {
  const request = chatRequest({ ...body, model, messages: [{ role: 'user', content: prompt }] });
  const hypothetical = { request, caller: OPERATOR, timeMs: 0, readings: read };
  const facts = hypotheticalFacts(hypothetical, runtime);
  const given = { ...UNNAMED, ...strategyOf(facts, runtime), readings };
  const outcome = runtime.decider.decide(facts, given);
  const { readingsNumber: _, measuredTasks: __, expectedLength, ...rest } = certify(runtime.snapshot, facts, given);
  const { readings: ___, ...decided } = outcome;
  const certificate = { ...rest, expectedTokens: expectedLength?.tokens };
  return { facts, decided, certificate, isRefused: isRefusal(outcome) };
}

interface Spoilt {
  /** Returns other readings for its decisions. */
  readonly decides?: (own: Readings, prior: Readings) => Readings;
  readonly reads?: (own: Readings, prior: Readings) => Readings;
}

const law = ({ decides = (own) => own, reads = decides }: Spoilt = {}) =>
  fc.property(worlds, (world) => {
    const warm = runtimeOf(policyOf(world, world.declared));
    const { snapshot } = warm;
    const measured = readingsAfter(world.answers, runtimeOf(policyOf(world, world.declared)));
    const lengths = TASKS.map((name) => measured.outputTokens[snapshot.taskIndex.get(name)!]!);
    const fresh = runtimeOf(policyOf(world, lengths));
    const [own, prior] = [readingsAfter(world.answers, warm), priorReadings(snapshot)];
    const decided = decisionOf(world, warm, decides(own, prior), reads(own, prior));
    expect(decided).toEqual(decisionOf(world, fresh, priorReadings(fresh.snapshot)));
  });

test('a server that measures an answer length decides bit for bit like a fresh server whose policy declares that length', () => {
  fc.assert(law(), { numRuns, seed });
});

test.each<[string, Spoilt]>([
  ['latency and cost of the declared length', { decides: (own, { outputTokens }) => ({ ...own, outputTokens }) }],
  [
    'lengths with fractions of a token',
    { decides: (own) => ({ ...own, outputTokens: own.outputTokens.map((tokens) => tokens * 1.001) }) },
  ],
  ['conditions and bounds in prompts that are compared with the declared length', { reads: (_, prior) => prior }],
])('the law fails for %s', (_, spoilt) => {
  expect(fc.check(law(spoilt), { numRuns: 60, endOnFailure: true, seed: 1 }).failed).toBe(true);
});

test('the random policies of the law include uncertain tasks, and bounds that apply only if the usual answer is longer', () => {
  const read = (prompt: string, outputTokens: number) => {
    const runtime = runtimeOf(
      policyOf(
        { ...EXAMPLE, prompt },
        TASKS.map(() => outputTokens),
      ),
    );
    return decisionOf({ ...EXAMPLE, prompt }, runtime, priorReadings(runtime.snapshot)).facts;
  };
  const all = PROMPTS.map((prompt) => [read(prompt, 5_000), read(prompt, 10)] as const);
  expect(all.filter(([{ mix }]) => mix.length > 1).length).toBeGreaterThan(0);
  const isBounded = (long: Facts, short: Facts) => long.outputTokensAsked !== null && short.outputTokensAsked === null;
  expect(all.filter((pair) => isBounded(...pair)).length).toBeGreaterThan(0);
});
