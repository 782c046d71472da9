import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { type Facts, isIntentRead } from '../../src/core/request/facts.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { expectedWriting, ttftFactor } from '../../src/routing/estimate.ts';
import { withRules } from '../../src/routing/rules.ts';
import { tries } from '../deep/effort.ts';
import { loadWith, model, outcomeOf, snapshot } from '../routing/build.ts';
import { type ChatBody, chatFacts } from '../support/chat-body.ts';

/** Sections that a policy may have in addition to its models. */
const SECTIONS = [
  '',
  'constraints: [{ name: r, when: request.task == "coding", require: model.price.output < 6.0 }]',
  'constraints: [{ name: r, when: "request[\\"difficulty\\"] == \\"easy\\"", require: "false" }]',
  'constraints: [{ name: r, when: request.output_tokens > 300.0, require: "false" }]',
  'constraints: [{ name: r, when: request.natural_language == "de" || size(request.languages) > 0, require: "false" }]',
  'constraints: [{ name: r, when: request.input_tokens > 20.0 && !request.tools, require: model.price.output < 6.0 }]',
  'constraints: [{ name: r, when: request.user == "ada", max_cost_credits: 0.5 }]',
  'constraints: [{ name: r, max_latency_ms: 3000 }]',
];

function policyOf(section: string, window: number, useful: number, above: 'cap' | 'refuse'): PolicySnapshot {
  const model = (id: string, output: number, more = '') => `  ${id}:
    endpoints: [{ provider: sim }, { provider: sim, upstream: other, price: { input: 2, output: ${2 * output} } }]
    price: { input: 1, output: ${output} }
    context_window: ${window}
    max_output: ${Math.min(900, window)}
    capabilities: [vision, tools]
    latency: { ttft_ms: 100, output_tokens_per_second: 100 }
    quality: { default: 0.5 }
${more}`;
  const { snapshot, diagnostics } = loadWith(`version: 1
gateway: { output_above_maximum: ${above} }
providers: { sim: { adapter: simulated } }
tasks:
  coding: { expected_output_tokens: 1200, default_input_tokens: 500, min_useful_output: ${useful} }
  chat: { expected_output_tokens: 90, default_input_tokens: 50, min_useful_output: 8 }
models:
${model('plain', 4)}${model('dear', 9)}${model('thinks', 4, '    reasoning_tokens: { default: 0, coding: 900 }\n')}${section}
`);
  if (!snapshot) throw new Error(JSON.stringify(diagnostics));
  return snapshot;
}

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
const words = fc.oneof(
  fc.constantFrom('Hello!', 'What is 3 + 4?', 'Übersetze „guten Tag“ ins Englische.', 'Answer in 77 words: why?'),
  fc.nat(700).map((n) => `Write a function in Python that sorts a list. ${'word '.repeat(n)}`),
);
const messages = fc
  .tuple(words, fc.nat(9))
  .map(([text, nth]) => [
    { role: 'user' as const, content: nth === 0 ? [{ type: 'text' as const, text }, image] : text },
  ]);
const credits = (max: number) => fc.double({ min: 0.01, max, noNaN: true });
const terms: fc.Arbitrary<Partial<ChatBody>> = fc.oneof(
  fc.constant({}),
  fc.record({ max_tokens: fc.integer({ min: 1, max: 1_500 }) }),
  { weight: 3, arbitrary: fc.record({ budget_limit: credits(3) }) },
  fc.record({ constraints: fc.record({ min_output_tokens: fc.integer({ min: 1, max: 1_500 }) }) }),
  fc.record({ constraints: fc.record({ max_cost_credits: credits(5) }) }),
  fc.record({ constraints: fc.record({ max_latency_ms: fc.nat(20_000) }) }),
);
const bodies: fc.Arbitrary<ChatBody> = fc
  .tuple(fc.constantFrom('plain', 'dear', 'thinks'), messages, terms)
  .map(([model, said, more]) => ({ ...more, model, messages: said }));

