import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { costOf } from '../../src/core/money/price.ts';
import { plainUsage } from '../../src/core/money/usage.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import { type PolicyFile, parsePolicy } from '../../src/policy/load.ts';
import { tries } from '../deep/effort.ts';
import { decisionOf, weighted } from '../routing/build.ts';
import { routeFacts } from '../support/chat-body.ts';
import { rehearsed } from './rehearsal.ts';
import { EVERY_VARIABLE, loadShipped, loadShippedPolicy, SERVICES, shippedSnapshot } from './shipped.ts';
import { shippedPolicy, snapshotOf } from './support.ts';

const files = shippedPolicy();
const ids = (env: Readonly<Record<string, string>>) => shippedSnapshot(env).models.map((model) => model.id);

const CLOUDS = [
  'azure-anthropic',
  'bedrock-openai',
  'bedrock-anthropic',
  'aws-anthropic',
  'vertex-gemini',
  'vertex-anthropic',
];

/** Presets without a model in the shipped catalog → the reason. */
const WITHOUT_MODELS: ReadonlyMap<string, string> = new Map([
  ...['ollama', 'lm-studio', 'vllm', 'llama-cpp'].map(
    (name) => [name, 'Signalbox finds the models that run there'] as const,
  ),
  ...CLOUDS.map((name) => [name, 'an operator declares the models of the account'] as const),
]);

