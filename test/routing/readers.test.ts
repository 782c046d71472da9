import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Decision, REJECTIONS, type Refusal } from '../../src/core/decision/decision.ts';
import { HEALTH, priorReadings } from '../../src/core/decision/readings.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { createDecider, type DecisionContext, isRefusal } from '../../src/routing/decide.ts';
import { byQuality, facts, model, snapshot } from './build.ts';

/** Models that can read the reasoning of the pending tool calls are chosen first. If there are none, the reasoning is ignored. */
const IDS = ['a', 'b', 'c', 'd', 'e'];
const trials = fc.record({
  qualities: fc.array(fc.constantFrom(0.2, 0.5, 0.9), { minLength: 5, maxLength: 5 }),
  readers: fc.subarray(IDS, { minLength: 1, maxLength: 4 }),
  /** Models that the key may use. */
  allowed: fc.subarray(IDS, { minLength: 1 }),
  ejected: fc.subarray(IDS),
  alternatives: fc.integer({ min: 0, max: 3 }),
});

type Decides = (facts: Facts, context: DecisionContext) => Decision | Refusal;
const seen = { readers: 0, without: 0, resorts: 0 };

function lawOf(change: (decides: Decides) => Decides): void {
  const law = fc.property(trials, ({ qualities, readers, allowed, ejected, alternatives }) => {
    const plain = snapshot(IDS.map((id, at) => model(id, { q: qualities[at]! })));
    const from = { ...plain, gateway: { ...plain.gateway, alternatives } };
    const prior = priorReadings(from);
    const health = Uint8Array.from(prior.health, (_, at) =>
      ejected.includes(IDS[at]!) ? HEALTH.ejected : HEALTH.healthy,
    );
    const readings = { ...prior, number: 1, health, allHealthy: ejected.length === 0 };
    const given = { id: 7, seed: '0', strategy: byQuality, reason: 'test', readings };
    const decider = createDecider(from);
    const decide = change((request, context) => decider.decide(request, context));
    const outcome = decide(facts({ allowedModels: allowed, readers }), given);
    const ofReaders = allowed.filter((id) => readers.includes(id));
    const isRead = ofReaders.some((id) => !ejected.includes(id));
    // The decision as if the other models did not exist, or as if there were no reasoning.
    const alone = decider.decide(facts({ allowedModels: isRead ? ofReaders : allowed }), given);
    if (isRefusal(outcome) || isRefusal(alone)) throw new Error('one model is allowed, so one is chosen');
    expect(outcome.ranked).toEqual(alone.ranked);
    expect(outcome.facts.readers).toEqual(isRead ? readers : undefined);
    const open = decider.decide(facts({ allowedModels: allowed }), given) as Decision;
    // The models that would be tried without the reasoning are also tried with it, after the models that can read it.
    const others = [...open.ranked, ...open.lastResorts].filter(({ model: at }) => !readers.includes(IDS[at]!));
    const unread = isRead ? outcome.lastResorts.slice(alone.lastResorts.length) : [];
    expect(unread).toEqual(isRead && alternatives > 0 ? others : []);
    // The decision is repeated from its own facts.
    const again = decider.decide(outcome.facts, given) as Decision;
    expect([again.ranked, again.lastResorts]).toEqual([outcome.ranked, outcome.lastResorts]);
    seen[isRead ? 'readers' : 'without']++;
    if (unread.length > 0) seen.resorts++;
  });
  fc.assert(law, { numRuns: 500 });
}

test('if a model that can read the reasoning is healthy, Signalbox chooses only among such models, and tries other models after them', () => {
  lawOf((decide) => decide);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(30);
});

test('the test detects a decider that always chooses the best model, chooses none, or tries no other model after the readers', () => {
  expect(() =>
    lawOf(
      (decide) =>
        ({ readers: _, ...open }, given) =>
          decide(open, given),
    ),
  ).toThrow();
  const strict =
    (decide: Decides): Decides =>
    (request, given) =>
      decide({ ...request, allowedModels: request.readers ?? null }, given);
  expect(() => lawOf(strict)).toThrow();
  expect(() =>
    lawOf((decide) => (request, given) => {
      const outcome = decide(request, given);
      return isRefusal(outcome) ? outcome : { ...outcome, lastResorts: [] };
    }),
  ).toThrow();
});

test('a model that cannot read the reasoning is rejected with that reason', () => {
  const from = snapshot([model('a', { q: 0.5 }), model('b', { q: 0.9 })]);
  const decider = createDecider(from);
  decider.decide(facts({ readers: ['a'] }), { id: 7, seed: '0', strategy: byQuality, reason: 'test' });
  const at = Object.keys(REJECTIONS).indexOf('thoughts');
  expect(decider.rejections[at]).toBe(1);
});
