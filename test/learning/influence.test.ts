import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { KeyInfluence } from '../../src/learning/influence.ts';
import { effort } from '../deep/effort.ts';

const { runs: numRuns, seed, proved } = effort('learning', 15, 2_000);
const HOUR = 3_600_000;
const fresh = () => new KeyInfluence({ at: 0, stakes: [] });

const steps = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    times: fc.integer({ min: 1, max: 900 }),
    chats: fc.integer({ min: 0, max: 20 }),
    hours: fc.integer({ min: 0, max: 200 }),
  }),
  { maxLength: 20 },
);

describe('the influence of one key', () => {
  const isBounded = (make: () => KeyInfluence) =>
    fc.property(steps, fc.constantFrom(0, 0.2, 0.5, 0.9), (given, most) => {
      const influence = make();
      let now = 0;
      for (const { key, times, chats, hours } of given) {
        now += hours * HOUR;
        for (let i = 0; i < chats; i++) influence.noteChat(key, now);
        for (let i = 0; i < times; i++) {
          // Computed from its own sums.
          const bound = boundOf(influence, key, most);
          const before = influence.mass(key);
          const admitted = influence.admit(key, 1, most, now);
          if (admitted < 0 || admitted > 1) return false;
          if (admitted > 0 && hours === 0 && influence.mass(key) > Math.max(bound, before) + 1e-6) return false;
        }
      }
      return true;
    });

  /** A second implementation of the rule. */
  function boundOf(influence: KeyInfluence, key: string, most: number): number {
    const { stakes } = influence.sums;
    const own = stakes.find(([name]) => name === key) ?? [key, 0, 0];
    const others = stakes.filter(([name]) => name !== key);
    const sum = (at: 1 | 2) => others.reduce((total, stake) => total + stake[at], 0);
    if (sum(1) < 0.01 && sum(2) < 0.01) return Number.POSITIVE_INFINITY;
    const chats = own[2] + sum(2);
    const ofOthers = (most / (1 - most)) * sum(1);
    return 100 + (chats > 0 && own[2] / chats > most ? Math.max(ofOthers, own[2]) : ofOthers);
  }

  test('is bounded by the others, whatever the key sends', () => {
    fc.assert(isBounded(fresh), { numRuns, seed });
    proved('chats and outcomes of several keys in any order: none teaches more than its bound');
    class Unbounded extends KeyInfluence {
      override bound(): number {
        return Number.POSITIVE_INFINITY;
      }
    }
    const mutant = isBounded(() => new Unbounded({ at: 0, stakes: [] }));
    expect(fc.check(mutant, { seed: 7, numRuns: 200, endOnFailure: true }).failed).toBe(true);
  });

  test('does not shrink under a flood by another key', () => {
    const property = fc.property(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 600 }), (flood, own) => {
      const calm = fresh();
      const flooded = fresh();
      for (const one of [calm, flooded]) one.admit('other', 1, 0.5, 0);
      for (let i = 0; i < flood; i++) flooded.admit('attacker', 1, 0.5, 0);
      let inCalm = 0;
      let inFlood = 0;
      for (let i = 0; i < own; i++) {
        inCalm += calm.admit('honest', 1, 0.5, 0);
        inFlood += flooded.admit('honest', 1, 0.5, 0);
      }
      return inFlood >= inCalm - 1e-9;
    });
    fc.assert(property, { numRuns: 40 });
  });

  test('is an allowance, then a share of the others’ influence', () => {
    const influence = fresh();
    influence.admit('other', 1, 0.5, 0);
    let admitted = 0;
    for (let i = 0; i < 1_000; i++) admitted += influence.admit('attacker', 0.7, 0.5, 0);
    expect(admitted).toBeCloseTo(101, 6);
    for (let i = 0; i < 100; i++) influence.admit('other', 1, 0.5, 0);
    for (let i = 0; i < 1_000; i++) admitted += influence.admit('attacker', 0.7, 0.5, 0);
    expect(admitted).toBeCloseTo(201, 6);
  });

  test('grows with a majority of the chats, and has no bound for a key that is alone', () => {
    const influence = fresh();
    for (let i = 0; i < 2_000; i++) influence.admit('big', 1, 0, 0);
    expect(influence.mass('big')).toBe(2_000);
    for (let i = 0; i < 900; i++) influence.noteChat('big', 0);
    for (let i = 0; i < 3_000; i++) influence.noteChat('most', 0);
    for (let i = 0; i < 4_000; i++) influence.admit('most', 1, 0.25, 0);
    expect(influence.mass('most')).toBeCloseTo(3_100, 6);
    for (let i = 0; i < 100; i++) influence.noteChat('small', 0);
    for (let i = 0; i < 4_000; i++) influence.admit('small', 1, 0.25, 0);
    expect(influence.mass('small')).toBeCloseTo(100 + 5_100 / 3, 6);
  });

  test('is shared by all wallets', () => {
    const influence = fresh();
    influence.admit('other', 1, 0.5, 0);
    let admitted = 0;
    for (let i = 0; i < 500; i++) {
      const wallet = `0x${i.toString(16).padStart(40, '0')}`;
      admitted += influence.admit(wallet, 1, 0.5, 0);
    }
    expect(admitted).toBeCloseTo(101, 6);
  });

  test('halves in a week', () => {
    const influence = fresh();
    for (let i = 0; i < 100; i++) influence.admit('a', 1, 0.5, 0);
    influence.noteChat('b', 168 * HOUR);
    expect(influence.mass('a')).toBeCloseTo(50, 9);
    influence.noteChat('b', 40 * 168 * HOUR);
    expect(influence.sums.stakes.map(([key]) => key)).toEqual(['b']);
  });

  test('covers a bounded number of keys; the rest share one', () => {
    const influence = fresh();
    for (let i = 0; i < 6_000; i++) influence.admit(`key ${i}`, 1, 0, 0);
    expect(influence.sums.stakes.length).toBe(4_096);
    expect(influence.mass('key 5999')).toBeGreaterThan(99);
    expect(influence.mass('key 5999')).toBeLessThanOrEqual(100);
  });
});
