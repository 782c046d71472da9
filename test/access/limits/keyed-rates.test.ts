import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { keyedRates } from '../../../src/access/limits/keyed-rates.ts';
import { type RateDemand, rateOrder } from '../../../src/store/rates.ts';

const SECRET = new Uint8Array(32).fill(7);
const demandOf = (subject: string, need: number): RateDemand => ({
  ...{ limit: 'endpoint', subject, unit: 'requests', most: 10, need, ahead: 0, back: 0, held: 0 },
});

test('each demand gets its own grant, and the store gets hashed subjects in its order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.string({ minLength: 24 }), { maxLength: 20 }), async (subjects) => {
      const demands = subjects.map((subject, need) => demandOf(subject, need));
      let stored: readonly RateDemand[] = [];
      const take = async (asked: readonly RateDemand[]) => {
        stored = asked;
        return asked.map(({ need }) => ({ granted: need, ahead: 0, left: 0 }));
      };
      const grants = await keyedRates({ take }, SECRET).take(demands);
      expect(grants.map(({ granted }) => granted)).toEqual(demands.map(({ need }) => need));
      expect(stored.toSorted(rateOrder)).toEqual([...stored]);
      expect(stored.filter(({ subject }) => subjects.includes(subject))).toEqual([]);
    }),
  );
});

test('the hash is the same for all servers with the same secret, and another one with another secret', async () => {
  const hashUnder = async (secret: Uint8Array) => {
    let hash = '';
    const take = async (asked: readonly RateDemand[]) => {
      hash = asked[0]!.subject;
      return [{ granted: 1, ahead: 0, left: 0 }];
    };
    await keyedRates({ take }, secret).take([demandOf('one', 1)]);
    return hash;
  };
  expect(await hashUnder(SECRET)).toBe(await hashUnder(new Uint8Array(SECRET)));
  expect(await hashUnder(SECRET)).not.toBe(await hashUnder(new Uint8Array(32)));
});
