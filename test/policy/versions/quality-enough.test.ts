import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changedDefaults } from '../../../src/policy/version-changes.ts';
import { tries } from '../../deep/effort.ts';
import { decisionOf, facts, loaded, loadWith, prepared, registry } from '../../routing/build.ts';

const policy = (version: 1 | 2, options: string, strategy = 'cheapest-within-margin') => `version: ${version}
providers: { sim: { adapter: simulated } }
models:
  good: { provider: sim, price: { input: 8, output: 8 }, context_window: 9000, max_output: 900, quality: { default: 0.9, basis: guessed } }
  fair: { provider: sim, price: { input: 2, output: 2 }, context_window: 9000, max_output: 900, quality: { default: 0.7, basis: guessed } }
  poor: { provider: sim, price: { input: 1, output: 1 }, context_window: 9000, max_output: 900, quality: { default: 0.5, basis: guessed } }
selectors:
  mine: { strategy: ${strategy}, options: { quality_margin: 0.05, ${options} } }
`;

function choiceOf(version: 1 | 2, options: string): string {
  const snapshot = loaded(policy(version, options));
  return snapshot.models[decisionOf(snapshot, facts({ model: 'mine' }), prepared(snapshot, 'mine')).ranked[0].model]!
    .id;
}

describe('the quality that is always good enough for a strategy by a margin', () => {
  test('`quality_enough` means in both versions what `quality_floor` means in version 1', () => {
    const share = fc.constantFrom(0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1);
    const law = (version: 1 | 2) =>
      fc.property(share, (enough) => {
        const former = choiceOf(1, `quality_floor: ${enough}`);
        const expected = enough <= 0.5 ? 'poor' : enough <= 0.7 ? 'fair' : 'good';
        return former === expected && choiceOf(version, `quality_enough: ${enough}`) === expected;
      });
    for (const version of [1, 2] as const)
      fc.assert(law(version), tries(`quality_enough in version ${version}`, 20, 200));
  });

  test.each(['cheapest-within-margin', 'auto-cheap'])(
    'version 2 refuses the old name for `%s`, and the message has the new name',
    (strategy) => {
      const { snapshot, diagnostics } = loadWith(policy(2, 'quality_floor: 0.6', strategy));
      expect(snapshot).toBeNull();
      const refusal = diagnostics.find(({ code }) => code === 'unknown-key')!;
      expect(refusal.message).toBe('`selectors.mine.options` has no key `quality_floor`');
      expect(refusal.hint).toContain('`quality_enough`');
    },
  );

  test('a selector cannot state both names', () => {
    const { diagnostics } = loadWith(policy(1, 'quality_floor: 0.6, quality_enough: 0.6'));
    expect(diagnostics.map(({ code }) => code)).toContain('plugin-failed');
  });

  test('a policy of version 1 with the old name is told what version 2 changes', () => {
    const changes = (strategy: string, option: string) =>
      changedDefaults(
        { version: 1, selectors: { mine: { strategy, options: { quality_margin: 0.1, [option]: 0.6 } } } },
        registry.strategies,
      );
    const path = 'selectors.mine.options.quality_floor';
    expect(changes('cheapest-within-margin', 'quality_floor')).toContain(path);
    expect(changes('auto-cheap', 'quality_floor')).toContain(path);
    expect(changes('cheapest-within-margin', 'quality_enough')).not.toContain(path);
    expect(changes('auto', 'quality_floor')).not.toContain(path);
  });
});
