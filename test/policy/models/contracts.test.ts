import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { costOf } from '../../../src/core/money/price.ts';
import { loaded } from '../../routing/build.ts';
import { load } from '../support.ts';

const policy = (prices: string, price = 'input: 1.25, cached_input: 0.125, output: 10', more = '') => `version: 1
providers: { sim: { adapter: simulated }, other: { adapter: simulated } }
prices: ${prices}
models:
  m:
    price: { ${price} }
    endpoints: [{ provider: sim }, { provider: other }, { provider: sim, price: { input: 2, output: 3, basis: own } }]
    context_window: 8192
    max_output: 1024
    quality: { default: 0.5, basis: guessed }
${more}`;

const USAGE = { inputTokens: 7_001, outputTokens: 977, reasoningTokens: 0, units: { cached_input: 1_003 } };
const costs = (text: string): readonly number[] =>
  loaded(text).models[0]!.endpoints.map(({ price }) => costOf(price, USAGE));

test('the rates of a service tier need no list of `tiers`, like those of the price itself', () => {
  const tiers = 'input: 1, output: 2, service_tiers: { flex: { input: 0.5, output: 1 } }';
  const [endpoint] = loaded(policy('{}', tiers)).models[0]!.endpoints;
  expect(costOf(endpoint!.price.tiers!.flex!, USAGE)).toBe(costOf(endpoint!.price, USAGE) / 2);
});

describe('the prices of a contract', () => {
  test('are the list prices of the provider less its discount, exactly', () => {
    const [listed, other, own] = costs(policy('{}'));
    expect(costs(policy('{ sim: { discount: 0.12 } }'))).toEqual([
      // 5,998 × 1.25 + 1,003 × 0.125 + 977 × 10 = 17,392.875 millionths of a USD, and a Credit is a thousandth of a USD.
      (17_392_875 * 88) / 100,
      other!,
      own!,
    ]);
    expect(listed).toBe(17_392_875);
  });

  test('are what the same policy costs with the discounted prices written out', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 9_999 }), (percent, cents) => {
        const paid = (rate: number) => ((rate * (100 - percent)) / 100).toFixed(8);
        const written = `input: ${paid(cents / 100)}, output: ${paid(cents / 50)}`;
        const discounted = policy(
          `{ sim: { discount: 0.${String(percent).padStart(2, '0')} } }`,
          `input: ${cents / 100}, output: ${cents / 50}`,
        );
        expect(costs(discounted)[0]).toBe(costs(policy('{}', written))[0]!);
      }),
    );
  });

  test('decide what conditions read', () => {
    const rule = 'constraints: [{ name: cheap, require: model.price.output < 9.0 }]\n';
    const errorsWith = (prices: string) =>
      load([{ path: 'policy.yaml', text: policy(prices, undefined, rule) }], {})
        .diagnostics.filter(({ severity }) => severity === 'error')
        .map(({ code }) => code);
    expect(errorsWith('{}')).toEqual(['refuses-everything']);
    expect(errorsWith('{ sim: { discount: 0.12 } }')).toEqual([]);
  });

  test('are refused for a provider that the policy does not have, and for a discount that is no share', () => {
    const messages = (prices: string) =>
      load([{ path: 'policy.yaml', text: policy(prices) }], {}).diagnostics.map(
        ({ message, line }) => `${line}: ${message}`,
      );
    expect(messages('{ sum: { discount: 0.1 } }')).toContainEqual(expect.stringMatching(/^3: .*`sum`/));
    expect(messages('{ sim: { discount: 12 } }')).toContainEqual(expect.stringMatching(/^3: `prices.sim.discount`/));
    expect(messages('{ sim: { discount: 1 } }')).toContainEqual(expect.stringMatching(/^3: `prices.sim.discount`/));
  });

  test('that cannot be charged exactly are an error at the price', () => {
    const found = (prices: string) =>
      load([{ path: 'policy.yaml', text: policy(prices, 'input: 0.123456789, output: 10') }], {}).diagnostics.map(
        ({ code, line }) => `${line}: ${code}`,
      );
    expect(found('{ sim: { discount: 0.123456789012345678 } }')).toContain('6: price-not-exact');
    expect(found('{ sim: { discount: 0.12 } }')).not.toContain('6: price-not-exact');
  });
});

test.each([
  'Flex: { input: 1 }',
  'a b: { input: 1, output: 2 }',
  '"": 5',
  'default: { input: 9, output: 9 }',
  'auto: 1',
])('a service tier with a name that no answer can state is an error: %s', (tier) => {
  const text = policy('{}', `input: 1, output: 2, service_tiers: { ${tier} }`);
  const [first] = load([{ path: 'policy.yaml', text }], {}).diagnostics;
  expect([first?.code, first?.line, first?.expected]).toEqual(['unknown-key', 6, expect.stringContaining('`auto`')]);
});
