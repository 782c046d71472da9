import { describe, expect, test } from 'bun:test';
import type { RouteQuery } from '../../src/core/api/route-query.ts';
import type { Decision } from '../../src/core/decision/decision.ts';
import { EVERY_VARIABLE } from '../policy/shipped.ts';
import { shippedPolicy } from '../policy/support.ts';
import { routeFacts } from '../support/chat-body.ts';
import { decisionOf, loaded, prepared, weighted } from './build.ts';

/** The shipped catalog with keys for all providers. The tests call no provider. */
const catalog = loaded(shippedPolicy(), EVERY_VARIABLE);
const caller = { keyId: 'k', scopes: new Set(['route'] as const), labels: {}, models: null, limits: null, budgets: [] };

function decide(query: RouteQuery): Decision {
  const request = routeFacts(query, caller, catalog);
  return decisionOf(catalog, request, request.weights ? weighted : prepared(catalog, query.model ?? 'auto'));
}
const choose = (query: RouteQuery) => {
  const [best] = decide(query).ranked;
  return { ...best, id: catalog.models[best.model]!.id };
};
const weights = (cost_weight: number, quality_weight: number) => ({ route_strategy: { cost_weight, quality_weight } });

const TASKS = catalog.tasks.map(({ name }) => name);
const SELECTORS = ['auto', 'auto-fast', 'auto-cheap'];

describe('the shipped catalog, with all keys,', () => {
  test('gives different models for different tasks, with auto alone and with the three selectors together', () => {
    const chosen = (models: readonly string[]) =>
      new Set(models.flatMap((model) => TASKS.map((task_type) => choose({ model, task_type }).id))).size;
    expect(chosen(['auto'])).toBeGreaterThanOrEqual(2);
    expect(chosen(SELECTORS)).toBeGreaterThanOrEqual(3);
  });

  test('chooses different models for code and for chat', () => {
    expect(choose({ task_type: 'coding' }).id).not.toBe(choose({ task_type: 'chat' }).id);
  });

  test('makes the three selectors differ on most tasks', () => {
    const parted = TASKS.filter(
      (task_type) => new Set(SELECTORS.map((model) => choose({ model, task_type }).id)).size > 1,
    );
    expect(parted.length).toBeGreaterThan(TASKS.length / 2);
  });

  for (const task_type of TASKS) {
    test(`for ${task_type}: auto-cheap is never more expensive and auto-fast never slower than auto`, () => {
      const [auto, fast, cheap] = SELECTORS.map((model) => choose({ model, task_type }));
      expect(cheap!.costCredits).toBeLessThanOrEqual(auto!.costCredits);
      expect(fast!.latencyMs).toBeLessThanOrEqual(auto!.latencyMs);
    });

    test(`for ${task_type}: more weight on quality chooses better and more expensive models`, () => {
      const steps = [weights(1, 0), weights(0.7, 0.3), weights(0.3, 0.7), weights(0, 1)].map((given) =>
        choose({ task_type, ...given }),
      );
      for (const [at, step] of steps.slice(1).entries()) {
        expect(step.quality).toBeGreaterThanOrEqual(steps[at]!.quality);
        expect(step.costCredits).toBeGreaterThanOrEqual(steps[at]!.costCredits);
      }
      // For chats, the cheapest model is as good as the best one after rounding.
      expect(steps[3]!.id === steps[0]!.id).toBe(steps[3]!.quality === steps[0]!.quality);
    });
  }

  test('a better model costs more on at least half of the tasks', () => {
    const parted = TASKS.filter((task_type) => {
      const [cheap, good] = [weights(1, 0), weights(0, 1)].map((given) => choose({ task_type, ...given }));
      return good!.costCredits > cheap!.costCredits;
    });
    expect(parted.length).toBeGreaterThanOrEqual(TASKS.length / 2);
  });

  test('offers only models with vision for vision, and only models with tools for tool use', () => {
    for (const [task_type, capability] of [
      ['vision', 1 << 1],
      ['tool_use', 1 << 0],
    ] as const) {
      for (const { model } of decide({ task_type }).ranked) {
        expect(catalog.models[model]!.capabilities & capability).toBe(capability);
      }
    }
  });

  test('respects ceilings, and chooses another model if the first one exceeds a ceiling', () => {
    const free = choose({ task_type: 'coding', ...weights(0, 1) });
    const cheaper = choose({
      task_type: 'coding',
      ...weights(0, 1),
      constraints: { max_cost_credits: free.costCredits * 0.9 },
    });
    expect(cheaper.costCredits).toBeLessThan(free.costCredits);
    const faster = choose({
      task_type: 'coding',
      ...weights(0, 1),
      constraints: { max_latency_ms: Math.ceil(free.latencyMs) - 1 },
    });
    expect(faster.id).not.toBe(free.id);
  });
});
