import { expect, test } from 'bun:test';
import { exampleStrategy } from './index.ts';

/** Two models: one better, one cheaper. A good answer is worth 10 Credits. */
const candidates = {
  n: 2,
  quality: Float64Array.of(0.9, 0.6),
  cost: Float64Array.of(4, 1),
  latency: Float64Array.of(2_000, 500),
  costReference: 10,
};

function best(thrift: number): number {
  const out = new Float64Array(2);
  exampleStrategy.prepare({ thrift }).score(candidates, out);
  return out.indexOf(Math.max(...out));
}

test('quality wins where cost counts for little, and the cheaper one where it counts for much', () => {
  expect(best(0.1)).toBe(0);
  expect(best(5)).toBe(1);
});
