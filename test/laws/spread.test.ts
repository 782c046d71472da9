import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SPREAD_MODES, type SpreadKey, type SpreadMode } from '../../src/core/policy/spread.ts';
import { newSeed } from '../../src/gateway/request/decide.ts';
import { chooseEndpoint, keyOfSeed, keyOfText, type SpreadCandidate } from '../../src/routing/spread.ts';
import { randomFrom, seedOf, tries } from '../deep/effort.ts';

type Choose = typeof chooseEndpoint;

const endpoint = (name: string, more: Partial<SpreadCandidate> = {}): SpreadCandidate => ({
  salt: keyOfText(name),
  pool: keyOfText(name).low,
  weight: 1,
  priority: 0,
  load: 0,
  latencyMs: 1_000,
  costCredits: 1,
  isWarm: false,
  ...more,
});

const keys = fc
  .tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 2 ** 32 - 1 }))
  .map(([high, low]): SpreadKey => ({ high, low }));
const fleets = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 12 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name) =>
        fc
          .record({
            weight: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100 })),
            priority: fc.integer({ min: 0, max: 2 }),
            load: fc.integer({ min: 0, max: 20 }),
            latencyMs: fc.integer({ min: 1, max: 5 }),
            costCredits: fc.integer({ min: 1, max: 5 }),
            isUnmeasured: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
          })
          .map((figures) => endpoint(name, figures)),
      ),
    ),
  );
const modes = fc.constantFrom(...SPREAD_MODES);
const runs = { ...tries('spread over endpoints', 300, 20_000), endOnFailure: true };

/** Whether a law holds for a way to choose endpoints; the reason if it does not. */
const broken = (property: fc.IProperty<unknown>): string | null => {
  const details = fc.check(property, runs);
  return details.failed ? fc.defaultReportMessage(details) : null;
};

/** The laws of every way to choose an endpoint. */
const LAWS: Readonly<Record<string, (choose: Choose) => string | null>> = {
  'the first group with an endpoint answers, unless a cache saves more': (choose) =>
    broken(
      fc.property(modes, fleets, keys, fc.nat(5), (mode, fleet, key, attempt) => {
        const { at } = choose(mode, fleet, key, attempt);
        expect(fleet[at]!.priority).toBe(Math.min(...fleet.map(({ priority }) => priority)));
      }),
    ),
  'an endpoint without weight answers only if its group has no other': (choose) =>
    broken(
      fc.property(fc.constantFrom<SpreadMode>('weighted', 'least_busy'), fleets, keys, (mode, fleet, key) => {
        const equal = fleet.map((one) => ({ ...one, priority: 0, load: 0 }));
        const { at } = choose(mode, equal, key, 0);
        if (equal.some(({ weight }) => weight > 0)) expect(equal[at]!.weight).toBeGreaterThan(0);
      }),
    ),
  'without the chosen endpoint, only its requests move': (choose) =>
    broken(
      fc.property(fleets, fc.nat(11), keys, (fleet, gone, key) => {
        const equal = fleet.map((one) => ({ ...one, priority: 0, weight: one.weight + 1 }));
        const removed = equal[gone % equal.length]!;
        const left = equal.filter((one) => one !== removed);
        const before = equal[choose('weighted', equal, key, 0).at]!;
        if (left.length === 0 || before === removed) return;
        expect(left[choose('weighted', left, key, 0).at]).toBe(before);
      }),
    ),
  'the order in which the policy lists endpoints does not place a conversation': (choose) =>
    broken(
      fc.property(fleets, keys, (fleet, key) => {
        const equal = fleet.map((one) => ({ ...one, priority: 0, weight: one.weight + 1 }));
        const turned = [...equal].reverse();
        expect(turned[choose('weighted', turned, key, 0).at]).toBe(equal[choose('weighted', equal, key, 0).at]);
      }),
    ),
  'a lighter endpoint never gains requests': (choose) =>
    broken(
      fc.property(fleets, fc.nat(11), keys, (fleet, which, key) => {
        const equal = fleet.map((one) => ({ ...one, priority: 0, weight: one.weight + 2 }));
        const at = which % equal.length;
        const lighter = equal.map((one, index) => (index === at ? { ...one, weight: one.weight / 2 } : one));
        if (choose('weighted', equal, key, 0).at !== at) {
          expect(choose('weighted', lighter, key, 0).at).toBe(choose('weighted', equal, key, 0).at);
        }
      }),
    ),
  'the less busy of two answers': (choose) =>
    broken(
      fc.property(fleets, keys, fc.nat(5), (fleet, key, attempt) => {
        const { at, compared } = choose('least_busy', fleet, key, attempt);
        if (!compared) return;
        const loads = compared.map((one) => fleet[one]!.load);
        expect(fleet[at]!.load).toBe(Math.min(...loads));
        expect(compared[0]).not.toBe(compared[1]);
      }),
    ),
  'an endpoint that has to be measured answers, or else the fastest': (choose) =>
    broken(
      fc.property(fleets, keys, (fleet, key) => {
        const equal = fleet.map((one) => ({ ...one, priority: 0 }));
        const chosen = equal[choose('fastest', equal, key, 0).at]!;
        if (equal.some(({ isUnmeasured }) => isUnmeasured)) expect(chosen.isUnmeasured).toBeTrue();
        else expect(chosen.latencyMs).toBe(Math.min(...equal.map(({ latencyMs }) => latencyMs)));
      }),
    ),
  'only `fastest` measures': (choose) =>
    broken(
      fc.property(modes, fleets, keys, fc.nat(5), (mode, fleet, key, attempt) => {
        if (mode === 'fastest') return;
        const measured = fleet.map((one) => ({ ...one, isUnmeasured: false }));
        expect(choose(mode, fleet, key, attempt)).toEqual(choose(mode, measured, key, attempt));
      }),
    ),
  'the cheapest answers': (choose) =>
    broken(
      fc.property(fleets, keys, (fleet, key) => {
        const equal = fleet.map((one) => ({ ...one, priority: 0 }));
        const cheapest = Math.min(...equal.map(({ costCredits }) => costCredits));
        expect(equal[choose('cheapest', equal, key, 0).at]!.costCredits).toBe(cheapest);
      }),
    ),
  'a conversation leaves its cache only for an endpoint that costs less without one': (choose) =>
    broken(
      fc.property(modes, fleets, fc.nat(11), keys, (mode, fleet, which, key) => {
        if (mode === 'order') return;
        const at = which % fleet.length;
        const warmed = fleet.map((one, index) => ({ ...one, isWarm: index === at }));
        const cold = choose(mode, fleet, key, 0).at;
        const expected = fleet[at]!.costCredits <= fleet[cold]!.costCredits ? at : cold;
        expect(choose(mode, warmed, key, 0).at).toBe(expected);
      }),
    ),
};