interface World {
  readonly snapshot: PolicySnapshot;
  readonly body: ChatBody;
}
const policies = SECTIONS.flatMap((section) =>
  [300, 1_600, 100_000].flatMap((window) =>
    [64, 500].flatMap((useful) =>
      (['cap', 'refuse'] as const).map((above) => policyOf(section, window, useful, above)),
    ),
  ),
);
const readNothing = ({ namedModelsReadIntent }: PolicySnapshot): boolean => !namedModelsReadIntent;
const worlds: fc.Arbitrary<World> = fc.record({
  snapshot: fc.oneof(fc.constantFrom(...policies), fc.constantFrom(...policies.filter(readNothing))),
  body: bodies,
});

type Reader = (world: World) => Facts;
const read: Reader = ({ snapshot, body }) => chatFacts(body, OPERATOR, { ...snapshot, namedModelsReadIntent: true });
const asNeeded: Reader = ({ snapshot, body }) => chatFacts(body, OPERATOR, snapshot);

/** Everything that a caller, the ledger and endpoint readings can notice of a decision for a named model. */
function noticed(facts: Facts, snapshot: PolicySnapshot): unknown {
  const time = { year: 2026, month: 1, day: 7, weekday: 3, hour: 12, minute: 0 };
  const inputs = { stream: false, user: '', metadata: {}, caller: OPERATOR, time };
  const ruled = withRules(facts, snapshot, inputs, () => {});
  const outcome = outcomeOf(snapshot, ruled);
  if (isRefusal(outcome)) return [outcome.group, outcome.rejected, ruled.rules.constraints];
  const { ranked, reason, eligible, baseline, readings } = outcome;
  return [
    ranked.map(({ model, outputCap, endpoints, bound }) => ({ model, outputCap, endpoints, bound })),
    ...[reason, eligible, baseline, ruled.rules.constraints],
    ttftFactor(snapshot.models[ranked[0].model]!, 0, readings, expectedWriting(ruled, snapshot, readings)),
  ];
}

const law = (reader: Reader) =>
  fc.property(worlds, (world) => {
    expect(noticed(reader(world), world.snapshot)).toEqual(noticed(read(world), world.snapshot));
  });

describe('a request that names its model', () => {
  test('a request that names its model is decided in the same way with and without reading its prompt, whenever Signalbox does not read it', () => {
    const reads = new Map([
      [true, 0],
      [false, 0],
    ]);
    const counting: Reader = (world) => {
      const facts = asNeeded(world);
      reads.set(isIntentRead(facts), reads.get(isIntentRead(facts))! + 1);
      return facts;
    };
    fc.assert(law(counting), tries('a named model is decided in the same way without reading the prompt', 200, 20_000));
    expect(Math.min(...reads.values())).toBeGreaterThan(10);
  });

  /** Reads the facts under another policy, and combines them with the terms of the real one. */
  const overlooking =
    (change: (world: World) => Partial<World>): Reader =>
    (world) => {
      const { rules, ceilings, budget } = read(world);
      return { ...asNeeded({ ...world, ...change(world) }), rules, ceilings, budget };
    };
  const withModels = ({ models, ...rest }: PolicySnapshot, more: Partial<PolicySnapshot['models'][number]>) => ({
    snapshot: { ...rest, models: models.map((one) => ({ ...one, ...more })) },
  });
  const without = ({ body }: World, field: keyof ChatBody) => ({ body: { ...body, [field]: undefined } });
  const MUTANTS: Record<string, Reader> = {
    'the conditions and ceilings of the policy were ignored': overlooking(({ snapshot }) => ({
      snapshot: { ...snapshot, namedModelsReadIntent: false },
    })),
    'the ceilings of the request were ignored': overlooking((world) => without(world, 'constraints')),
    'the budget of the request were ignored': overlooking((world) => without(world, 'budget_limit')),
    'the context window were ignored': overlooking(({ snapshot }) => withModels(snapshot, { contextWindow: 1e9 })),
    'the shortest useful output were ignored': overlooking(({ snapshot }) => ({
      snapshot: { ...snapshot, usefulOutputMax: 0 },
    })),
    'reasoning were overlooked': overlooking(({ snapshot }) =>
      withModels(snapshot, { reasoningTokens: 0, reasoningByTask: new Float64Array(16), mayReason: false }),
    ),
  };
  test.each(Object.entries(MUTANTS))(
    'a request that names its model would be decided differently if %s',
    (_, mutant) => {
      expect(fc.check(law(mutant), { numRuns: 3_000, endOnFailure: true }).failed).toBe(true);
    },
  );
});