describe('the shipped policy', () => {
  test('the shipped policy loads without any diagnostic and, without keys, serves only the simulated models', () => {
    const result = loadShippedPolicy();
    expect(result.diagnostics).toEqual([]);
    const snapshot = snapshotOf(result);
    expect([...snapshot.providers.keys()]).toEqual(['simulated']);
    expect(snapshot.models.map((model) => model.id)).toEqual([
      'sim-coder',
      'sim-embed',
      'sim-flash',
      'sim-large',
      'sim-small',
    ]);
    expect(snapshot.leftOut).toContainEqual({ kind: 'provider', name: 'openai', reason: 'OPENAI_API_KEY is not set' });
    expect(snapshot.leftOut).toContainEqual({ kind: 'provider', name: 'ollama', reason: 'OLLAMA_BASE_URL is not set' });
    expect(snapshot.baseline).toBeNull();
    expect(snapshot.payments).toBeNull();
  });

  test('a model server without models leaves the simulated models in place, and the shipped policy says why', () => {
    const snapshot = shippedSnapshot({ VLLM_BASE_URL: 'http://127.0.0.1:8000/v1' });
    expect(snapshot.models.every(({ id }) => id.startsWith('sim-'))).toBe(true);
    expect(snapshot.leftOut).toContainEqual({
      kind: 'provider',
      name: 'vllm',
      reason: 'no model of it is known here: a running server finds its models',
    });
  });

  test('the shipped policy serves OpenAI, and no simulated model, once OpenAI’s key is set', () => {
    const snapshot = shippedSnapshot({ OPENAI_API_KEY: 'key-of-the-test' });
    expect([...snapshot.providers.keys()]).toEqual(['openai']);
    expect(snapshot.providers.get('openai')).toMatchObject({
      adapter: 'openai',
      accounts: [{ apiKeyEnv: 'OPENAI_API_KEY' }],
    });
    const chatting = snapshot.models.filter(({ embedding }) => embedding === null);
    expect(chatting.every((model) => !model.acceptsTemperature && model.reasoningTokens > 0)).toBe(true);
    expect(snapshot.models[snapshot.baseline ?? -1]?.id).toBe('gpt-6.1-sol');
    expect(snapshot.leftOut).toContainEqual({
      kind: 'provider',
      name: 'simulated',
      reason: 'it serves only while no other provider can',
    });
  });

  test('the shipped policy serves Claude once its key is set, and with quality as the only weight routes code to the best Claude model', () => {
    const snapshot = shippedSnapshot({ ANTHROPIC_API_KEY: 'anything' });
    expect(snapshot.models.every(({ id }) => id.startsWith('claude-'))).toBeTrue();
    const caller = {
      keyId: 'k',
      scopes: new Set(['route'] as const),
      labels: {},
      models: null,
      limits: null,
      budgets: [],
    };
    const byQuality = { cost_weight: 0, quality_weight: 1 };
    const request = routeFacts({ task_type: 'coding', route_strategy: byQuality }, caller, snapshot);
    const [best] = decisionOf(snapshot, request, weighted).ranked;
    expect(snapshot.models[best.model]?.id).toBe('claude-opus-5-5');
  });

  test('the shipped policy finds the models of an Ollama server once its address is set', () => {
    const env = { OLLAMA_BASE_URL: 'http://127.0.0.1:11434/v1/' };
    expect(shippedSnapshot(env).providers.get('ollama')).toMatchObject({
      discover: 'serve',
      baseUrl: 'http://127.0.0.1:11434/v1',
      accounts: [{ apiKeyEnv: null }],
    });
  });

  test('the shipped policy treats an empty variable as not set', () => {
    expect(ids({ OPENAI_API_KEY: ' ' })).toEqual(ids({}));
  });

  test('the shipped policy serves all providers together, and names each provider like its preset', () => {
    const result = loadShippedPolicy(EVERY_VARIABLE);
    const snapshot = snapshotOf(result);
    expect(result.diagnostics).toEqual([]);
    expect([...snapshot.providers.keys()].sort()).toEqual(SERVICES.map(({ name }) => name).sort());
    expect(snapshot.models.length).toBe(29);
  });

  for (const { name, variables } of SERVICES) {
    const why = WITHOUT_MODELS.get(name);
    test(`${why ? 'has no models for' : 'serves models at'} ${name} alone${why ? `: ${why}` : ''}`, () => {
      const snapshot = shippedSnapshot(variables);
      const served = snapshot.models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === name));
      expect(served.length > 0).toBe(why === undefined);
      // Simulated models serve while no real model can.
      expect(snapshot.providers.has('simulated')).toBe(why !== undefined);
    });
  }

  test('the shipped policy states a date and a basis for every price, and a basis for every quality', () => {
    for (const { path, text } of files.filter((file) => file.text.includes('models:\n'))) {
      const models = text.split(/^ {2}(?=[a-z0-9][\w.-]*:$)/m).filter((part) => part.includes('context_window: '));
      expect(models.length, path).toBeGreaterThan(2);
      for (const model of models) {
        expect(model).toMatch(/price:[\s\S]*as_of: \d{4}-\d\d-\d\d,?\s+basis: (vendor-list|aggregator|own)/);
        // Embedding models have no quality: models of one vector space count as equal.
        if (!model.includes('operations: [embed]'))
          expect(model).toMatch(/quality:\s+\{[^}]*basis: (guessed|unknown)[^}]*\}/);
      }
    }
  });

  test('the shipped policy simulates in one model every capability that can be simulated, and bounds its images', () => {
    const snapshot = shippedSnapshot();
    // A simulated model cannot return token probabilities, accept stop sequences or store history. Another model embeds.
    const all =
      Object.values(CAPABILITIES).reduce((bits, { bit }) => bits | bit, 0) &
      ~(CAPABILITIES.logprobs.bit | CAPABILITIES.stop.bit | CAPABILITIES.token_input.bit | CAPABILITIES.threads.bit);
    const large = snapshot.models[snapshot.modelIndex.get('sim-large') ?? -1];
    expect(large?.capabilities).toBe(all);
    expect(large?.imageTokensMax).toBe(1600);
  });

  test('the shipped policy prices exactly: 1M tokens in and out of a model at 0.10 and 0.40 USD cost 500 Credits', () => {
    const snapshot = shippedSnapshot();
    const price = snapshot.models[snapshot.modelIndex.get('sim-small') ?? -1]?.endpoints[0].price;
    if (!price) throw new Error('no price');
    expect(costOf(price, plainUsage(1_000_000, 1_000_000))).toBe(500_000_000);
  });

  test('the shipped policy has test cases that pass without keys, with each provider alone, and with all providers', async () => {
    const environments = [{}, ...SERVICES.map(({ variables }) => variables), EVERY_VARIABLE];
    const parsed = parsePolicy(files);
    const outputs = await Promise.all(
      environments.map((env: Readonly<Record<string, string>>) => rehearsed(files, (name) => env[name], parsed)),
    );
    expect(outputs.filter((each) => each !== '')).toEqual([]);
  });

  test('the shipped policy has test cases that pass with any keys, whatever model an operator adds', async () => {
    await fc.assert(holdAfter([]), tries('the shipped test cases pass whatever model is added, with any keys', 2, 100));
    // A test case about all models breaks at an operator's first edit.
    const brittle = 'cases: [{ name: brittle, given: { model: auto }, expect: { model: gpt-6.1-sol } }]';
    const mutant = holdAfter([{ path: 'brittle.yaml', text: brittle }]);
    expect((await fc.check(mutant, { numRuns: 300, endOnFailure: true })).failed).toBe(true);
  });

  test('the shipped policy stays valid without its simulated models and their test cases', async () => {
    const others = files.filter(({ path }) => !path.endsWith('simulated.yaml'));
    expect(others.length).toBe(files.length - 1);
    expect(await rehearsed(others, (variable) => EVERY_VARIABLE[variable])).toBe('');
  });

  test('the shipped policy has a test case in which each model is chosen or excluded', () => {
    const expected = shippedSnapshot(EVERY_VARIABLE).cases.flatMap(({ expect: { models, rejected } }) => [
      ...(models ?? []),
      ...Object.keys(rejected),
    ]);
    const shown = new Set(expected);
    expect([...ids({}), ...ids(EVERY_VARIABLE)].filter((id) => !shown.has(id))).toEqual([]);
  });

  test('the shipped policy begins each file with its purpose, and names only files that exist', () => {
    for (const { path, text } of files) {
      const lines = text.split('\n').filter((line) => !line.startsWith('# yaml-language-server:'));
      expect(lines[0], path).toMatch(/^# [A-Z].{20}/);
      for (const [, named = ''] of text.matchAll(/\b((?:docs\/(?:[\w-]+\/)*)?[\w-]+\.(?:yaml|md))\b/g)) {
        const at = named.startsWith('docs/')
          ? `../../${named.replace('docs/guide/', 'docs/')}`
          : `../../policies/${named}`;
        expect(existsSync(join(import.meta.dir, at)), `${named} in ${path}`).toBe(true);
      }
    }
  });

  test('the shipped policy has commented-out rules that are valid once uncommented', async () => {
    const text = files.find(({ path }) => path.endsWith('signalbox.yaml'))?.text ?? '';
    const rules = text
      .slice(text.indexOf('# constraints:'))
      .split('\n')
      .map((line) => line.replace(/^# ?/, ''))
      .join('\n');
    const all = [...files, { path: 'rules.yaml', text: rules }];
    const { constraints, preferences, budgets, rateLimits, cases } = snapshotOf(loadShipped(all, EVERY_VARIABLE));
    const stated = cases.filter(({ place }) => place.file === 'rules.yaml');
    expect([constraints, preferences, budgets, rateLimits, stated].map(({ length }) => length)).toEqual([
      2, 1, 1, 1, 1,
    ]);
    const output = await rehearsed(all, (name) => EVERY_VARIABLE[name]);
    expect(output.split('\n').filter((line) => /^\S+:\d+:\d+ /.test(line))).toEqual([
      expect.stringMatching(/^rules\.yaml:\d+:\d+ {2}warning satisfied-by-none /),
      // No shipped model runs on the operator's own hardware.
      expect.stringMatching(/^rules\.yaml:\d+:\d+ {2}warning prefers-none /),
    ]);
  });
});

/** An operator's keys and additional model. */
interface Edit {
  readonly env: Readonly<Record<string, string>>;
  readonly added: { readonly price: number; readonly quality: number; readonly rate: number };
}

const anyEdit: fc.Arbitrary<Edit> = fc.record({
  env: fc.subarray([...SERVICES]).map((some) => Object.assign({}, ...some.map(({ variables }) => variables))),
  added: fc.record({
    price: fc.constantFrom(0, 1, 100),
    quality: fc.constantFrom(0, 0.5, 1),
    rate: fc.constantFrom(1, 10_000),
  }),
});

function holdAfter(more: readonly PolicyFile[]) {
  return fc.asyncProperty(anyEdit, async ({ env, added }) => {
    expect(await rehearsed([...edited(added), ...more], (name) => env[name])).toBe('');
  });
}

/** Returns the shipped policy with an additional model, and a rule that caps every request. */
function edited({ price, quality, rate }: Edit['added']): PolicyFile[] {
  const mine = `providers: { mine: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1" } }
models:
  mine:
    provider: mine
    price: { input: ${price}, output: ${price}, as_of: 2026-11-20, basis: own }
    context_window: 2000000
    max_output: 100000
    capabilities: [tools, vision, json_schema]
    languages: [rust, javascript]
    latency: { output_tokens_per_second: ${rate}, basis: guessed }
    quality: { default: ${quality}, basis: guessed }
constraints: [{ name: cap, max_cost_credits: 100 }]
`;
  return [...shippedPolicy(), { path: 'mine.yaml', text: mine }];
}
