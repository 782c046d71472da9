import { expect, test } from 'bun:test';
import { loaded, loadWith } from '../routing/build.ts';

const model = (quality: number, tags = '[]') =>
  `{ provider: s, price: { input: 1, output: 4 }, context_window: 90000, max_output: 9000, quality: { default: ${quality} }, tags: ${tags} }`;
const policy = (selectors: string) => `version: 1
providers: { s: { adapter: simulated }, cloud: { preset: openai } }
models:
  good: ${model(0.95, '[home]')}
  small: ${model(0.6)}
  away: ${model(0.7).replace('provider: s', 'provider: cloud')}
selectors:
${selectors}
`;

test('a stated model that the filter of its selector excludes is refused', () => {
  const { snapshot, diagnostics } = loadWith(
    policy(
      `  auto: { strategy: auto, models: { require: '"home" in model.tags' }, tiers: { usual: [small, good], strong: [good] } }`,
    ),
  );
  expect(snapshot).toBeNull();
  expect(diagnostics.map(({ code, line }) => [code, line])).toEqual([['bad-tier', 8]]);
});

test('stated models that cannot be served here are skipped, and an empty tier has the models of the other one', () => {
  const { models, selectors } = loaded(
    policy('  auto: { strategy: auto, tiers: { usual: [away, small], strong: [away] } }'),
  );
  const { usual, strong } = selectors.get('auto')!.ladder!.stated!;
  expect([usual, strong].map((tier) => tier.map((at) => models[at]!.id))).toEqual([['small'], ['small']]);
});

test('without a stated model that can be served here, the order chooses', () => {
  const { selectors } = loaded(policy('  auto: { strategy: auto, tiers: { usual: [away], strong: [away] } }'));
  expect(selectors.get('auto')!.ladder!.stated).toBeUndefined();
});
