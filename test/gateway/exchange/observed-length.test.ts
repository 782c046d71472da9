import { expect, test } from 'bun:test';
import { observedLength } from '../../../src/gateway/exchange/observed-length.ts';
import { OutputLengths } from '../../../src/providers/health/output-lengths.ts';
import { facts, GENERAL, model, snapshot } from '../../routing/build.ts';

const POLICY = snapshot([model('a')], { tasks: [{ ...GENERAL, expectedOutputTokens: 600 }] });

type Observe = typeof observedLength;

/** Returns lengths of a log-normal distribution with this median, evenly spread, in an order without a pattern. */
const SPREAD = 97;
function lengthAt(index: number, median: number): number {
  const share = (((index * 31) % SPREAD) + 0.5) / SPREAD;
  // The quantiles of the logistic distribution are close to the normal distribution's.
  return median * Math.exp(0.55 * Math.log(share / (1 - share)));
}

/** Measures answers one after another, gives every second answer the limit, and returns the measured length. */
function measuring(observe: Observe) {
  let now = 0;
  const lengths = new OutputLengths(() => now);
  return (median: number, answers: number, lowCap: number): number => {
    for (let index = 0; index < answers; index++) {
      const outputTokens = lengths.lengthsFor(POLICY.tasks);
      const cap = index % 2 === 0 ? lowCap : 32_000;
      const length = lengthAt(index, median);
      const answer = { tokens: Math.min(length, cap), cap, isCut: length > cap };
      const observed = observe(answer, model('a'), facts(), { outputTokens }, POLICY);
      if (observed !== null) lengths.observe('general', observed, 'key');
      now += 10_001;
      lengths.publish();
    }
    return lengths.lengthsFor(POLICY.tasks)[0]!;
  };
}

const isNear = (measured: number, median: number): boolean => Math.abs(measured / median - 1) < 0.15;

test('a measured length stays the same while limits cut half of the answers, and falls when answers become short', () => {
  const measured = measuring(observedLength);
  expect(isNear(measured(3_000, 1_000, 32_000), 3_000)).toBe(true);
  expect(isNear(measured(3_000, 8_000, 2_048), 3_000)).toBe(true);
  expect(isNear(measured(60, 8_000, 2_048), 60)).toBe(true);
});

test('a measured length would fall to the limits if cut answers did not count, or counted with their cut length', () => {
  const without: Observe = (answer, ...rest) => (answer.isCut ? null : observedLength(answer, ...rest));
  const asTheyAre: Observe = (answer, ...rest) => observedLength({ ...answer, isCut: false }, ...rest);
  for (const observe of [without, asTheyAre]) {
    const measured = measuring(observe);
    measured(3_000, 1_000, 32_000);
    expect(measured(3_000, 8_000, 2_048)).toBeLessThan(2_300);
  }
});
