import { describe, expect, test } from 'bun:test';
import { load, SMALL } from '../support.ts';

describe('a small budget', () => {
  // The longest answer of `tiny` costs 0.8192 Credits.
  const at = (limit: number, more = '') => {
    const rule = `${SMALL}${more}budgets:\n  - { name: b, limit_credits: ${limit}, window: day, on_exhausted: reject }\n`;
    return load([{ path: 'p.yaml', text: rule }], {}, { today: '2026-10-08' }).diagnostics.some(
      ({ code }) => code === 'small-budget',
    );
  };

  test('a budget is reported if it is smaller than the cost of one long answer of the cheapest model', () => {
    expect([at(0.8), at(0.9)]).toEqual([true, false]);
  });

  test('a budget is compared with the models that every request may use', () => {
    const rule = (when: string) => `constraints:\n  - { name: c,${when} require: 'model.price.output > 1.0' }\n`;
    const large = `  large:\n    provider: sim\n    price: { input: 1, output: 4, as_of: 2026-10-07, basis: own }\n    context_window: 8192\n    max_output: 2048\n    quality: { default: 0.8, basis: guessed }\n`;
    expect(at(1, large + rule(''))).toBe(true);
    expect(at(1, large + rule(' when: request.stream,'))).toBe(false);
    expect(at(1, large)).toBe(false);
  });

  test('a budget is compared with the models that constraints with the same condition allow', () => {
    const large = `  large:\n    provider: sim\n    price: { input: 1, output: 4, as_of: 2026-10-07, basis: own }\n    context_window: 8192\n    max_output: 2048\n    quality: { default: 0.8, basis: guessed }\n`;
    const free = 'key.labels.tier == "free"';
    const rule = `constraints:\n  - { name: c, when: '${free}', require: 'model.price.output > 1.0' }\n`;
    const reported = (match: string) => {
      const text = `${SMALL}${large}${rule}budgets:\n  - { name: b, match: '${match}', limit_credits: 1, window: day }\n`;
      return load([{ path: 'p.yaml', text }], {}, { today: '2026-10-08' })
        .diagnostics.filter(({ code }) => code === 'small-budget')
        .map(({ message }) => message);
    };
    expect(reported(`${free} && request.model == "auto"`)).toEqual([expect.stringContaining('`large`')]);
    expect(reported('key.labels.tier == "paid"')).toEqual([]);
  });

  describe('a budget is compared with the models that its `match` applies to', () => {
    const MODELS = `  large:
    provider: sim
    price: { input: 1, output: 4, as_of: 2026-10-07, basis: own }
    context_window: 8192
    max_output: 2048
    quality: { default: 0.8, basis: guessed }
  vectors:
    provider: cloud
    operations: [embed]
    embedding: { dimensions: 8 }
    price: { input: 1, output: 0, as_of: 2026-10-07, basis: own }
    context_window: 8192
    max_output: 1
    quality: { default: 0.8, basis: guessed }
selectors:
  strong: { strategy: auto, models: { require: 'model.price.output > 1.0' } }
`;
    // The longest answer of `large` costs 8.192 Credits.
    test.each([
      ['request.model == "large"', true],
      ['request.model == "strong" && key.labels.tier == "free"', true],
      ['request.model == "tiny"', false],
      ['request.model in ["large", "tiny"]', false],
      ['request.model == "auto"', false],
      ['request.model == "vectors"', false],
      ['key.labels.tier == "free" || request.model == "large"', false],
    ])('%s', (match, isReported) => {
      const cloud = 'providers:\n  cloud: { adapter: openai-compatible, base_url: "https://cloud.example/v1" }\n';
      const budget = `budgets:\n  - { name: b, match: '${match}', limit_credits: 1, window: day }\n`;
      const files = [
        { path: 'p.yaml', text: SMALL + MODELS + budget },
        { path: 'q.yaml', text: cloud },
      ];
      const { snapshot, diagnostics } = load(files, {}, { today: '2026-10-08' });
      expect(snapshot).not.toBeNull();
      expect(diagnostics.some(({ code }) => code === 'small-budget')).toBe(isReported);
    });
  });
});
