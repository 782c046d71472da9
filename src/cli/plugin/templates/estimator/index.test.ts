import { expect, test } from 'bun:test';
import { exampleEstimator } from './index.ts';

const catalog = {
  tasks: ['general'],
  models: [
    {
      id: 'small',
      quality: Float64Array.of(0.5),
      stated: Uint8Array.of(1),
      general: 0.5,
      basis: 'guessed' as const,
    },
  ],
};

test('ten good answers outweigh what was declared to be worth ten', () => {
  const memory = exampleEstimator.prepare({ declared_worth: 10 }, [1, 2]).open(new Map());
  const outcome = { features: null, task: 0, model: 0, declared: 0.5, score: 1, weight: 1, probability: 1, among: 1 };
  const estimator = memory.over(catalog);
  for (let at = 0; at < 10; at++) estimator.learn(outcome);
  expect(estimator.learn(outcome)).toBe(0.75);
});
