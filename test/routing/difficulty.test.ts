import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DIFFICULTIES } from '../../src/core/request/facts.ts';
import { atDifficulty, reasoningFactor, worthFactor } from '../../src/routing/difficulty-effect.ts';
import { quality } from '../../src/tools/conformance/candidates.ts';
import { decisionOf, facts, model, snapshot } from './build.ts';

describe('the effect of difficulty on qualities', () => {
  test('keeps the order of the qualities and their range, at every difficulty', () => {
    fc.assert(
      fc.property(
        fc.array(quality, { minLength: 2, maxLength: 9 }),
        fc.constantFrom(...DIFFICULTIES),
        (shares, one) => {
          const moved = atDifficulty(Float64Array.from(shares), one);
          for (const [at, share] of shares.entries()) {
            expect(moved[at]!).toBeGreaterThanOrEqual(0);
            expect(moved[at]!).toBeLessThanOrEqual(1);
            for (const [other, than] of shares.entries()) {
              if (share <= than) expect(moved[at]!).toBeLessThanOrEqual(moved[other]!);
            }
          }
        },
      ),
    );
  });

  test('is zero for a usual request; an easy request brings models closer, a hard one separates them', () => {
    const shares = Float64Array.of(0.8, 0.95);
    expect(atDifficulty(shares, 'usual')).toBe(shares);
    expect([...atDifficulty(shares, 'easy')].map((share) => share.toFixed(2))).toEqual(['0.95', '0.99']);
    expect([...atDifficulty(Float64Array.of(0, 1), 'easy')]).toEqual([0, 1]);
    expect([...atDifficulty(shares, 'hard')].map((share) => share.toFixed(2))).toEqual(['0.47', '0.81']);
    expect([reasoningFactor('hard'), worthFactor({ difficulty: 'hard' })]).toEqual([2, 2]);
    expect(worthFactor({ difficulty: 'hard', qualityFactor: 6 })).toBe(6);
    expect(reasoningFactor('easy')).toBeLessThan(1);
  });

  test('lets an easy request choose the cheaper of two models', () => {
    const two = snapshot([model('good', { q: 0.95 }), model('fair', { q: 0.8, reasoningTokens: 100 })]);
    const [usual, easy] = (['usual', 'easy'] as const).map(
      (difficulty) => decisionOf(two, facts({ difficulty })).ranked,
    );
    const gap = (ranked: typeof usual) => ranked![0]!.quality - ranked![1]!.quality;
    expect(gap(usual)).toBeCloseTo(0.15, 9);
    expect(gap(easy)).toBeLessThan(0.06);
    const cost = (ranked: typeof usual) => ranked!.find(({ model: at }) => at === 0)!.costCredits;
    expect(cost(easy)).toBeLessThan(cost(usual));
  });
});
