import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { priorReadings } from '../../../src/core/decision/readings.ts';
import type { PolicySnapshot } from '../../../src/core/policy/snapshot.ts';
import {
  expectedCost,
  expectedLatency,
  expectedReasoning,
  expectedTtft,
  expectedWriting,
  ttftFactor,
} from '../../../src/routing/estimate.ts';
import { tries } from '../../deep/effort.ts';
import { facts, loaded, loadWith } from '../../routing/build.ts';

const KEYS = { A_KEY: 'key-of-the-test', B_KEY: 'key-of-the-test' };
const model = (id: string, provider: string, output: number, more: string) =>
  `  ${id}: { provider: ${provider}, price: { input: 1, output: ${output} }, context_window: 9000, max_output: 900, quality: { default: 0.5 }, ${more} }\n`;
const speed = (ttft: number, rate: number, basis = 'measured') =>
  `latency: { ttft_ms: ${ttft}, output_tokens_per_second: ${rate}, basis: ${basis} }`;
const policy = (models: string) => `version: 1
unstated_latency: median
providers:
  a: { adapter: openai, base_url: "https://a.example/v1", api_key_env: A_KEY }
  b: { adapter: openai, base_url: "https://b.example/v1", api_key_env: B_KEY }
  home: { adapter: simulated }
models:
${models}`;
const latencyIn = (models: string, id: string) => {
  const { models: all, modelIndex } = loaded(policy(models), KEYS);
  return all[modelIndex.get(id)!]!.latency;
};

describe('a model whose speed the policy does not state', () => {
  const known = [
    model('dear', 'a', 20, speed(900, 40)),
    model('small', 'a', 0.5, speed(300, 200)),
    model('tiny', 'b', 0.4, speed(500, 100)),
    model('thinks', 'b', 0.5, `reasoning_tokens: 400, ${speed(2600, 200)}`),
    model('boast', 'b', 0.5, speed(1, 9000, 'unknown')),
    model('own', 'home', 0, speed(5, 5000)),
  ].join('');

  test('a model whose speed the policy does not state has the median of hosted models with the same price class and kind of reasoning, and counts as estimated', () => {
    expect(latencyIn(known + model('new', 'b', 0.6, 'tags: []'), 'new')).toEqual({
      ttftMs: 400,
      warmTtftMs: 400,
      outputTokensPerSecond: 150,
      basis: 'estimated',
    });
    expect(latencyIn(known + model('new', 'b', 30, 'tags: []'), 'new')).toMatchObject({
      ttftMs: 900,
      outputTokensPerSecond: 40,
    });
  });

  test('a reasoning model without a stated speed starts like other reasoning models, plus the time for its own reasoning', () => {
    // 2,600 ms minus 400 tokens at 200 tokens per second is a start of 600 ms.
    const found = latencyIn(known + model('new', 'a', 0.6, 'reasoning_tokens: 100'), 'new');
    expect(found).toMatchObject({ ttftMs: 1100, outputTokensPerSecond: 200, basis: 'estimated' });
  });

  test('a model whose speed the policy does not state uses only models of its own provider if there are at least two', () => {
    const two = known + model('quick', 'a', 0.5, speed(100, 600));
    expect(latencyIn(two + model('new', 'a', 0.6, 'tags: []'), 'new')).toMatchObject({
      ttftMs: 200,
      outputTokensPerSecond: 400,
    });
    expect(latencyIn(two + model('new', 'home', 0, 'tags: []'), 'new')).toMatchObject({
      ttftMs: 300,
      outputTokensPerSecond: 200,
    });
  });

  test('a model whose speed the policy does not state keeps the one figure that it states', () => {
    const rated = model('new', 'b', 0.6, 'latency: { output_tokens_per_second: 77, basis: guessed }');
    expect(latencyIn(known + rated, 'new')).toMatchObject({
      ttftMs: 400,
      outputTokensPerSecond: 77,
      basis: 'estimated',
    });
    expect(latencyIn(known + rated, 'dear').basis).toBe('stated');
  });

  test('a model whose speed the policy does not state has neutral figures if no speed is known, or if the policy does not use medians', () => {
    const neutral = { ttftMs: 3000, outputTokensPerSecond: 50, basis: 'neutral' };
    const added = model('new', 'a', 1, 'reasoning_tokens: 100');
    expect(latencyIn(added, 'new')).toMatchObject(neutral);
    const plain = loaded(policy(known + added).replace('unstated_latency: median', 'unstated_latency: neutral'), KEYS);
    expect(plain.models[plain.modelIndex.get('new')!]!.latency).toMatchObject(neutral);
  });

  test('a model whose speed the policy does not state is slow with `unstated_latency: slow`, whatever the other models are', () => {
    const slow = { ttftMs: 3033, outputTokensPerSecond: 75, basis: 'slow' };
    const added = model('new', 'a', 1, 'reasoning_tokens: 100');
    for (const models of [added, known + added]) {
      const { models: all, modelIndex } = loaded(policy(models).replace('latency: median', 'latency: slow'), KEYS);
      expect(all[modelIndex.get('new')!]!.latency).toMatchObject(slow);
    }
  });
});

