import { expect, test } from 'bun:test';
import { decisionReason } from '../../src/routing/choice-reason.ts';
import { createDecider, isRefusal } from '../../src/routing/decide.ts';
import { facts, loaded, prepared } from './build.ts';

/** The traffic gives the typical request 1,000 tokens of input and 100 of output; a Credit is 0.001 USD. */
const policyOf = (models: string, more = '') => `version: 1
providers: { s: { adapter: simulated } }
traffic: { general: { share: 1, input_tokens: 1000, output_tokens: 100 } }
models:
${models}
${more}`;
const model = (id: string, quality: number, price: number, { speed = 100, basis = 'guessed' } = {}) =>
  `  ${id}: { provider: s, price: { input: ${price}, output: ${price} }, context_window: 90000, max_output: 9000, quality: { default: ${quality}, basis: ${basis} }, latency: { ttft_ms: 500, output_tokens_per_second: ${speed} } }`;
const models = (...all: readonly string[]) => all.join('\n');

type Request = Parameters<typeof facts>[0];
const USUAL = { tier: { name: 'usual', hard: 0.1 } } as const;
const HARD = { tier: { name: 'strong', hard: 0.9 } } as const;
const FAILED = { ...USUAL, escalation: { signal: 'stuck_agent', turnsAgo: 0 } } as const;

/** Decides, and returns the rule of the choice and its sentence. */
function reasonOf(policy: string, selector: string, request: Request = USUAL): readonly [string, string] {
  const from = loaded(policy);
  const asked = facts({ model: selector, inputTokens: 1_000, outputTokens: 100, ...request });
  const strategy = prepared(from, selector);
  const decision = createDecider(from).decide(asked, { id: 1, seed: '0', reason: 'none', strategy });
  if (isRefusal(decision) || !decision.ladder) throw new Error('no ladder chose a model');
  const { id } = from.models[decision.ranked[0].model]!;
  expect(decision.reason).toBe(`${selector}:${decision.tier}`);
  const reason = decisionReason(decision, from);
  expect(reason).toStartWith(id);
  return [decision.ladder.steps[0]!.by, reason!];
}

test('the first model of the order is good enough', () => {
  const policy = policyOf(models(model('best', 0.94, 9), model('near', 0.915, 1), model('far', 0.9, 0.1)));
  expect(reasonOf(policy, 'auto')).toEqual([
    'first',
    'near costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.915 of 0.94), and no model at least 0.01 better costs at most 3 times as much; the request is not hard',
  ]);
  expect(reasonOf(policy, 'auto-cheap')).toEqual([
    'first',
    'far costs least within 0.25 of the best quality (0.9 of 0.94); the request is not hard',
  ]);
  expect(reasonOf(policy, 'auto', HARD)).toEqual([
    'first',
    'best costs least (a second counted as 0.1 Credits) within 0.01 of the best quality (0.94); the request is hard',
  ]);
});

test('a better model costs at most three times as much, step by step', () => {
  const policy = policyOf(models(model('best', 0.94, 8), model('good', 0.93, 3), model('near', 0.915, 1)));
  expect(reasonOf(policy, 'auto')).toEqual([
    'step',
    'best is better than near (0.94 instead of 0.915) and costs at most 3 times as much, step by step; near costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.915 of 0.94); the request is not hard',
  ]);
});

test('a model that costs no more is taken with a step cost of 1', () => {
  const policy = policyOf(
    models(model('best', 0.94, 1, { speed: 5 }), model('near', 0.915, 1)),
    'selectors: { auto: { strategy: auto, options: { step_cost: 1 } } }\n',
  );
  expect(reasonOf(policy, 'auto')[1]).toStartWith(
    'best is better than near (0.94 instead of 0.915) and costs no more, step by step; near costs least ',
  );
});

test('a model that replaces the result of a step is compared with it', () => {
  const tiered = model('tiered', 0.94, 2).replace(
    'output: 2',
    'output: 2, tiers: [{ over_input_tokens: 2000, input: 20, output: 20 }]',
  );
  const policy = policyOf(models(model('near', 0.915, 1), tiered, model('flat', 0.94, 10)));
  expect(reasonOf(policy, 'auto', { ...USUAL, inputTokens: 5_000 })).toEqual([
    'dominates',
    'flat is no worse than tiered in quality, cost and time for this request, and better in one; tiered is better than near (0.94 instead of 0.915) and costs at most 3 times as much, step by step; near costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.915 of 0.94); the request is not hard',
  ]);
});

test('another model is no worse for this request', () => {
  // The second price starts above the size of the typical request.
  const tiered =
    '  tiered: { provider: s, price: { input: 0.5, output: 0.5, tiers: [{ over_input_tokens: 2000, input: 5, output: 5 }] }, context_window: 90000, max_output: 9000, quality: { default: 0.9 }, latency: { ttft_ms: 500, output_tokens_per_second: 100 } }';
  const policy = policyOf(models(tiered, model('flat', 0.9, 1)));
  expect(reasonOf(policy, 'auto')[1]).toStartWith('tiered costs least');
  expect(reasonOf(policy, 'auto', { ...USUAL, inputTokens: 5_000 })).toEqual([
    'dominates',
    'flat is no worse than tiered in quality, cost and time for this request, and better in one; tiered costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.9); the request is not hard',
  ]);
});

