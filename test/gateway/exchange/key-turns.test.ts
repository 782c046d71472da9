import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { inTurn } from '../../../src/gateway/exchange/key-turns.ts';
import type { Upstream } from '../../../src/policy/runtime/upstream.ts';

interface Key {
  readonly weight: number;
  readonly account: string;
}

const PROVIDER = {};
/** Makes the upstreams of a model: one endpoint at a provider with these keys, and then one at a provider with one key. */
const upstreamsOf = (keys: readonly Key[]): Upstream[] =>
  [
    ...keys.map(({ weight, account }, at) => ({
      ...{ at, key: `key ${at}`, account, provider: PROVIDER, pooled: { weight } },
      ...{ endpoint: { upstream: 'm', account: at }, health: { turn: { credit: 0 } } },
    })),
    { at: keys.length, key: 'other', account: 'other', provider: {}, endpoint: { upstream: 'm' } },
  ] as unknown as Upstream[];

type Turns = typeof inTurn;

/** Returns how many of the requests began with each key. */
function countsOf(turns: Turns, keys: readonly Key[], requests: number): number[] {
  const upstreams = upstreamsOf(keys);
  const counts = upstreams.map(() => 0);
  for (let at = 0; at < requests; at++) counts[turns([...upstreams.keys()], upstreams, () => null)[0]!]!++;
  return counts;
}

const key = fc.record({ weight: fc.integer({ min: 1, max: 9 }), account: fc.constantFrom('a', 'b', 'c') });
const keys = fc.array(key, { minLength: 2, maxLength: 8 });

/** At any time, the number of requests of a key differs from its share by less than 1. */
const sharesLaw = (turns: Turns) =>
  fc.property(keys, fc.integer({ min: 1, max: 200 }), (pool, requests) => {
    const total = pool.reduce((sum, { weight }) => sum + weight, 0);
    const counts = countsOf(turns, pool, requests);
    for (const [at, { weight }] of pool.entries()) {
      expect(Math.abs(counts[at]! - (requests * weight) / total)).toBeLessThan(1);
    }
  });

describe('turns of keys', () => {
  test('each key has its share of the requests after any number of requests', () => {
    fc.assert(sharesLaw(inTurn));
    // Keys that take turns without their weights break the law.
    let next = 0;
    const withoutWeights: Turns = (endpoints, upstreams) => {
      const pool = endpoints.filter((at) => upstreams[at]!.pooled);
      const first = pool[next++ % pool.length]!;
      return [first, ...endpoints.filter((at) => at !== first)];
    };
    expect(() => fc.assert(sharesLaw(withoutWeights))).toThrow();
  });

  test('every endpoint is tried once, keys of the account at which the conversation stays first, and other endpoints in their order', () => {
    fc.assert(
      fc.property(keys, fc.constantFrom('a', 'b', 'c', null), fc.integer({ min: 0, max: 20 }), (pool, stay, before) => {
        const upstreams = upstreamsOf(pool);
        const all = [...upstreams.keys()];
        for (let at = 0; at < before; at++) inTurn(all, upstreams, () => null);
        const order = inTurn(all, upstreams, () => stay);
        expect(order.toSorted((one, other) => one - other)).toEqual(all);
        expect(order.at(-1)).toBe(pool.length);
        const mates = pool.filter(({ account }) => account === stay).length;
        expect(order.slice(0, mates).every((at) => pool[at]!.account === stay)).toBe(true);
      }),
    );
  });
});
