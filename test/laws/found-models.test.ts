import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { FoundModel, FoundModels } from '../../src/core/policy/found-models.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { MODEL_CAPABILITIES } from '../../src/core/request/capability.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { effort } from '../deep/effort.ts';
import { shippedContext } from '../policy/shipped.ts';
import { snapshotOf } from '../policy/support.ts';
import { chatRequest } from '../support/model-request.ts';

const { runs, seed } = effort('found-models', 30, 3_000);

const POLICY = `version: 1
providers:
  box: { preset: ollama }
  hosted: { adapter: openai-compatible, base_url: "http://127.0.0.1:10/v1" }
models:
  m-small:
    provider: hosted
    price: { input: 0.1, output: 0.4, basis: own }
    context_window: 32000
    max_output: 4000
    capabilities: [tools]
    languages: [python]
    tags: [small]
    quality: { default: 0.6, coding: 0.5, basis: guessed }
  m-large:
    provider: hosted
    price: { input: 3, output: 15, basis: own }
    context_window: 200000
    max_output: 32000
    capabilities: [tools, vision, json_schema]
    quality: { default: 0.9, basis: guessed }
  m-own:
    provider: box
    upstream: own:7b
    price: { input: 0, output: 0, basis: own }
    context_window: 8192
    max_output: 2048
    quality: { default: 0.7, basis: guessed }
constraints:
  - { name: cheap-chat, when: request.task == "chat", require: model.price.output < 10.0 }
preferences:
  - { name: small, prefer: '"small" in model.tags', worth: 0.02 }
`;
const ENV = { OLLAMA_BASE_URL: 'http://127.0.0.1:9' };

const foundModel: fc.Arbitrary<FoundModel> = fc
  .record({
    name: fc.constantFrom('a:1b', 'b', 'z/y', 'own:7b', 'c.gguf', 'm-large'),
    contextWindow: fc.integer({ min: 1, max: 1_000_000 }),
    isContextGuessed: fc.boolean(),
    parameters: fc.option(fc.integer({ min: 1, max: 1e12 })),
    capabilities: fc.subarray([...MODEL_CAPABILITIES].filter((one) => one !== 'token_input')),
    isEmbedder: fc.boolean(),
  })
  .map(({ isEmbedder, ...one }) => ({
    ...{ ...one, upstream: one.name, since: 1, dimensions: isEmbedder ? 8 : null },
    operation: isEmbedder ? ('embed' as const) : ('chat' as const),
  }));
const found: fc.Arbitrary<FoundModels> = fc
  .uniqueArray(foundModel, { selector: ({ name }) => name, minLength: 1 })
  .map((models) => ({ hash: 'f', servers: [{ provider: 'box', models, names: null, digests: [] }], used: ['box'] }));

const request = fc.record({
  model: fc.constantFrom('auto', 'auto-cheap', 'auto-fast', 'm-small', 'm-large', 'm-own'),
  messages: fc
    .constantFrom(
      'Hello!',
      'Write a function in Python that sorts a list.',
      'x '.repeat(20_000),
      'Prove that 2 is prime.',
    )
    .map((content) => [{ role: 'user' as const, content }]),
  max_tokens: fc.option(fc.constantFrom(10, 5_000, 100_000), { nil: undefined }),
});

function runtimeOf(models: FoundModels | null): Runtime {
  const result = loadPolicy([{ path: 'p.yaml', text: POLICY }], { ...shippedContext(ENV), found: models });
  return buildRuntime(snapshotOf(result), createRegistry(shipped), {
    get: (name) => new Map(Object.entries(ENV)).get(name),
  });
}
const plain = runtimeOf(null);

/** Returns a decision with IDs in place of positions. */
function decisionBy(runtime: Runtime, body: object) {
  const facts = hypotheticalFacts(
    { request: chatRequest(body), caller: OPERATOR, timeMs: Date.parse(USUAL_TIME) },
    runtime,
  );
  const outcome = decideFor(facts, runtime);
  const idOf = (at: number) => runtime.snapshot.models[at]?.id;
  if (isRefusal(outcome)) {
    return { group: outcome.group, rejected: outcome.rejected.map((one) => [idOf(one.model), one.rejections]) };
  }
  const { ranked, eligible, baseline, reason } = outcome;
  return {
    reason,
    eligible,
    baseline: idOf(baseline),
    ranked: ranked.map((one) => ({ ...one, model: idOf(one.model) })),
  };
}

const holds = (build: (models: FoundModels) => Runtime) =>
  fc.property(found, request, (models, body) => {
    expect(decisionBy(build(models), body)).toEqual(decisionBy(plain, body));
  });

test('found models change no decision of a policy that has a declared model to serve', () => {
  fc.assert(holds(runtimeOf), { numRuns: runs, seed });
  // An implementation whose selectors choose from all found models breaks the law.
  const choosing = (models: FoundModels): Runtime => {
    const { snapshot } = runtimeOf(models);
    const open: PolicySnapshot = {
      ...snapshot,
      models: snapshot.models.map((one) => (one.found ? { ...one, found: { ...one.found, isNamedOnly: false } } : one)),
    };
    return buildRuntime(open, createRegistry(shipped), { get: (name) => new Map(Object.entries(ENV)).get(name) });
  };
  expect(fc.check(holds(choosing), { numRuns: 300, seed, endOnFailure: true }).failed).toBe(true);
});

test('every list of found models compiles', () => {
  fc.assert(
    fc.property(found, (models) => {
      const { snapshot } = runtimeOf(models);
      const ids = snapshot.models.filter(({ found: mark }) => mark).map(({ id }) => id);
      const expected = models.servers[0]!.models.filter(({ name }) => name !== 'own:7b').map(
        ({ name }) => `box/${name}`,
      );
      expect(ids.sort()).toEqual(expected.sort());
    }),
    { numRuns: runs, seed },
  );
});
