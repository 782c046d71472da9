import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import type { SelectorTiers, TierName } from '../../src/core/policy/tiers.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { tries } from '../deep/effort.ts';
import { EVERY_VARIABLE } from '../policy/shipped.ts';
import { shippedPolicy } from '../policy/support.ts';
import { facts, loaded, outcomeOf, prepared } from '../routing/build.ts';

const NAMES = ['auto', 'auto-cheap', 'auto-fast'] as const;
const shipped = shippedPolicy().filter(({ path }) => !path.endsWith('cases.yaml'));

/** The shipped policy with another `auto`, which the two other selectors follow. */
const policyWith = (auto: string) =>
  shipped.map(({ path, text }) => ({ path, text: text.replace(/^ {2}auto:\n(?: {4}.*\n)+/m, `  auto: ${auto}\n`) }));

const weight = fc.constantFrom(0.05, 0.1, 0.3, 1, 5);
const selector = fc
  .record({ quality: weight, cost: weight, latency: weight, floor: fc.constantFrom('', ', quality_floor: 0.8') })
  .map(
    ({ quality, cost, latency, floor }) =>
      `{ strategy: auto, options: { quality: ${quality}, cost: ${cost}, latency: ${latency}${floor} } }`,
  );
const stated = fc.constantFrom(
  '{ strategy: auto, tiers: { usual: [gpt-6-luna], strong: [gpt-6.1-sol] } }',
  '{ strategy: auto, tiers: { usual: [gpt-6.1-sol, gpt-6-luna], strong: [claude-opus-5-5] } }',
);
const auto = fc.oneof({ weight: 4, arbitrary: selector }, { weight: 1, arbitrary: stated });
const tier = fc.constantFrom<TierName>('usual', 'strong');
const request = fc.record({
  tier,
  task: fc.constantFrom('general', 'coding', 'math', 'classification', 'vision'),
  difficulty: fc.constantFrom('easy' as const, 'usual' as const, 'hard' as const),
  inputTokens: fc.constantFrom(5, 4_000, 60_000, 250_000),
  outputTokens: fc.constantFrom(null, 1, 4_000),
  /** Every n-th model may be used; 1 for all. */
  allowed: fc.integer({ min: 1, max: 9 }),
  from: fc.integer({ min: 0, max: 8 }),
});
type Request = typeof request extends fc.Arbitrary<infer One> ? One : never;
const keys = fc.constantFrom(
  EVERY_VARIABLE,
  { OPENAI_API_KEY: 'key-of-the-test' },
  { ANTHROPIC_API_KEY: 'key-of-the-test' },
  { GEMINI_API_KEY: 'key-of-the-test', OPENAI_API_KEY: 'key-of-the-test' },
);

const askedOf = ({ tier: name, allowed, from, ...asked }: Request, { models }: PolicySnapshot, model: string): Facts =>
  facts({
    ...asked,
    model,
    inputTokensMax: asked.inputTokens,
    qualityStep: 0.02,
    ...(asked.difficulty === 'hard' && { qualityFactor: 8 }),
    tier: { name, hard: name === 'strong' ? 1 : 0 },
    allowedModels: models.filter((_, at) => at % allowed === from % allowed).map(({ id }) => id),
  });

/** Changes the tiers of a snapshot before it decides. */
type Change = (tiers: SelectorTiers) => SelectorTiers | undefined;
const none: Change = (tiers) => tiers;

function changed(snapshot: PolicySnapshot, change: Change): PolicySnapshot {
  const selectors = [...snapshot.selectors].map(([name, { tiers, ...one }]) => {
    const other = tiers && change(tiers);
    return [name, { ...one, ...(other && { tiers: other }) }] as const;
  });
  return { ...snapshot, selectors: new Map(selectors) };
}

const decide = (snapshot: PolicySnapshot, one: Request, model: string) => {
  const outcome = outcomeOf(snapshot, askedOf(one, snapshot, model), prepared(snapshot, model));
  return 'ranked' in outcome ? outcome : null;
};

const neverWorse = (change: Change) =>
  fc.property(auto, fc.array(request, { minLength: 30, maxLength: 30 }), keys, (given, requests, env) => {
    const snapshot = changed(loaded(policyWith(given), env), change);
    return requests.every((one) => {
      const [ofAuto, cheap, fast] = NAMES.map((name) => decide(snapshot, one, name));
      if (!ofAuto || !cheap || !fast) return !ofAuto && !cheap && !fast;
      const isCheaper = cheap.ranked[0].costCredits <= ofAuto.ranked[0].costCredits;
      const isFaster = fast.ranked[0].latencyMs <= ofAuto.ranked[0].latencyMs;
      // Utilities that differ less than rounding does are decided by another criterion.
      const isTied = [ofAuto, cheap, fast].some(
        ({ tier: decided, ranked: [a, b] }) => decided === null && b && a.utility - b.utility < 2e-9,
      );
      return isTied || (isCheaper && isFaster);
    });
  });

