import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Judgements, verdict } from '../../../src/operate/learning/judgements.ts';

type Told = readonly [score: number, declared: number, estimated: number, share?: number, model?: string];

function judged(all: readonly Told[]): Judgements {
  const sums = new Judgements();
  for (const [score, declared, estimated, share = 1, model = 'a'] of all) {
    sums.note({ model, score, declared, weight: share / 2, offered: 0.5 }, estimated);
  }
  return sums;
}

const many = (length: number, of: (i: number) => Told) => judged(Array.from({ length }, (_, i) => of(i))).all;

describe('what is said of scores', () => {
  test('is judged by squared errors, each as much as its score counts', () => {
    const { all, models } = judged([
      [1, 0.5, 0.8],
      [0, 0.5, 0.6, 0.5],
      [1, 0.9, 0.9, 1, 'b'],
    ]);
    expect(all.scores).toBe(3);
    expect(all.score).toBeCloseTo(2 / 2.5, 12);
    expect(all.declaredError).toBeCloseTo((0.25 + 0.5 * 0.25 + 0.01) / 2.5, 12);
    expect(all.estimatedError).toBeCloseTo((0.04 + 0.5 * 0.36 + 0.01) / 2.5, 12);
    expect(all.better).toBeCloseTo(all.declaredError - all.estimatedError, 12);
    expect(models.map(([model, { scores }]) => [model, scores])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  test('has the standard error of a mean of differences', () => {
    // Squared errors differ by .25 and by −.11 in turn, so by .18 from their mean of .07.
    const all = many(100, (i) => (i % 2 ? [1, 0.5, 1] : [0, 0.5, 0.6]));
    expect(all.better).toBeCloseTo(0.07, 12);
    expect(all.error).toBeCloseTo(0.18 / 10, 12);
  });

  test('is told apart by what was said, and bins have what all have together', () => {
    const { bins } = judged([
      [1, 0.9, 0.3],
      [0, 0.9, 1],
    ]);
    expect(bins.map(({ from, declared, estimated }) => [from, declared.scores, estimated.scores])).toEqual([
      [0.2, 0, 1],
      [0.8, 2, 1],
    ]);
    expect(bins[1]!.declared).toEqual({ scores: 2, said: 0.9, score: 0.5 });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const told = fc.tuple(share, share, share, fc.double({ min: 0.01, max: 1, noNaN: true }));
    fc.assert(
      fc.property(fc.array(told, { minLength: 1 }), (list) => {
        const { all, bins: some } = judged(list);
        const sum = (of: (bin: (typeof some)[number]) => number) => some.reduce((total, bin) => total + of(bin), 0);
        expect(sum(({ declared }) => declared.scores)).toBe(all.scores);
        expect(sum(({ estimated }) => estimated.scores)).toBe(all.scores);
        expect(all.better).toBeCloseTo(all.declaredError - all.estimatedError, 9);
        expect(all.error).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test('is put in words only where it is more than chance', () => {
    const helps = (i: number): Told => (i % 2 ? [1, 0.5, 0.9] : [0, 0.5, 0.2]);
    expect(verdict(many(29, helps))).toContain('too few scores to judge');
    expect(verdict(many(30, helps))).toContain('would have helped');
    expect(verdict(many(30, (i) => [helps(i)[0], helps(i)[2], 0.5]))).toContain('would have done harm');
    expect(verdict(many(30, (i) => [i % 2, 0.5, 0.6]))).toContain('no clear difference');
    expect(verdict(many(30, () => [1, 0.5, 0.5]))).toContain('no clear difference');
  });
});