/**
 * Whether keys that share a cache are chosen by the mode, as if there were no others, while an endpoint without the cache would be chosen;
 * the reason if not.
 */
const sharedBroken = (choose: Choose): string | null =>
  broken(
    fc.property(modes, fleets, keys, fc.nat(2 ** 12), (mode, fleet, key, mask) => {
      const warm = fleet.filter((_, at) => (mask & (1 << at)) !== 0).map((one) => ({ ...one, costCredits: 0 }));
      if (mode === 'order' || warm.length === 0) return;
      const cold = fleet.map((one) => ({ ...one, salt: keyOfText(`${one.salt.low}`), isWarm: false }));
      const chosen = [...warm.map((one) => ({ ...one, isWarm: true })), ...cold];
      const { at, stays } = choose(mode, chosen, key, 0);
      expect(stays).toBeTrue();
      // If the mode itself chooses a key with the cache among all, the conversation stays there.
      const free = choose(mode, [...warm, ...cold], key, 0).at;
      expect(at).toBe(free < warm.length ? free : choose(mode, warm, key, 0).at);
    }),
  );

/** Whether each endpoint gets its share of new conversations, within 2 % of all; the reason if it does not. */
function sharesBroken(choose: Choose): string | null {
  const fleet = [endpoint('a', { weight: 70 }), endpoint('b', { weight: 25 }), endpoint('c', { weight: 5 })];
  const counts = [0, 0, 0];
  const requests = 20_000;
  for (let sent = 0; sent < requests; sent++) counts[choose('weighted', fleet, keyOfSeed(newSeed()), 0).at]!++;
  const isFair = fleet.every(({ weight }, at) => Math.abs(counts[at]! / requests - weight / 100) < 0.02);
  return isFair ? null : `shares of ${counts.join(', ')}`;
}

/** Whether equal keys of a pool get shares by their weights, within 2 % of all, beside a slower and dearer endpoint; the reason if not. */
function poolBroken(mode: SpreadMode, choose: Choose): string | null {
  const weights = [0.25, 0.25, 0.5];
  const keysOfPool = weights.map((weight, at) => endpoint(`key ${at}`, { weight, pool: 1 }));
  const fleet = [endpoint('other', { pool: 0, latencyMs: 2_000, costCredits: 2 }), ...keysOfPool];
  const counts = [0, 0, 0, 0];
  const requests = 20_000;
  const random = randomFrom(seedOf('keys of a pool'));
  const half = () => Math.floor(random() * 2 ** 32);
  for (let sent = 0; sent < requests; sent++) counts[choose(mode, fleet, { high: half(), low: half() }, 0).at]!++;
  const isFair = [0, ...weights].every((weight, at) => Math.abs(counts[at]! / requests - weight) < 0.02);
  return isFair ? null : `shares of ${counts.join(', ')}`;
}

