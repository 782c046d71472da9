import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SIGNALS, type Signal } from '../../src/core/learning-policy.ts';
import type { AnswerSignals } from '../../src/learning/answer.ts';
import { judge, SignalRates } from '../../src/learning/checks.ts';

const WEIGHTS = { schema: 1, tool_arguments: 1, refusal: 0.5, empty: 0.5, retry: 0.2 };
const LOOKS = ['schema', 'tool_arguments', 'refusal', 'empty'] as const;

const weights = fc.record(
  Object.fromEntries(SIGNALS.map((signal) => [signal, fc.double({ min: 0, max: 1, noNaN: true })])),
);
const rates = fc.record(
  Object.fromEntries(SIGNALS.map((signal) => [signal, fc.double({ min: 0.001, max: 2, noNaN: true })])),
);
const worlds = fc.record({
  weights: weights as fc.Arbitrary<Record<Signal, number>>,
  rates: rates as fc.Arbitrary<Record<Signal, number>>,
  looked: fc.subarray([...LOOKS], { minLength: 1 }),
  quality: fc.double({ min: 0.03, max: 0.97, noNaN: true }),
});
type World = typeof worlds extends fc.Arbitrary<infer W> ? W : never;
type Judge = typeof judge;

/** The expected move of a model's mean if bad answers show signals at the assumed rates. */
function drift(judged: Judge, { weights, rates, looked, quality }: World): number {
  const of = { of: (signal: Signal) => rates[signal] };
  const shift = (witnessed: AnswerSignals) => {
    const verdict = judged(witnessed, weights, of, quality);
    return verdict ? verdict.weight * (verdict.score - quality) : 0;
  };
  const none: AnswerSignals = Object.fromEntries(looked.map((signal) => [signal, false]));
  let shown = 0;
  let sum = 0;
  for (const signal of looked) {
    // Signals without a weight are not checked.
    if (weights[signal] === 0) continue;
    const chance = (1 - quality) * rates[signal];
    shown += chance;
    sum += chance * shift({ ...none, [signal]: true });
  }
  sum += (1 - quality) * rates.retry * shift({ retry: true });
  return sum + (1 - shown) * shift(none);
}

/** Rates within the bounds, and checks that can be told from retries. */
const isOrdinary = ({ rates, looked, quality }: World) =>
  (1 - quality) * looked.reduce((sum, signal) => sum + rates[signal], 0) <= 0.9 &&
  looked.reduce((sum, signal) => sum + rates[signal], rates.retry) * (1 + quality) <= 1;

describe('a check of an answer', () => {
  const stays = (judged: Judge) =>
    fc.property(worlds.filter(isOrdinary), (world) => Math.abs(drift(judged, world)) < 1e-9);

  test('leaves the mean in place while models fail at the usual rate', () => {
    fc.assert(stays(judge));
    const withoutPasses: Judge = (witnessed, ...rest) => {
      const verdict = judge(witnessed, ...rest);
      return verdict?.blamed === null ? null : verdict;
    };
    const passesAsGood: Judge = (witnessed, ...rest) => {
      const verdict = judge(witnessed, ...rest);
      return verdict?.blamed === null ? { ...verdict, score: 1 } : verdict;
    };
    for (const mutant of [withoutPasses, passesAsGood]) {
      expect(fc.check(stays(mutant), { seed: 1 }).failed).toBe(true);
    }
  });

  test('counts as at most one outcome, whatever the figures', () => {
    const bounded = fc.property(worlds, fc.subarray([...LOOKS]), ({ weights, rates, looked, quality }, shown) => {
      const witnessed: AnswerSignals = Object.fromEntries(looked.map((signal) => [signal, shown.includes(signal)]));
      const verdict = judge(witnessed, weights, { of: (signal) => rates[signal] }, quality);
      if (!verdict) return true;
      const { score, weight } = verdict;
      return weight > 0 && weight <= 1 && score >= 0 && score <= 1 && (verdict.blamed ? score === 0 : score >= quality);
    });
    fc.assert(bounded);
  });

  test('reports the signal with the most weight, and skips those that the policy disables', () => {
    const rates = new SignalRates();
    const all: AnswerSignals = { schema: true, refusal: true, empty: true };
    expect(judge(all, WEIGHTS, rates, 0.8)).toMatchObject({ blamed: 'schema', score: 0, weight: 1 });
    expect(judge(all, { ...WEIGHTS, schema: 0 }, rates, 0.8)).toMatchObject({ blamed: 'refusal', weight: 0.5 });
    const nothing = { schema: 0, tool_arguments: 0, refusal: 0, empty: 0, retry: 0 };
    expect(judge(all, nothing, rates, 0.8)).toBeNull();
    expect(judge({ retry: true }, WEIGHTS, rates, 0.8)).toMatchObject({ source: 'retry', score: 0, weight: 0.2 });
    expect(judge({ retry: false }, WEIGHTS, rates, 0.8)).toBeNull();
  });

  test('lowers a model that fails more often, and no other', () => {
    const rates = new SignalRates();
    const quality = { good: 0.8, bad: 0.8 };
    const failing = { good: 0.03, bad: 0.3 };
    // Fixed shares of failing answers make this deterministic.
    const owed = { good: 0, bad: 0 };
    for (let round = 0; round < 4_000; round++) {
      // One bad model in ten.
      const name = round % 10 === 0 ? 'bad' : 'good';
      owed[name] += failing[name];
      const isShown = owed[name] >= 1;
      if (isShown) owed[name]--;
      const verdict = judge({ schema: isShown, empty: false }, WEIGHTS, rates, quality[name])!;
      rates.note(verdict, quality[name], 1);
      quality[name] += (verdict.weight * (verdict.score - quality[name])) / 300;
    }
    expect(quality.bad).toBeLessThan(0.72);
    expect(quality.good).toBeGreaterThan(0.78);
  });

  test('a failure common to all models soon moves none', () => {
    const rates = new SignalRates();
    let quality = 0.9;
    let owed = 0;
    const after: number[] = [];
    for (let round = 1; round <= 6_000; round++) {
      owed += 0.3;
      const isShown = owed >= 1;
      if (isShown) owed--;
      const verdict = judge({ schema: isShown }, WEIGHTS, rates, quality)!;
      rates.note(verdict, quality, 1);
      quality += (verdict.weight * (verdict.score - quality)) / 300;
      if (round % 3_000 === 0) after.push(quality);
    }
    expect(Math.abs(after[1]! - after[0]!)).toBeLessThan(0.02);
  });

  test('the rates of signals survive a restart', () => {
    const rates = new SignalRates();
    rates.note({ looked: 0b11111, blamed: 'empty' }, 0.5, 1);
    const again = new SignalRates(rates.sums);
    for (const signal of SIGNALS) expect(again.of(signal)).toBe(rates.of(signal));
    expect(rates.of('empty')).toBeGreaterThan(new SignalRates().of('empty'));
    expect(rates.of('schema')).toBeLessThan(new SignalRates().of('schema'));
  });
});