test('the choice of `auto` costs less, or is faster, for this request', () => {
  const tiered =
    '  tiered: { provider: s, price: { input: 0.5, output: 0.5, tiers: [{ over_input_tokens: 2000, input: 5, output: 5 }] }, context_window: 90000, max_output: 9000, quality: { default: 0.75 }, latency: { ttft_ms: 500, output_tokens_per_second: 400 } }';
  const policy = policyOf(models(tiered, model('flat', 0.9, 1)));
  expect(reasonOf(policy, 'auto-cheap', { ...USUAL, inputTokens: 5_000 })).toEqual([
    'limit',
    'flat is the choice of `auto` and costs less for this request than tiered; tiered costs least within 0.25 of the best quality (0.75 of 0.9); the request is not hard',
  ]);
  // `soon` begins sooner, so it is faster for the typical request, and `rapid` for long answers.
  const soon = model('soon', 0.85, 1, { speed: 50 }).replace('ttft_ms: 500', 'ttft_ms: 10');
  const rapid = model('rapid', 0.9, 2, { speed: 90 }).replace('ttft_ms: 500', 'ttft_ms: 1050');
  expect(reasonOf(policyOf(models(soon, rapid)), 'auto-fast', { ...USUAL, outputTokens: 5_000 })).toEqual([
    'limit',
    'rapid is the choice of `auto` and is faster for this request than soon; soon answers soonest within 0.08 of the best quality (0.85 of 0.9); the request is not hard',
  ]);
});

test('a hard request gets the model of usual requests if its own is worse', () => {
  // A usual request steps from a to b to d. A hard one begins at c, from which no model is a step better.
  const policy = policyOf(
    models(model('a', 0.913, 1), model('b', 0.9235, 2.9), model('c', 0.9325, 3.5), model('d', 0.942, 8)),
  );
  const [usual, strong] = [reasonOf(policy, 'auto'), reasonOf(policy, 'auto', HARD)];
  expect([usual[0], strong[0]]).toEqual(['step', 'usual']);
  expect(strong[1]).toContain('and serves usual requests, too; c costs least');
});

test('a usual request gets the model of hard requests if a limit gave it a better one that costs more', () => {
  const tiered = model('tiered', 0.7, 0.1).replace(
    'output: 0.1',
    'output: 0.1, tiers: [{ over_input_tokens: 2000, input: 10, output: 10 }]',
  );
  const policy = policyOf(models(tiered, model('good', 0.92, 1), model('best', 0.94, 3)));
  expect(reasonOf(policy, 'auto-cheap', { ...USUAL, inputTokens: 5_000 })).toEqual([
    'strong',
    'good serves hard requests, too, and costs less for this request than best; best is the choice of `auto` and costs less for this request than tiered; tiered costs least within 0.25 of the best quality (0.7 of 0.94); the request is not hard',
  ]);
});

test('the policy states the models', () => {
  const policy = policyOf(
    models(model('a', 0.6, 1), model('b', 0.9, 3)),
    'selectors: { auto: { strategy: auto, tiers: { usual: [a], strong: [b] } } }\n',
  );
  expect([reasonOf(policy, 'auto'), reasonOf(policy, 'auto', HARD)]).toEqual([
    ['stated', 'a is the first model of the list `usual` that can serve the request; the request is not hard'],
    ['stated', 'b is the first model of the list `strong` that can serve the request; the request is hard'],
  ]);
});

test('an answer of the conversation failed, so a better model is tried', () => {
  const policy = policyOf(models(model('best', 0.94, 9), model('near', 0.915, 1)));
  expect(reasonOf(policy, 'auto', FAILED)).toEqual([
    'escalated',
    'best is better than near (0.94 instead of 0.915); an answer of the conversation failed',
  ]);
});

test('an answer failed, but no other model is better', () => {
  const policy = policyOf(models(model('best', 0.94, 2), model('near', 0.915, 1)));
  expect(reasonOf(policy, 'auto', FAILED)).toEqual([
    'step',
    'best is better than near (0.94 instead of 0.915) and costs at most 3 times as much, step by step; near costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.915 of 0.94); an answer of the conversation failed, but there is no better model to move to',
  ]);
});

test('the other list of the policy serves a request that its own list cannot serve, and an answer that failed', () => {
  const policy = policyOf(
    models(model('small', 0.9, 1).replace('90000', '12000'), model('large', 0.9, 3)),
    'selectors: { auto: { strategy: auto, tiers: { usual: [small], strong: [large] } } }\n',
  );
  expect(reasonOf(policy, 'auto', { ...USUAL, inputTokens: 20_000 })[1]).toBe(
    'large is the first model of the list `strong` that can serve the request, and no model of `usual` can; the request is not hard',
  );
  expect(reasonOf(policy, 'auto', FAILED)[1]).toBe('large is as good as small; an answer of the conversation failed');
});

test('a guessed quality beside a measured one is shown with the figure that counts', () => {
  const policy = policyOf(models(model('sure', 0.9, 9, { basis: 'measured' }), model('bold', 0.95, 1)));
  expect(reasonOf(policy, 'auto')[1]).toStartWith(
    'bold costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.95, counted as 0.89 of 0.9), ',
  );
});

test('a preferred model is shown with the figure that counts', () => {
  const policy = policyOf(
    models(model('good', 0.9, 9), model('liked', 0.8, 1)),
    'preferences: [{ name: likes, prefer: \'model.id == "liked"\', worth: 0.15 }]\n',
  );
  const rules = { rules: { constraints: [], preferences: [0] } };
  expect(reasonOf(policy, 'auto', { ...USUAL, ...rules })[1]).toStartWith(
    'liked costs least (a second counted as 0.1 Credits) within 0.03 of the best quality (0.8, counted as 0.95); ',
  );
});