describe('if outputs are capped at the maximum of a model, a named model that serves a request without `max_tokens`', () => {
  const capping = (policy: PolicySnapshot): PolicySnapshot => ({
    ...policy,
    gateway: { ...policy.gateway, outputAboveMaximum: 'cap' },
  });
  const sizes = fc.record({
    maxOutput: fc.integer({ min: 1, max: 3_000 }),
    share: fc.double({ min: 0.01, max: 1, noNaN: true }),
    contextWindow: fc.integer({ min: 50, max: 5_000 }),
    reasoningTokens: fc.constantFrom(0, 0, 40, 2_000),
  });
  const requests = fc.record({
    messages,
    most: fc.integer({ min: 1, max: 9_000 }),
    least: fc.option(fc.integer({ min: 1, max: 3_000 }), { freq: 1 }),
    limit: fc.option(credits(9), { freq: 1 }),
    purse: fc.option(credits(9), { freq: 1 }),
  });
  type NamedCase = Readonly<Record<'without' | 'capped', Facts> & { from: PolicySnapshot }>;
  const cases: fc.Arbitrary<NamedCase> = fc.tuple(sizes, requests).map(([{ share, ...size }, request]) => {
    const { messages: said, most, least, limit, purse } = request;
    const defaultMaxOutput = Math.ceil(share * size.maxOutput);
    const from = capping(snapshot([model('x', { ...size, defaultMaxOutput }), model('y')]));
    const body: ChatBody = {
      model: 'x',
      messages: said,
      ...(limit !== null && { budget_limit: limit }),
      ...(least !== null && { constraints: { min_output_tokens: least } }),
    };
    const funds = purse === null ? null : { free: null, cap: { by: 'purse', unspent: Math.floor(purse * 1e6) } };
    const factsOf = (more: Partial<ChatBody>): Facts => ({ ...chatFacts({ ...body, ...more }, OPERATOR, from), funds });
    return { from, without: factsOf({}), capped: factsOf({ max_tokens: Math.max(most, least ?? 0) }) };
  });
  const law = (mutate: (facts: Facts, from: PolicySnapshot) => Facts, count = () => {}) =>
    fc.property(cases, ({ from, without, capped }) => {
      if (isRefusal(outcomeOf(from, without))) return;
      count();
      const outcome = outcomeOf(from, mutate(capped, from));
      if (isRefusal(outcome)) throw new Error(JSON.stringify(outcome.rejected));
      expect(outcome.ranked[0].outputCap).toBeLessThanOrEqual(from.models[0]!.maxOutput);
    });

  test('a named model that serves a request without `max_tokens` serves it with any `max_tokens`, within its maximum, if outputs are capped', () => {
    let served = 0;
    const counting = law(
      (facts) => facts,
      () => served++,
    );
    fc.assert(counting, tries('a named model serves any `max_tokens`', 400, 50_000));
    expect(served).toBeGreaterThan(200);
  });

  test.each<[string, (facts: Facts, from: PolicySnapshot) => Facts]>([
    ['it were refused above its maximum', ({ capsOutput: _, ...facts }) => facts],
    [
      'its shortest useful output were different up to its maximum',
      ({ capsOutput, ...facts }, { models }) =>
        capsOutput && facts.outputTokensMax! > models[0]!.maxOutput ? { ...facts, capsOutput } : facts,
    ],
  ])('a named model would not serve some `max_tokens` if %s', (_, mutate) => {
    expect(fc.check(law(mutate), { numRuns: 20_000, endOnFailure: true }).failed).toBe(true);
  });
});
