import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { FALLBACK_REASONS, type FallbackLists, listedModels } from '../../src/core/request/fallbacks.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { buildRuntime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { effort } from '../deep/effort.ts';
import { loadText, snapshotOf } from '../policy/support.ts';
import { chatRequest } from '../support/model-request.ts';

const { runs, seed } = effort('fallback-lists', 150, 5_000);
const ids = ['a', 'b', 'c', 'd', 'e'];

/** Models that differ in window, price and capabilities, and rules of which some read the name in the request. */
const policy = (lists: string) => `version: 2
providers: { sim: { adapter: simulated } }
models:
${ids
  .map(
    (id, at) => `  ${id}:
    provider: sim
    price: { input: ${1 + 3 * at}, output: ${4 + 9 * at} }
    context_window: ${at % 2 === 0 ? 4096 : 65536}
    max_output: 1024
    capabilities: [${at < 3 ? 'tools' : ''}]
    quality: { default: 0.${9 - at} }${id === 'a' ? `\n    fallbacks: ${lists}` : ''}`,
  )
  .join('\n')}
selectors:
  mine: { strategy: auto, models: { require: 'model.id == "a"' }, fallbacks: ${lists} }
constraints:
  - { name: named-b, when: 'request.model == "b"', require: 'model.id != "b"' }
  - { name: named-c, when: 'request.model == "c"', max_cost_credits: 0.000001 }
  - { name: no-d, when: 'request.max_tokens < 100.0', require: 'model.id != "d"' }
`;

const list = fc.uniqueArray(fc.constantFrom('b', 'c', 'd', 'e'), { maxLength: 4 });
const trial = fc.record({
  lists: fc.record({ error: list, rate_limit: list, context: list, refused: list }),
  model: fc.constantFrom('a', 'mine'),
  sent: fc.option(list),
  models: fc.option(fc.subarray(ids, { minLength: 1 }).map((some) => [...new Set(['a', ...some])])),
  isLong: fc.boolean(),
  needsTools: fc.boolean(),
  tokens: fc.constantFrom(77, 200),
  ceiling: fc.option(fc.constantFrom(0.5, 2, 5)),
});
type Trial = typeof trial extends fc.Arbitrary<infer One> ? One : never;

const tools = [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }];

/** A listed order never yields a model that the same request could not have got by naming it. */
const law = (change: (facts: Facts, one: Trial) => Facts = (facts) => facts) =>
  fc.property(trial, (one) => {
    const stated = FALLBACK_REASONS.map((reason) => `${reason}: [${one.lists[reason].join(', ')}]`).join(', ');
    const runtime = buildRuntime(
      snapshotOf(loadText(policy(`{ ${stated} }`))),
      createRegistry(shipped),
      () => 'a-key-of-the-test',
    );
    const factsFor = (model: string, sent: readonly string[] | null) => {
      const body = {
        model,
        messages: [{ role: 'user' as const, content: one.isLong ? '1 2 3 4 '.repeat(3_000) : 'Hello!' }],
        max_tokens: one.tokens,
        ...(one.needsTools && { tools }),
        ...(one.ceiling !== null && { constraints: { max_cost_credits: one.ceiling } }),
        ...(sent && { fallbacks: sent }),
      };
      const key = { id: 'k', labels: {}, models: one.models, notModels: null };
      return hypotheticalFacts({ request: chatRequest(body), key, timeMs: Date.parse(USUAL_TIME) }, runtime);
    };
    const allowed = one.sent?.filter((id) => one.models?.includes(id) ?? true) ?? null;
    const outcome = decideFor(change(factsFor(one.model, allowed), one), runtime);
    if (isRefusal(outcome)) return;
    for (const { model } of [...outcome.ranked, ...outcome.lastResorts]) {
      const { id } = runtime.snapshot.models[model]!;
      if (one.model === 'mine' && id === 'a') continue;
      const alone = decideFor(factsFor(id, null), runtime);
      expect(isRefusal(alone)).toBe(false);
      if (!isRefusal(alone)) expect(alone.ranked.some((ranked) => ranked.model === model)).toBe(true);
    }
  });

test('a listed order never yields a model that the same request could not have got by naming it', () => {
  fc.assert(law(), { numRuns: runs, seed });
  // An implementation that checks the rules and the key only for the first model breaks the law.
  const unchecked = (facts: Facts, { lists }: Trial): Facts => {
    const all: FallbackLists = { by: 'policy', ...lists };
    const named = facts.named && [facts.named[0]!, ...listedModels(all)];
    return { ...facts, named, allowedModels: null, fallbacks: all };
  };
  expect(fc.check(law(unchecked), { numRuns: 300, seed, endOnFailure: true }).failed).toBe(true);
});
