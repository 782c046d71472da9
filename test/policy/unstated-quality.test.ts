import { describe, expect, test } from 'bun:test';
import { loaded } from '../routing/build.ts';

const models = (quality: string) => `providers: { sim: { adapter: simulated } }
tasks: { legal: { expected_output_tokens: 10, default_input_tokens: 10 } }
models:
  m: { provider: sim, price: { input: 1, output: 4 }, context_window: 8192, max_output: 1024, quality: { ${quality} } }
`;

/** Returns the quality of the only model in a task. */
function qualityIn(task: string, quality: string): number {
  const { models: all, taskIndex } = loaded(`version: 1\n${models(quality)}`);
  return all[0]!.quality[taskIndex.get(task)!]!;
}

describe('the quality of a model in a task for which it states no figure', () => {
  test('is at the lower end of a fixed interval, by the basis of the figures', () => {
    expect(qualityIn('legal', 'default: 0.8, basis: measured')).toBeCloseTo(0.77, 12);
    expect(qualityIn('legal', 'default: 0.8, basis: guessed')).toBeCloseTo(0.74, 12);
    expect(qualityIn('coding', 'default: 0.8, basis: unknown')).toBeCloseTo(0.68, 12);
    expect(qualityIn('legal', 'default: 0.05, basis: unknown')).toBe(0);
  });

  test('does not concern a stated figure, and for the task `general` the default is a stated figure', () => {
    expect(qualityIn('legal', 'default: 0.8, legal: 0.5, basis: unknown')).toBe(0.5);
    expect(qualityIn('general', 'default: 0.8, basis: unknown')).toBe(0.8);
    expect(qualityIn('general', 'default: 0.8, general: 0.6, basis: unknown')).toBe(0.6);
  });
});
