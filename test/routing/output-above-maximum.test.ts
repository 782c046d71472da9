import { describe, expect, test } from 'bun:test';
import type { Facts } from '../../src/core/request/facts.ts';
import { outputCappedBy } from '../../src/routing/output-maximum.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { decisionOf, facts, funds, idsOf, model, refusalOf, snapshot } from './build.ts';

/** Creates a request for more output than a model can return, with `output_above_maximum: cap`. 400 tokens are expected. */
const capping = (more: Partial<Facts> = {}): Facts => facts({ outputTokensMax: 9_000, capsOutput: true, ...more });

describe('a model that cannot return `max_tokens`', () => {
  const edges: readonly (readonly [string, Parameters<typeof model>[1], Facts, Facts])[] = [
    ['the expected length', { maxOutput: 399 }, capping(), facts({ outputTokensMax: 399 })],
    ['a stated length', { maxOutput: 500 }, capping({ outputTokens: 501 }), capping({ outputTokens: 500 })],
    ['the least output', { maxOutput: 500 }, capping({ outputTokensMin: 501 }), capping({ outputTokensMin: 500 })],
    ['it without `cap`', { maxOutput: 500 }, facts({ outputTokensMin: 501 }), facts({ outputTokensMin: 500 })],
    ['its reasoning', { maxOutput: 1024, reasoningTokens: 1025 }, capping(), capping({ outputTokensMax: 1024 })],
  ];
  test.each(edges)('is rejected exactly if its maximum is below %s', (_, has, refused, accepted) => {
    const from = snapshot([model('x', has)]);
    expect(refusalOf(from, refused).group).toBe('constraints');
    expect(idsOf(decisionOf(from, accepted), from)).toEqual(['x']);
  });

  test('is capped at its maximum, and named as the reason unless its window leaves less', () => {
    for (const [contextWindow, cap, by] of [
      [100_000, 500, 'model'],
      [900, 400, null],
    ] as const) {
      const from = snapshot([model('x', { maxOutput: 500, contextWindow })]);
      const request = capping({ inputTokens: 500, inputTokensMax: 500 });
      const [choice] = decisionOf(from, request).ranked;
      expect([choice.outputCap, outputCappedBy(choice, from.models[0]!, request)]).toEqual([cap, by]);
    }
  });

  test('is not named as the reason if its window alone, a budget of the request or nothing lowers the cap', () => {
    const from = snapshot([model('x', { maxOutput: 9_000, contextWindow: 2_000 }), model('y', { maxOutput: 500 })]);
    const named = (request: Facts) => {
      const [choice] = decisionOf(from, request).ranked;
      return outputCappedBy(choice, from.models[choice.model]!, request);
    };
    expect(named(capping({ model: 'x', named: ['x'] }))).toBeNull();
    expect(named(capping({ model: 'y', named: ['y'] }))).toBe('model');
    expect(named(capping({ model: 'y', named: ['y'], budget: 3_000_000 }))).toBeNull();
    expect(named(facts({ model: 'y', named: ['y'], outputTokensMax: 500 }))).toBeNull();
  });

  test('is refused when the request names it only for a length that the request states', () => {
    const named = { model: 'x', named: ['x'] };
    const from = snapshot([model('x', { maxOutput: 300, reasoningTokens: 2_000 })]);
    for (const guessed of [{}, { outputTokensAsked: 5_000 }, { outputTokens: 300 }, { outputTokensMin: 300 }]) {
      const request = capping({ ...named, ...guessed });
      const [choice] = decisionOf(from, request).ranked;
      expect([choice.outputCap, outputCappedBy(choice, from.models[0]!, request)]).toEqual([300, 'model']);
    }
    for (const stated of [{ outputTokens: 301 }, { outputTokensMin: 301 }]) {
      expect(refusalOf(from, capping({ ...named, ...stated })).group).toBe('constraints');
    }
  });

  test('is rejected in a decision that was recorded before outputs were capped', () => {
    const one = model('x', { maxOutput: 500 });
    const { gateway } = snapshot([one]);
    const from = snapshot([one], { gateway: { ...gateway, outputAboveMaximum: 'cap' } });
    expect(refusalOf(from, facts({ outputTokensMax: 9_000 })).group).toBe('constraints');
  });

  test('is refused with an error that states the figure above the maximum', () => {
    const errorOf = (has: Parameters<typeof model>[1], request = capping()) => {
      const from = snapshot([model('x', has)]);
      return refusalError(refusalOf(from, request), from).message;
    };
    const reasons = { maxOutput: 1_000, reasoningTokens: 300 };
    expect(errorOf(reasons)).toContain(
      'it needs 1024 tokens to reason and answer, above its maximum of 1000; change max_tokens',
    );
    expect(errorOf({ maxOutput: 50 }, capping({ outputTokensAsked: 40 }))).toContain(
      'it needs 64 tokens for a useful answer, above its maximum of 50;',
    );
    const both = errorOf({ maxOutput: 50 });
    expect(both).toContain('the expected answer (400 tokens) is above its maximum of 50, and it needs 64 tokens');
    expect(both).toEndWith('; change max_tokens from 9000 to 50 to use `x`.');
    expect(errorOf({ maxOutput: 500 }, capping({ outputTokens: 600 }))).toContain(
      'estimated_output_tokens is above its maximum of 500; change estimated_output_tokens from 600 to 500',
    );
  });

  test('is refused with an error that names each field at fault and a value that works', () => {
    const from = snapshot([model('x', { maxOutput: 300 })]);
    const { message } = refusalError(refusalOf(from, capping({ outputTokensMin: 700, funds: funds(null) })), from);
    expect(message).toContain('change min_output_tokens from 700 to 300 and max_tokens from 9000 to 300 to use `x`');
  });
});