const THINKER = `reasoning_tokens: { default: 400, chat: 40, math: 2000 }, ${speed(2600, 200)}`;
const tasked = `${policy(model('thinks', 'a', 2, THINKER) + model('plain', 'a', 2, speed(600, 200)))}tasks:
  chat: { expected_output_tokens: 100, default_input_tokens: 10, min_useful_output: 8 }
  math: { expected_output_tokens: 100, default_input_tokens: 10, min_useful_output: 8 }
`;

function estimatesOf(from: PolicySnapshot, id: string, request: ReturnType<typeof facts>) {
  const readings = priorReadings(from);
  const one = from.models[from.modelIndex.get(id)!]!;
  const writing = expectedWriting(request, from, readings);
  return {
    ttft: expectedTtft(one, 0, request, readings, expectedReasoning(one, writing)),
    cost: expectedCost(one, 0, request, writing),
    latency: expectedLatency(one, 0, request, readings, writing),
    factor: ttftFactor(one, 0, readings, writing),
  };
}

describe('reasoning tokens that a policy states by task', () => {
  const from = loaded(tasked, KEYS);
  const of = (task: string, id = 'thinks') => estimatesOf(from, id, facts({ task }));

  test('reasoning tokens that a policy states by task change the cost and the time to the first token by task', () => {
    expect([of('chat').ttft, of('general').ttft, of('math').ttft]).toEqual([800, 2600, 10_600]);
    const [chat, math] = [of('chat').cost, of('math').cost];
    expect(math - chat).toBeCloseTo((1960 * 2) / 1000, 9);
    expect(of('chat', 'plain').ttft).toBe(of('math', 'plain').ttft);
  });

  test('reasoning tokens that a policy states by task are averaged with the shares of the tasks if the task is uncertain', () => {
    const request = facts({
      task: 'math',
      mix: [
        { task: 'math', share: 0.75 },
        { task: 'chat', share: 0.25 },
      ],
    });
    expect(estimatesOf(from, 'thinks', request).ttft).toBeCloseTo(0.75 * 10_600 + 0.25 * 800, 6);
  });

  test('reasoning tokens for an unknown task are refused with the task’s name', () => {
    const wrong = tasked.replace('chat: 40', 'chta: 40');
    const [found] = loadWith(wrong, KEYS).diagnostics;
    expect(found).toMatchObject({ code: 'unknown-reference' });
    expect(found!.message).toContain('chta');
  });

  test('reasoning tokens that a policy states by task lengthen the deadline for the first token', () => {
    expect(from.models[from.modelIndex.get('thinks')!]!.deadlines.firstTokenMs).toBe(4 * 10_600);
  });

  test('reasoning tokens that a policy states by task never make a model with more reasoning cheaper or faster, and readings are normalized by the same factor', () => {
    const count = fc.integer({ min: 0, max: 50_000 });
    const figures = fc.record({
      usual: count,
      one: count,
      other: count,
      ttft: fc.integer({ min: 0, max: 90_000 }),
      rate: fc.integer({ min: 1, max: 3000 }),
    });
    fc.assert(
      fc.property(figures, ({ usual, one, other, ttft, rate }) => {
        const [less, more] = one <= other ? [one, other] : [other, one];
        const given = loaded(
          tasked.replace(
            THINKER,
            `reasoning_tokens: { default: ${usual}, chat: ${less}, math: ${more} }, ${speed(ttft, rate)}`,
          ),
          KEYS,
        );
        const [chat, math] = ['chat', 'math'].map((task) => estimatesOf(given, 'thinks', facts({ task })));
        expect(chat!.ttft).toBeGreaterThanOrEqual(0);
        expect(math!.ttft).toBeGreaterThanOrEqual(chat!.ttft);
        expect(math!.cost).toBeGreaterThanOrEqual(chat!.cost);
        if (ttft > 0) expect(math!.ttft / math!.factor).toBeCloseTo(ttft, 4);
      }),
      tries('more reasoning is never cheaper or faster', 20, 2_000),
    );
  });
});
