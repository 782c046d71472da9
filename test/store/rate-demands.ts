import fc from 'fast-check';
import type { RateDemand } from '../../src/store/rates.ts';

export const demand = (more: Partial<RateDemand> = {}): RateDemand => ({
  ...{ limit: 'rule one', subject: 'k', unit: 'requests', most: 10, need: 0, ahead: 0, back: 0, held: 0 },
  ...more,
});

const few = fc.integer({ min: 0, max: 12 });
const some = fc.oneof(few, fc.integer({ min: 13, max: 700 }));
const buckets = fc.record({
  limit: fc.constantFrom('a', 'b'),
  unit: fc.constantFrom<RateDemand['unit'][]>('requests', 'tokens'),
  most: fc.oneof({ weight: 6, arbitrary: fc.constant(600) }, fc.constantFrom(7, 60, 1_000_000_000)),
  need: some,
  ahead: few,
  back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -900, max: 300 })),
});
const streams = fc.record({
  limit: fc.constantFrom('a', 'b'),
  unit: fc.constant<RateDemand['unit']>('streams'),
  most: fc.integer({ min: 1, max: 6 }),
  need: fc.nat(3),
  held: fc.nat(3),
});

/** Random requests of instances for units of limits that they share. */
export const demands = fc.array(
  fc.oneof({ weight: 3, arbitrary: buckets }, { weight: 1, arbitrary: streams }).map(demand),
  { minLength: 1, maxLength: 3 },
);
