import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts, tryFor } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import type { FundTitle } from '../../src/core/accounting/fund.ts';
import { type Decision, REJECTIONS } from '../../src/core/decision/decision.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { byReason, type FallbackLists, listedModels, REASON_NAMES } from '../../src/core/request/fallbacks.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { AvailableFunds } from '../../src/ledger/available-funds.ts';
import { buildRuntime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { effort } from '../deep/effort.ts';
import { loadText, snapshotOf } from '../policy/support.ts';
import { chatRequest } from '../support/model-request.ts';

const { runs, seed } = effort('fallback-lists', 50, 5_000);
const ids = ['a', 'b', 'c', 'd', 'e'];

/** Models that differ in window, price and capabilities, and rules of which some read the name in the request. */
const policy = (lists: string) => `version: 1
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
  lists: fc.record(byReason(() => list)),
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

/** Returns the policy of a trial, its request, and the facts of the same request for another model. */
function staged(one: Trial) {
  const stated = REASON_NAMES.map((reason) => `${reason}: [${one.lists[reason].join(', ')}]`).join(', ');
  const runtime = buildRuntime(snapshotOf(loadText(policy(`{ ${stated} }`))), createRegistry(shipped), {
    get: () => 'a-key-of-the-test',
  });
  const factsFor = (model: string, sent: readonly string[] | null) => {
    const body = {
      model,
      messages: [{ role: 'user' as const, content: one.isLong ? '1 2 3 4 '.repeat(3_000) : 'Hello!' }],
      max_tokens: one.tokens,
      ...(one.needsTools && { tools }),
      ...(one.ceiling !== null && { constraints: { max_cost_credits: one.ceiling } }),
      ...(sent && { fallbacks: sent }),
    };
    const caller = { ...OPERATOR, models: one.models && new Set(one.models) };
    return hypotheticalFacts({ request: chatRequest(body), caller, timeMs: Date.parse(USUAL_TIME) }, runtime);
  };
  const allowed = one.sent?.filter((id) => one.models?.includes(id) ?? true) ?? null;
  return { runtime, factsFor, request: factsFor(one.model, allowed) };
}

/** A listed order never yields a model that the same request could not have got by naming it. */
const law = (change: (facts: Facts, one: Trial) => Facts = (facts) => facts) =>
  fc.property(trial, (one) => {
    const { runtime, factsFor, request } = staged(one);
    const outcome = decideFor(change(request, one), runtime);
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

/** Trials in which the named model is often left out, because the prompt is too long or the key may not use it. */
const leftOut = fc.tuple(trial, fc.boolean()).map(([one, isDenied]) => ({
  ...{ ...one, model: 'a' as const, needsTools: false, tokens: 200 as const, ceiling: null },
  denied: isDenied ? { deniedModels: ['a'] } : {},
}));

/** A decision names the model of the request exactly if another model comes first, with a reason for which that model alone is refused. */
const reasonLaw = (change: (decision: Decision) => Decision = (decision) => decision, count = () => {}) =>
  fc.property(leftOut, ({ denied, ...one }) => {
    const { runtime, factsFor, request } = staged(one);
    const outcome = decideFor({ ...request, ...denied }, runtime);
    if (isRefusal(outcome)) return;
    const { insteadOf, reason, ranked } = change(outcome);
    const isFallback = runtime.snapshot.models[ranked[0].model]!.id !== 'a';
    expect([insteadOf?.model, reason.endsWith(':fallback')]).toEqual([isFallback ? 'a' : undefined, isFallback]);
    if (!isFallback) return;
    count();
    const { fallbacks: _, ...others } = factsFor('a', null);
    const alone = decideFor({ ...others, named: ['a'], ...denied }, runtime);
    const against = isRefusal(alone) ? alone.rejected.find(({ model }) => model === 0) : undefined;
    const rule = Object.entries(REJECTIONS).find(([kind]) => kind === insteadOf?.reason)?.[1];
    expect((against?.rejections ?? 0) & (rule?.bit ?? 0)).not.toBe(0);
  });

test('a decision names the model that a fallback stands in for, with a reason for which that model alone is refused', () => {
  let counted = 0;
  const law = reasonLaw(undefined, () => counted++);
  fc.assert(law, { numRuns: runs, seed });
  expect(counted).toBeGreaterThan(5);
  const MUTANTS: readonly ((decision: Decision) => Decision)[] = [
    ({ insteadOf: _, ...decision }) => decision,
    (decision) => ({ ...decision, reason: 'pinned' }),
    ({ insteadOf, ...decision }) => ({
      ...decision,
      ...(insteadOf && { insteadOf: { ...insteadOf, reason: 'thread' } }),
    }),
  ];
  for (const mutant of MUTANTS)
    expect(fc.check(reasonLaw(mutant), { numRuns: 300, seed, endOnFailure: true }).failed).toBe(true);
});

const money = fc.record({
  sent: fc.uniqueArray(fc.constantFrom('a' as const, 'd' as const), { maxLength: 2 }),
  action: fc.constantFrom('cap' as const, 'downgrade' as const, 'reject' as const),
  unspent: fc.integer({ min: 0, max: 12_000_000 }),
  held: fc.integer({ min: 0, max: 600_000 }),
});
type Budget = Pick<typeof money extends fc.Arbitrary<infer One> ? One : never, 'action' | 'unspent' | 'held'>;

/** Returns the money of a caller with one budget. */
function fundsOf({ action, unspent, held }: Budget): AvailableFunds {
  const title: FundTitle = {
    kind: 'budget',
    name: 'b',
    subject: '',
    definition: '',
    window: 'day',
    starts: 0,
    ends: 1,
  };
  const drawn = { key: 'b', title, budget: 0, limit: unspent, onExhausted: action, reached: () => null };
  const standing = { title, limit: unspent, spent: 0, held, free: Math.max(0, unspent - held), unspent, ageMs: 0 };
  return new AvailableFunds([drawn], [standing], true);
}

/** A request that every model could serve if money were no limit. */
const PLAIN: Trial = {
  ...{ lists: byReason(() => []), model: 'a', sent: null, models: null },
  ...{ isLong: false, needsTools: false, tokens: 200, ceiling: null },
};

const { runtime, factsFor } = staged(PLAIN);

/** Too little money for a named model refuses a request only if none of its fallbacks fits, whatever the budget does. */
const moneyLaw = (change: (funds: AvailableFunds) => AvailableFunds = (funds) => funds, count = () => {}) =>
  fc.property(money, ({ sent, ...budget }) => {
    const triedFor = (model: string, fallbacks: readonly string[], funds: AvailableFunds) =>
      tryFor(factsFor(model, fallbacks), runtime, { funds });
    if (triedFor('e', sent, change(fundsOf(budget))).shortage === null) return;
    for (const id of ['e', ...sent]) {
      const { outcome, shortage } = triedFor(id, [], fundsOf(budget));
      expect(isRefusal(outcome) || shortage !== null).toBe(true);
    }
    count();
  });

test('a request is refused for lack of money only if neither its model nor a fallback fits, with each action of a budget', () => {
  let counted = 0;
  const law = moneyLaw(undefined, () => counted++);
  fc.assert(law, { numRuns: runs, seed });
  expect(counted).toBeGreaterThan(5);
  const lenient = (funds: AvailableFunds) => Object.defineProperty(funds, 'strictTerms', { value: [] });
  expect(fc.check(moneyLaw(lenient), { numRuns: 300, seed, endOnFailure: true }).failed).toBe(true);
});
