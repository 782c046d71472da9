import { describe, expect, test } from 'bun:test';
import type { RankedModel } from '../../src/core/decision/decision.ts';
import { advise, tradeOff } from '../../src/routing/advise.ts';
import { routeFacts } from '../support/chat-body.ts';
import { decisionOf, facts, model, outcomeOf, price, snapshot } from './build.ts';

const ranked = (quality: number, costCredits: number, latencyMs = 100): RankedModel => ({
  model: 0,
  share: quality,
  quality,
  costCredits,
  latencyMs,
  utility: 0,
  tokens: 1,
  outputCap: 1,
  endpoints: [0],
  cappedBy: null,
  bound: 1,
});

describe('a trade-off', () => {
  type Figures = [quality: number, cost: number, ms?: number];
  const between = (other: Figures, choice: Figures) => tradeOff(ranked(...other), ranked(...choice));

  test('states quality in percentage points and cost in proportion', () => {
    expect(between([0.87, 0.12], [0.9, 1])).toBe('3 percentage points lower expected quality at 12 % of the cost.');
    expect(between([0.95, 2], [0.9, 1])).toBe('5 percentage points higher expected quality at 200 % of the cost.');
    expect(between([0.9, 40], [0.9, 1])).toBe('The same expected quality at 40 times the cost.');
    expect(between([0.895, 1], [0.9, 1])).toBe('0.5 percentage points lower expected quality at the same cost.');
    expect(between([0.5, 0.004], [0.9, 1])).toBe('40 percentage points lower expected quality at 0.4 % of the cost.');
  });

  test('writes one percentage point in the singular', () => {
    expect(between([0.91, 1], [0.9, 1])).toStartWith('1 percentage point higher');
    expect(between([0.915, 1], [0.9, 1])).toStartWith('1.5 percentage points higher');
  });

  test('states the latency only if the difference is noticeable', () => {
    const timed = (other: number, choice: number) => between([0.905, 0.3, other], [0.9, 1, choice]);
    const plain = '0.5 percentage points higher expected quality at 30 % of the cost';
    expect(timed(38_200, 15_249)).toBe(`${plain}, in 38.2 s instead of 15.2 s.`);
    expect(timed(350, 980)).toBe(`${plain}, in 0.35 s instead of 0.98 s.`);
    expect(timed(250_400, 99_960)).toBe(`${plain}, in 250 s instead of 100 s.`);
    expect(timed(2200, 2000)).toBe(`${plain}, in 2.2 s instead of 2 s.`);
    expect([timed(199, 100), timed(2199, 2000), timed(1801, 2000)]).toEqual(Array(3).fill(`${plain}.`));
  });

  test('states the absolute cost in a comparison with a free model', () => {
    expect(between([0.8, 0.25], [0.9, 0])).toContain('0.25 Credits instead of none');
    expect(between([0.8, 0], [0.9, 0])).toContain('the same cost');
    expect(between([0.8, 0], [0.9, 2])).toContain('at 0 % of the cost');
  });
});

describe('a recommendation', () => {
  const from = snapshot([model('a', { q: 0.9, cost: price(3, 3) }), model('b', { q: 0.8 })]);

  test('the advice has the choice with its figures and worst-case cost, then the alternatives in order', () => {
    expect(advise(decisionOf(from, facts()), from, null)).toEqual({
      recommended_model: 'a',
      reasoning:
        'For the task general, a is the best of 2 eligible models by test: expected quality 90 %, 2.7 Credits, 4500 ms.',
      estimated_cost_credits: 2.7,
      estimated_latency_ms: 4500,
      max_cost_credits: (2000 * 3 + 4096 * 3) / 1000,
      max_output_tokens: 4096,
      alternatives: [
        {
          model: 'b',
          estimated_cost_credits: 2.1,
          estimated_latency_ms: 4500,
          max_output_tokens: 4096,
          quality_trade_off: '10 percentage points lower expected quality at 78 % of the cost.',
        },
      ],
      route_reason: 'test',
      decision_id: 'dec_00000000007',
      policy_revision: 'r',
    });
  });

  test('the advice says that the request names the model, and begins with the note', () => {
    const advice = advise(decisionOf(from, facts({ model: 'b', named: ['b'] })), from, 'Note. ');
    expect(advice.reasoning).toStartWith('Note. For the task general, b was requested by name: ');
    expect(advice.alternatives).toEqual([]);
  });
});

describe('the facts of a route query', () => {
  const from = snapshot([model('a')]);
  const caller = {
    keyId: 'k',
    scopes: new Set(['route'] as const),
    labels: {},
    models: null,
    limits: null,
    budgets: [],
  };

  test('use the usual sizes of the task if the query states none', () => {
    expect(routeFacts({}, caller, from)).toEqual(facts({ inputTokensMax: 500 }));
  });

  test('never have a worst case below the estimate, whatever sizes the query states together with messages', () => {
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    const sized = routeFacts({ messages, estimated_input_tokens: 50_000, estimated_output_tokens: 8000 }, caller, from);
    const decision = decisionOf(from, sized);
    expect(decision.ranked[0].bound / 1e6).toBeGreaterThanOrEqual(decision.ranked[0].costCredits);
    expect(decision.ranked[0].outputCap).toBe(8000);
  });

  test('are refused if the query states more output than any model can return', () => {
    const request = routeFacts({ estimated_output_tokens: 8193 }, caller, from);
    expect(outcomeOf(from, request)).toMatchObject({ group: 'constraints' });
  });

  test('have the difficulty of the messages, unless the query states another task', () => {
    const hard = {
      messages: [{ role: 'user' as const, content: 'Write a lock-free queue in Rust, with hazard pointers.' }],
    };
    const knowing = { ...from, taskIndex: new Map([...from.taskIndex, ['coding', 0]]) };
    const difficultyOf = (query: Parameters<typeof routeFacts>[0]) => routeFacts(query, caller, knowing).difficulty;
    expect(difficultyOf(hard)).toBe('hard');
    expect(difficultyOf({ ...hard, task_type: 'coding' })).toBe('hard');
    expect(difficultyOf({ ...hard, task_type: 'general' })).toBe('usual');
    expect(difficultyOf({ task_type: 'coding' })).toBe('usual');
  });

  test('resolve aliases of programming languages, and complete the weights', () => {
    const query = { constraints: { required_languages: ['JS', 'golang'] }, route_strategy: { cost_weight: 1 } };
    expect(routeFacts(query, caller, from)).toMatchObject({
      languages: ['javascript', 'go'],
      weights: { cost: 1, quality: 0.7 },
    });
    expect(() => routeFacts({ route_strategy: { cost_weight: 0, quality_weight: 0 } }, caller, from)).toThrow(
      'must not all be 0',
    );
  });

  test('are refused for an unknown model, and for a model that the key may not use', () => {
    expect(() => routeFacts({ model: 'z' }, caller, from)).toThrow('There is no model or selector `z`');
    expect(() => routeFacts({ model: 'a' }, { ...caller, models: new Set(['b']) }, from)).toThrow('may not use');
  });
});
