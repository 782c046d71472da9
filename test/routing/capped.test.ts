import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { priorReadings } from '../../src/core/decision/readings.ts';
import { costBound } from '../../src/core/money/price.ts';
import type { Model, PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { raisedWay } from '../../src/gateway/money/raised-way.ts';
import type { Upstream } from '../../src/policy/runtime/upstream.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { ampleCase, outputCap, taskOf, usefulOutput, withinFunds } from '../../src/routing/estimate.ts';
import { inputBound } from '../../src/routing/input-tokens.ts';
import { tries } from '../deep/effort.ts';
import { facts, model, outcomeOf, snapshot } from './build.ts';
import { type World, worlds } from './worlds.ts';

/** The first upstream of a model, as far as money reads it. */
const upstreamOf = (model: Model) => ({ model, at: 0, endpoint: model.endpoints[0] }) as Upstream;

/** A request for a model, and an amount close to the worst-case cost of some output of the model. */
interface Purse extends World {
  readonly model: Model;
  readonly amount: number;
}

const costOf = (model: Model, at: number, facts: Facts, output: number): number =>
  costBound(model.endpoints[at]!, inputBound(model, facts)!, output * facts.choices);

const isBounded = (model: Model, facts: Facts) => inputBound(model, facts) !== null;

const usefulOf = (model: Model, facts: Facts, snapshot: PolicySnapshot, cap: number) =>
  Math.min(cap, usefulOutput(model, facts, taskOf(facts, snapshot)));

const purses: fc.Arbitrary<Purse> = fc
  .tuple(worlds, fc.nat(), fc.double({ min: 0, max: 1.1, noNaN: true }), fc.boolean(), fc.integer({ min: -1, max: 1 }))
  .filter(([{ snapshot, facts }]) => snapshot.models.every((model) => isBounded(model, facts)))
  .map(([{ snapshot, facts }, pick, share, isUseful, off]) => {
    const model = snapshot.models[pick % snapshot.models.length]!;
    const cap = outputCap(model, facts);
    // Only a few output lengths are useful but not complete, so half of the amounts are chosen close to one of them.
    const from = isUseful ? usefulOf(model, facts, snapshot, cap) : 0;
    const output = Math.floor(from + share * (cap - from));
    const amount = Math.max(0, costOf(model, pick % model.endpoints.length, facts, output) + off);
    return { snapshot, facts: { ...facts, budget: null }, model, amount };
  });

const cappedAt = (facts: Facts, unspent: number): Facts => ({
  ...facts,
  funds: { free: null, cap: { by: 'purse', unspent } },
});

/**
 * If the whole output fits the amount, the result is the whole model. If not, the result is the endpoints that can pay for a useful output,
 * each with the longest output that the amount pays for.
 */
function modelLaw(within: typeof withinFunds) {
  return fc.property(purses, ({ snapshot, facts: asked, model, amount }) => {
    const facts = cappedAt(asked, amount);
    const cap = outputCap(model, facts);
    const useful = usefulOf(model, facts, snapshot, cap);
    const all = model.endpoints.map((_, at) => at);
    const found = within(model, all, facts, taskOf(facts, snapshot), cap);
    if (all.every((at) => costOf(model, at, facts, cap) <= amount)) {
      expect(found).toBeNull();
      return;
    }
    expect(found!.endpoints).toEqual(all.filter((at) => costOf(model, at, facts, useful) <= amount));
    if (found!.endpoints.length === 0) return;
    const costTo = (output: number) => Math.max(...found!.endpoints.map((at) => costOf(model, at, facts, output)));
    expect(found!.cap).toBeGreaterThanOrEqual(useful);
    expect(found!.cap).toBeLessThanOrEqual(cap);
    expect(costTo(found!.cap)).toBeLessThanOrEqual(amount);
    if (found!.cap < cap) expect(costTo(found!.cap + 1)).toBeGreaterThan(amount);
  });
}

const misreadings: Readonly<Record<string, typeof withinFunds>> = {
  'a cap that is one token too high': (...asked) => {
    const found = withinFunds(...asked);
    return found && { ...found, cap: Math.min(asked[4], found.cap + 1) };
  },
  'a cap although the worst case fits': (...asked) =>
    withinFunds(...asked) ?? { endpoints: asked[1], cap: asked[4] - 1 },
  'a cap below the minimum useful output': (model, all, facts, task, cap) =>
    withinFunds(model, all, facts, { ...task, minUsefulOutput: 1 }, cap),
  'a cap that only considers the first endpoint': (model, all, facts, task, cap) => {
    const found = withinFunds(model, all, facts, task, cap);
    return (
      found && { endpoints: found.endpoints, cap: withinFunds(model, all.slice(0, 1), facts, task, cap)?.cap ?? cap }
    );
  },
};

describe('the output that a fund can pay for', () => {
  const runs = tries('the output that a fund pays of a model', 600, 40_000);
  test('is the whole output if it fits, otherwise as much as possible from the minimum useful output on', () =>
    fc.assert(modelLaw(withinFunds), runs));

  test.each(Object.entries(misreadings))('the law catches %s', (_, misreading) => {
    expect(fc.check(modelLaw(misreading), { numRuns: 4_000, endOnFailure: true }).failed).toBe(true);
  });
});

test('an attempt requests no more output than its hold pays for, and no less than the minimum useful output', async () => {
  const counts = { capped: 0, none: 0 };
  const law = fc.asyncProperty(purses, fc.boolean(), async ({ snapshot, facts: asked, model, amount }, caps) => {
    const facts = caps ? cappedAt(asked, Number.MAX_SAFE_INTEGER) : asked;
    const cap = outputCap(model, facts);
    const whole = costOf(model, 0, facts, cap);
    if (whole <= amount) return;
    const index = snapshot.models.indexOf(model);
    const rest = { share: 1, quality: 1, costCredits: 1, latencyMs: 1, utility: 1, tokens: 1, cappedBy: null };
    const ranked = { model: index, ...rest, outputCap: cap, endpoints: [0], bound: whole };
    const asks: (readonly [number[], number?])[] = [];
    const raise = async (amounts: readonly number[], least?: number) => asks.push([[...amounts], least]) > 9;
    const hold = { left: amount, reserved: amount, grows: false, raise };
    const readings = priorReadings(snapshot);
    const decision = { facts, readings, ranked: [ranked] as const };
    const decided = { decision, runtime: { snapshot } };
    const way = await raisedWay(decided, hold, { ranked, upstream: upstreamOf(model) }, whole - amount);
    const useful = usefulOf(model, facts, snapshot, cap);
    const pays = caps && costOf(model, 0, facts, useful) <= amount;
    counts[pays ? 'capped' : 'none']++;
    // The choice has already used its part of the free amount.
    const least = (caps ? costOf(model, 0, facts, useful) : whole) - amount;
    const ample = caps ? ampleCase(model, [0], facts, snapshot, readings, cap) - amount : Number.POSITIVE_INFINITY;
    expect(asks).toEqual(pays ? [] : [[[Math.min(whole - amount, ample), whole - amount], least]]);
    expect(way === null).toBe(!pays);
    if (!way) return;
    expect(way.ranked.outputCap).toBeGreaterThanOrEqual(useful);
    expect(costOf(model, 0, facts, way.ranked.outputCap)).toBeLessThanOrEqual(amount);
    expect(costOf(model, 0, facts, way.ranked.outputCap + 1)).toBeGreaterThan(amount);
    expect(way.ranked.cappedBy).toBe('purse');
  });
  await fc.assert(law, tries('an attempt is asked for no more than its hold pays', 1_200, 40_000));
  console.log('attempts within a hold:', JSON.stringify(counts));
  expect(Math.min(counts.capped, counts.none)).toBeGreaterThan(5);
});

test('a fund changes no decision if the worst cases fit; otherwise the same model is capped, or a model that can be paid for is chosen', () => {
  const counts = { same: 0, capped: 0, other: 0, refused: 0 };
  const law = fc.property(purses, fc.boolean(), ({ snapshot, facts, amount: some }, paysAll) => {
    const useful = snapshot.models.flatMap((model) =>
      model.endpoints.map((_, at) =>
        costOf(model, at, facts, usefulOf(model, facts, snapshot, outputCap(model, facts))),
      ),
    );
    const amount = paysAll ? Math.max(some, ...useful) : some;
    const free = outcomeOf(snapshot, facts);
    if (isRefusal(free)) return;
    const capped = outcomeOf(snapshot, cappedAt(facts, amount));
    if (isRefusal(capped)) {
      counts.refused++;
      expect(capped.group).toBe('funds');
      return;
    }
    const bounds = snapshot.models.map((model) =>
      Math.max(...model.endpoints.map((_, at) => costOf(model, at, facts, outputCap(model, facts)))),
    );
    if (bounds.every((bound) => bound <= amount)) {
      counts.same++;
      expect({ ...capped, facts }).toEqual(free);
      return;
    }
    for (const { model: at, outputCap: cap, cappedBy, bound } of capped.ranked) {
      expect(bound).toBeLessThanOrEqual(amount);
      expect(cap).toBeGreaterThanOrEqual(
        usefulOf(snapshot.models[at]!, facts, snapshot, outputCap(snapshot.models[at]!, facts)),
      );
      expect(cappedBy).toBe(cap < outputCap(snapshot.models[at]!, facts) ? 'purse' : null);
    }
    const isPaid = snapshot.models.every((model) => {
      const all = model.endpoints.map((_, at) => at);
      const own = cappedAt(facts, amount);
      const held = withinFunds(model, all, own, taskOf(own, snapshot), outputCap(model, own));
      return held === null || held.endpoints.length === all.length;
    });
    counts[isPaid ? 'capped' : 'other']++;
    // Strategies use quality and expected cost, which a cap does not change.
    if (isPaid) expect(capped.ranked[0].model).toBe(free.ranked[0].model);
  });
  fc.assert(law, tries('a request whose worst cases fit is decided as without the fund', 600, 40_000));
  console.log('capped decisions:', JSON.stringify(counts));
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(5);
});

test('a fallback that exceeds the hold is capped at the output that a raised hold pays for, and dropped if that is too little', async () => {
  const from = snapshot([model('x')]);
  const request = cappedAt(facts(), Number.MAX_SAFE_INTEGER);
  const [x] = from.models;
  const cap = outputCap(x!, request);
  const [least, whole] = [usefulOf(x!, request, from, cap), cap].map((output) => costOf(x!, 0, request, output));
  const rest = {
    share: 1,
    quality: 1,
    costCredits: 1,
    latencyMs: 1,
    utility: 1,
    tokens: 1,
    cappedBy: null,
    endpoints: [0],
  };
  const fallback = { model: 0, ...rest, outputCap: cap, bound: whole! };
  const after = async (gets: (by: number, from: number) => number) => {
    const hold = {
      ...{ left: 1_000, reserved: 1_000, grows: false },
      raise: async (amounts: readonly number[], from = amounts[0]!) => {
        const got = gets(amounts.at(-1)!, from);
        hold.left += got;
        return got >= from;
      },
    };
    const choice = { ...fallback, bound: 1_000 };
    const decided = {
      decision: { facts: request, readings: priorReadings(from), ranked: [choice] as const },
      runtime: { snapshot: from },
    };
    return raisedWay(decided, hold, { ranked: fallback, upstream: upstreamOf(x!) }, whole! - hold.left);
  };
  expect((await after((by) => by))?.ranked).toBe(fallback);
  expect((await after((_, from) => from))?.ranked).toMatchObject({
    outputCap: usefulOf(x!, request, from, cap),
    cappedBy: 'purse',
  });
  const half = await after((by, from) => Math.floor((by + from) / 2));
  expect(costOf(x!, 0, request, half!.ranked.outputCap)).toBeWithin(least! + 1, Math.ceil((whole! + least!) / 2) + 1);
  expect(await after(() => 0)).toBeNull();
});
