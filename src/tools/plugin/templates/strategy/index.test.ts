import { expect, test } from 'bun:test';
import { exampleStrategy } from './index.ts';

/** The test has two models: the first has a better quality, the second is cheaper. A good answer is worth 20 references of 0.5 Credits. */
const candidates = {
  n: 2,
  quality: Float64Array.of(0.9, 0.6),
  cost: Float64Array.of(4, 1),
  latency: Float64Array.of(2_000, 500),
  reference: 0.5,
};

function best(thrift: number): number {
  const out = new Float64Array(2);
  exampleStrategy.prepare({ thrift }).score(candidates, out);
  return out.indexOf(Math.max(...out));
}

test('the better model wins if cost has little weight, and the cheaper model wins if cost has much weight', () => {
  expect(best(0.1)).toBe(0);
  expect(best(5)).toBe(1);
});