describe('tiers:', () => {
  test('auto-cheap never costs more than auto, and auto-fast is never slower, by the estimates of the request', () => {
    fc.assert(neverWorse(none), tries('tiers: never more expensive or slower than auto', 12, 400));
  });

  test('the law detects tiers without a limit', () => {
    const unlimited: Change = ({ limit: _, ...tiers }) => tiers;
    expect(fc.check(neverWorse(unlimited), { numRuns: 300, endOnFailure: true, seed: 1 }).failed).toBe(true);
  });

  test('on the typical request, the first model of auto-cheap never costs more than the first of auto', () => {
    fc.assert(
      fc.property(selector, keys, (given, env) => {
        const snapshot = loaded(policyWith(given), env);
        const one = { task: 'general', difficulty: 'usual', inputTokens: 4_000, outputTokens: null } as const;
        return (['usual', 'strong'] as const).every((name) => {
          const [ofAuto, cheap] = (['auto', 'auto-cheap'] as const).map((model) =>
            decide(snapshot, { ...one, tier: name, allowed: 1, from: 0 }, model),
          );
          return cheap!.ranked[0].costCredits <= ofAuto!.ranked[0].costCredits;
        });
      }),
      tries('tiers: the first models', 8, 200),
    );
  });

  /** The order that a reader of the policy expects: the eligible models of the tier, then those of the other one. */
  const inOrder = (change: Change) =>
    fc.property(auto, fc.array(request, { minLength: 20, maxLength: 20 }), keys, (given, requests, env) => {
      const snapshot = loaded(policyWith(given.replace(', quality_floor: 0.8', '')), env);
      const deciding = changed(snapshot, change);
      // No model of stated tiers may be served.
      const { usual, strong } = snapshot.selectors.get('auto')!.tiers ?? { usual: [], strong: [] };
      return requests.every((one) => {
        const decision = decide(deciding, one, 'auto');
        if (!decision) return true;
        const eligible = new Set(
          decide(
            changed(snapshot, () => undefined),
            one,
            'auto',
          )!.ranked.map(({ model }) => model),
        );
        const tiers = one.tier === 'usual' ? [...usual, ...strong] : [...strong, ...usual];
        const wanted = [...new Set(tiers)].filter((model) => eligible.has(model));
        // The decision without tiers lists only its best models, so other models of the tiers may be eligible, too.
        const got = decision.ranked.map(({ model }) => model).filter((model) => wanted.includes(model));
        return (
          Bun.deepEquals(
            got,
            wanted.filter((model) => got.includes(model)),
          ) &&
          (wanted.length === 0 || tiers.includes(decision.ranked[0].model))
        );
      });
    });

  test('a request gets the first eligible model of its tier, then the other tier, then the rest', () => {
    fc.assert(inOrder(none), tries('tiers: in order', 8, 200));
  });

  test('the law detects exchanged tiers', () => {
    const exchanged: Change = ({ usual, strong, ...tiers }) => ({ ...tiers, usual: strong, strong: usual });
    expect(fc.check(inOrder(exchanged), { numRuns: 200, endOnFailure: true, seed: 1 }).failed).toBe(true);
  });

  /** The model that a reader of the policy expects for a second attempt in the same request. */
  const secondInOrder = (change: Change) =>
    fc.property(auto, fc.array(request, { minLength: 20, maxLength: 20 }), keys, (given, requests, env) => {
      const loadedOnce = loaded(policyWith(given.replace(', quality_floor: 0.8', '')), env);
      const { length: alternatives } = loadedOnce.models;
      const snapshot = { ...loadedOnce, gateway: { ...loadedOnce.gateway, alternatives } };
      const { strong = [] } = snapshot.selectors.get('auto')!.tiers ?? {};
      const ranked = changed(snapshot, () => undefined);
      const deciding = changed(snapshot, change);
      return requests.every((one) => {
        const decision = decide(deciding, one, 'auto');
        if (!decision || decision.tier === null) return decision?.second === undefined;
        const eligible = new Set(decide(ranked, one, 'auto')!.ranked.map(({ model }) => model));
        const {
          quality,
          ranked: [{ model: choice }],
        } = decision;
        const candidates = strong.filter((model) => eligible.has(model));
        const isStrong = one.tier === 'strong' || candidates[0] === choice;
        const second = candidates.find(
          (model) => model !== choice && (!isStrong || quality[model]! >= quality[choice]! - 0.02),
        );
        return decision.second?.model === second;
      });
    });

  test('the second attempt is at the strong tier, and never at a model that is clearly worse than the strong choice', () => {
    fc.assert(secondInOrder(none), tries('tiers: the model of a second attempt', 8, 200));
  });

  test.each<[string, Change]>([
    ['takes the usual tier', ({ usual, ...tiers }) => ({ ...tiers, usual, strong: usual })],
    ['takes the last model of the strong tier', ({ strong, ...tiers }) => ({ ...tiers, strong: strong.toReversed() })],
  ])('the law detects a second attempt that %s', (_, change) => {
    expect(fc.check(secondInOrder(change), { numRuns: 100, endOnFailure: true, seed: 1 }).failed).toBe(true);
  });

  test('the order of the models in the policy does not matter to derived tiers', () => {
    const text = (order: readonly string[]) =>
      `version: 2\nproviders: { s: { adapter: simulated } }\nmodels:\n${order.join('\n')}\n`;
    const lines = [0.95, 0.9, 0.9, 0.6].map(
      (quality, at) =>
        `  m${at}: { provider: s, price: { input: ${(at + 1) / 2}, output: ${4 - at} }, context_window: 90000, max_output: 9000, quality: { default: ${quality} } }`,
    );
    const idsIn = ({ selectors, models }: PolicySnapshot) =>
      [...selectors.values()].map(({ name, tiers }) => [
        name,
        ...[...tiers!.usual, ...tiers!.strong].map((at) => models[at]!.id),
      ]);
    expect(idsIn(loaded(text(lines.toReversed())))).toEqual(idsIn(loaded(text(lines))));
  });
});
