import { describe, expect, test } from 'bun:test';
import type { Facts } from '../../src/core/facts.ts';
import { outputCappedBy } from '../../src/routing/output-maximum.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { decisionOf, facts, funds, idsOf, model, refusalOf, snapshot } from './build.ts';

/** A request for more output than a model can return, under `output_above_maximum: cap`. 400 tokens are expected. */
const capping = (more: Partial<Facts> = {}): Facts => facts({ outputTokensMax: 9_000, capsOutput: true, ...more });

describe('a model that cannot return `max_tokens`', () => {
  const edges: readonly (readonly [string, Parameters<typeof model>[1], Facts, Facts])[] = [
    ['the expected length', { maxOutput: 399 }, capping(), facts({ outputTokensMax: 399 })],
    ['a stated length', { maxOutput: 500 }, capping({ outputTokens: 501 }), capping({ outputTokens: 500 })],
    ['the least output', { maxOutput: 500 }, capping({ outputTokensMin: 501 }), capping({ outputTokensMin: 500 })],
    ['it without `cap`', { maxOutput: 500 }, facts({ outputTokensMin: 501 }), facts({ outputTokensMin: 500 })],
    ['its reasoning', { maxOutput: 1024, reasoningTokens: 1025 }, capping(), capping({ outputTokensMax: 1024 })],
  ];
  test.each(edges)('is left out exactly if its maximum is below %s', (_, has, refused, accepted) => {
    const from = snapshot([model('x', has)]);
    expect(refusalOf(from, refused).group).toBe('constraints');
    expect(idsOf(decisionOf(from, accepted), from)).toEqual(['x']);
  });

  test('gets its maximum as the cap, and is named as what lowered it, also where its window leaves less', () => {
    for (const [contextWindow, cap] of [
      [100_000, 500],
      [900, 400],
    ] as const) {
      const from = snapshot([model('x', { maxOutput: 500, contextWindow })]);
      const request = capping({ inputTokens: 500, inputTokensMax: 500 });
      const [choice] = decisionOf(from, request).ranked;
      expect([choice.outputCap, outputCappedBy(choice, from.models[0]!, request)]).toEqual([cap, 'model']);
    }
  });

  test('is not named where its window alone, a budget of the request or nothing lowers the cap', () => {
    const from = snapshot([model('x', { maxOutput: 9_000, contextWindow: 2_000 }), model('y', { maxOutput: 500 })]);
    const named = (request: Facts) => {
      const [choice] = decisionOf(from, request).ranked;
      return outputCappedBy(choice, from.models[choice.model]!, request);
    };
    expect(named(capping({ model: 'x', pinned: true }))).toBeNull();
    expect(named(capping({ model: 'y', pinned: true }))).toBe('model');
    expect(named(capping({ model: 'y', pinned: true, budget: 3_000_000 }))).toBeNull();
    expect(named(facts({ model: 'y', pinned: true, outputTokensMax: 500 }))).toBeNull();
  });

  test('is left out of a decision that was recorded before outputs were capped', () => {
    const one = model('x', { maxOutput: 500 });
    const { gateway } = snapshot([one]);
    const from = snapshot([one], { gateway: { ...gateway, outputAboveMaximum: 'cap' } });
    expect(refusalOf(from, facts({ outputTokensMax: 9_000 })).group).toBe('constraints');
  });

  test('has each field at fault, and the value that would admit it, in the error', () => {
    const from = snapshot([model('x', { maxOutput: 300 })]);
    const { message } = refusalError(refusalOf(from, capping({ outputTokensMin: 700, funds: funds(null) })), from);
    expect(message).toContain('min_output_tokens 700 → 300 and max_tokens 9000 → 300 admits `x`');
  });
});
