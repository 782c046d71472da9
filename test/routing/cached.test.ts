import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { priorReadings } from '../../src/core/decision/readings.ts';
import type { Endpoint } from '../../src/core/policy/snapshot.ts';
import { costReference, expectedCost, expectedLatency } from '../../src/routing/estimate.ts';
import { changedLine } from '../support/money.ts';
import { decisionOf, facts, idsOf, model, price, snapshot, usual } from './build.ts';

/** Creates a price in which a cached input token costs a tenth of an uncached one (1 millicredit). */
const cheaper = (input: number, output: number) => {
  const list = price(input, output);
  const [line] = list.lines;
  return { ...list, lines: [changedLine(line, { cached_input: line.input / 10 })] as const };
};
const at = (provider: string): Endpoint => ({
  provider,
  upstream: 'u',
  regions: [],
  price: cheaper(1, 4),
  capabilities: 0,
});
const twice = model('twice', {
  endpoints: [at('first'), at('second')],
  latency: { ttftMs: 1_000, warmTtftMs: 300, outputTokensPerSecond: 100 },
});
const from = snapshot([twice]);
const readings = priorReadings(from);
/** The expected output for a model that does not reason. */
const WRITING = { outputTokens: 100, task: 0, mix: [], reasoningFactor: 1 };
const request = (tokens: number) => facts({ inputTokens: 2_000, cached: [{ model: 'twice', tokens }] });

describe('likely cached input', () => {
  test('costs the cached price at the first endpoint, and the full price at others', () => {
    const cold = expectedCost(twice, 0, facts({ inputTokens: 2_000 }), WRITING);
    expect(expectedCost(twice, 0, request(1_500), WRITING)).toBeCloseTo(cold - 1.5 * 0.9, 9);
    expect(expectedCost(twice, 1, request(1_500), WRITING)).toBe(cold);
  });

  test('never exceeds the input', () => {
    expect(expectedCost(twice, 0, request(9_999), WRITING)).toBe(expectedCost(twice, 0, request(2_000), WRITING));
  });

  test('shortens the time to the first token if half of the input is cached, and only at the first endpoint', () => {
    const latency = (tokens: number, endpoint = 0) =>
      expectedLatency(twice, endpoint, request(tokens), readings, WRITING);
    expect(latency(999)).toBe(2_000);
    expect(latency(1_000)).toBe(1_300);
    expect(latency(1_000, 1)).toBe(2_000);
  });

  test('changes neither the reference cost nor the figures of other models', () => {
    const two = snapshot([model('a', { cost: cheaper(2, 4) }), model('b', { cost: cheaper(1, 5) })]);
    fc.assert(
      fc.property(fc.nat(4_000), fc.constantFrom('a', 'b'), (tokens, whose) => {
        const plain = facts({ inputTokens: 2_000 });
        const warm = { ...plain, cached: [{ model: whose, tokens }] };
        expect(costReference(two, warm, readings)).toBe(costReference(two, plain, readings));
        for (const one of two.models) {
          const costs = [plain, warm].map((those) => expectedCost(one, 0, those, WRITING));
          if (one.id !== whose) expect(costs[1]).toBe(costs[0]!);
          else expect(costs[1]).toBeLessThanOrEqual(costs[0]!);
        }
      }),
    );
  });

  test('keeps a more expensive model in the conversation exactly as long as the cache makes it the better choice', () => {
    const two = snapshot([
      model('dear', { q: 0.8, cost: cheaper(1.2, 4) }),
      model('fair', { q: 0.8, cost: cheaper(1, 4) }),
    ]);
    const chosen = (tokens: number) => {
      const question = facts({ inputTokens: 2_000, cached: [{ model: 'dear', tokens }] });
      return idsOf(decisionOf(two, question, usual('auto')), two)[0];
    };
    // The model costs 2,000 × 0.2 millicredits more, and each cached token saves 1.08.
    expect(chosen(0)).toBe('fair');
    expect(chosen(370)).toBe('fair');
    expect(chosen(371)).toBe('dear');
  });
});