test.each(['fastest', 'cheapest'] as const)('equal keys of a pool get shares by their weights with `%s`', (mode) => {
  expect(poolBroken(mode, chooseEndpoint)).toBeNull();
});

test('the law of pools rejects a choice that takes the first key', () => {
  const mutant: Choose = (mode, all, key, attempt) =>
    chooseEndpoint(
      mode,
      all.map((one, pool) => ({ ...one, pool })),
      key,
      attempt,
    );
  expect(poolBroken('cheapest', mutant)).not.toBeNull();
});

test('the share of each endpoint is its weight, within 2 % of all requests', () => {
  expect(sharesBroken(chooseEndpoint)).toBeNull();
});

test('the keys of an account that has a conversation in its cache keep the shares of the mode', () => {
  expect(sharedBroken(chooseEndpoint)).toBeNull();
});

test('the law of a shared cache rejects a choice that takes its first key', () => {
  const mutant: Choose = (mode, all, key, attempt) => {
    const first = all.findIndex(({ isWarm }) => isWarm);
    const alone = all.map((one, at) => ({ ...one, isWarm: at === first }));
    return chooseEndpoint(mode, alone, key, attempt);
  };
  expect(sharedBroken(mutant)).not.toBeNull();
});

test('the law of shares rejects a choice that draws by the square root of the weights', () => {
  const mutant: Choose = (mode, all, key, attempt) =>
    chooseEndpoint(
      mode,
      all.map((one) => ({ ...one, weight: Math.sqrt(one.weight) })),
      key,
      attempt,
    );
  expect(sharesBroken(mutant)).not.toBeNull();
});

describe('spreading requests', () => {
  test.each(Object.entries(LAWS))('%s', (_, law) => {
    expect(law(chooseEndpoint)).toBeNull();
  });

  test('an endpoint that is added takes its share, and moves no other conversation', () => {
    const fleet = ['a', 'b', 'c', 'd'].map((name) => endpoint(name));
    const wider = [...fleet, endpoint('e')];
    let moved = 0;
    for (let turn = 0; turn < 5_000; turn++) {
      const key = keyOfSeed(newSeed());
      const after = wider[chooseEndpoint('weighted', wider, key, 0).at]!;
      if (after !== fleet[chooseEndpoint('weighted', fleet, key, 0).at]) {
        expect(after).toBe(wider[4]!);
        moved++;
      }
    }
    expect(Math.abs(moved / 5_000 - 1 / 5)).toBeLessThan(0.03);
  });

  test('two choices keep the busiest endpoint far below a random one', () => {
    const busiest = (mode: SpreadMode) => {
      const running = new Array<number>(10).fill(0);
      for (let sent = 0; sent < 1_000; sent++) {
        const fleet = running.map((load, at) => endpoint(`e${at}`, { load }));
        running[chooseEndpoint(mode, fleet, keyOfSeed(newSeed()), 0).at]!++;
      }
      return Math.max(...running);
    };
    expect(busiest('least_busy')).toBeLessThan(busiest('weighted'));
  });
});

const MUTANTS: Readonly<Record<string, Choose>> = {
  'forgets the groups': (mode, all, key, attempt) =>
    chooseEndpoint(
      mode,
      all.map((one) => ({ ...one, priority: 0 })),
      key,
      attempt,
    ),
  'places by the remainder of a division': (mode, all, key, attempt) =>
    mode === 'weighted'
      ? { at: key.low % all.length, compared: null, stays: false }
      : chooseEndpoint(mode, all, key, attempt),
  'takes the busier of two': (mode, all, key, attempt) =>
    chooseEndpoint(
      mode,
      all.map((one) => ({ ...one, load: -one.load })),
      key,
      attempt,
    ),
  'never tries an endpoint that was not measured': (mode, all, key, attempt) =>
    chooseEndpoint(
      mode,
      all.map((one) => ({ ...one, isUnmeasured: false })),
      key,
      attempt,
    ),
  'leaves every cache': (mode, all, key, attempt) =>
    chooseEndpoint(
      mode,
      all.map((one) => ({ ...one, isWarm: false })),
      key,
      attempt,
    ),
  'never leaves a cache': (mode, all, key, attempt) => {
    const warm = all.findIndex(({ isWarm }) => isWarm);
    return warm < 0 ? chooseEndpoint(mode, all, key, attempt) : { at: warm, compared: null, stays: true };
  },
};

test.each(Object.entries(MUTANTS))('the laws of spreading reject a choice that %s', (_, mutant) => {
  expect(Object.values(LAWS).some((law) => law(mutant) !== null)).toBeTrue();
});
