import { describe, expect, test } from 'bun:test';
import { openHeldSum, post, settle } from '../../../src/core/accounting/held-sum.ts';
import { costOf } from '../../../src/core/money/price.ts';
import type { Usage } from '../../../src/core/money/usage.ts';
import { loaded } from '../../routing/build.ts';

/**
 * Charges that were computed by hand, each from the text of a policy to Credits. A price is in USD per 1M tokens. With `usd` for a Credit,
 * a token costs price / usd microcredits, and a fee for a request costs fee / usd Credits. In `tokens`, `in` are all input tokens; they
 * include `cached` and `written`, and `out` includes `reasoning`. The calculation is below each charge.
 */
const INVOICES = `
plain input and output | usd 0.001 | input: 0.25, output: 2 | in 1000, out 500 | 1.250000
  # 1000 × 250 + 500 × 2000 = 250,000 + 1,000,000
cached input is priced once, at its own price, and not also as input | usd 0.001 | input: 2.5, cached_input: 0.25, output: 10 | in 10000, cached 8000, out 100 | 8.000000
  # 2000 × 2500 + 8000 × 250 + 100 × 10,000 = 5,000,000 + 2,000,000 + 1,000,000; priced twice it would be 28
cached input without its own price costs as much as input | usd 0.001 | input: 2.5, output: 10 | in 10000, cached 8000 | 25.000000
  # 10,000 × 2500
cache writes at their own price, which is higher than for input | usd 0.001 | input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 | in 5000, cached 1000, written 3000, out 200 | 17.550000
  # 1000 × 3000 + 1000 × 300 + 3000 × 3750 + 200 × 15,000 = 3,000,000 + 300,000 + 11,250,000 + 3,000,000
input exactly at the limit of a price tier still has the lower price | usd 0.001 | input: 1.25, output: 10, tiers: [{ over_input_tokens: 200000, input: 2.5, output: 15 }] | in 200000, out 10 | 250.100000
  # 200,000 × 1250 + 10 × 10,000 = 250,000,000 + 100,000
one token above the limit of a tier, the whole request has the higher price | usd 0.001 | input: 1.25, output: 10, tiers: [{ over_input_tokens: 200000, input: 2.5, output: 15 }] | in 200001, out 10 | 500.152500
  # 200,001 × 2500 + 10 × 15,000 = 500,002,500 + 150,000
cached tokens count towards the limit of a tier | usd 0.001 | input: 1, cached_input: 0.1, output: 4, tiers: [{ over_input_tokens: 1000, input: 2, cached_input: 0.2, output: 8 }] | in 1500, cached 1400, out 10 | 0.560000
  # above 1000: 100 × 2000 + 1400 × 200 + 10 × 8000 = 200,000 + 280,000 + 80,000
a fee for each request | usd 0.001 | input: 1, output: 5, per_request: 0.005 | in 100, out 20 | 5.200000
  # 0.005 USD = 5 Credits; 100 × 1000 + 20 × 5000 = 200,000
only the fee, for an answer without tokens | usd 0.01 | input: 1, output: 5, per_request: 0.005 | in 0 | 0.500000
  # 0.005 USD at 0.01 USD a Credit
the sum is rounded up once at the end, not for each kind of token | usd 1 | input: 0.4, cached_input: 0.3, cache_write: 0.2, output: 0.6 | in 6, cached 2, written 1, out 2 | 0.000004
  # in millionths: 3 × 0.4 + 2 × 0.3 + 1 × 0.2 + 2 × 0.6 = 1.2 + 0.6 + 0.2 + 1.2 = 3.2 → 4; rounded separately it would be 2 + 1 + 1 + 2 = 6
a sum without a fraction is not rounded | usd 1 | input: 0.1, output: 0.7 | in 3, out 1 | 0.000001
  # 0.3 + 0.7 = 1 millionth, which doubles compute as 1.0 or slightly more
reasoning is included in the output, not added to it | usd 0.001 | input: 1, output: 8 | in 50, out 1200, reasoning 1000 | 9.650000
  # 50 × 1000 + 1200 × 8000 = 50,000 + 9,600,000
a free model | usd 0.001 | input: 0, output: 0 | in 30000, out 8000 | 0.000000
the smallest charge: any fraction of a microcredit | usd 1000 | input: 0.001, output: 0 | in 1 | 0.000001
  # 0.001 millionths of a USD, at 1000 USD a Credit: a millionth of a millionth of a Credit
a million such fractions are one microcredit, and one more begins the next | usd 1000 | input: 0.001, output: 0 | in 1000001 | 0.000002
a Credit of 0.003 USD, with three decimals | usd 0.003 | input: 0.25, output: 1 | in 100, out 10 | 0.011667
  # 100 × 0.25 + 10 × 1 = 35 millionths of a USD = 11,666.67 of a Credit
a sum of products above 2⁵³ before the division | usd 0.000123457 | input: 12.345678, output: 98.765432 | in 900000, out 100000 | 169999.703541
  # 900,000 × 12.345678 + 100,000 × 98.765432 = 11,111,110.2 + 9,876,543.2 = 20,987,653.4 millionths of a USD,
  # over 0.000123457 = 169,999,703,540.50…; scaled to integers the sum is 2.0987… × 10¹⁶, above 9.007 × 10¹⁵
`
  .split('\n')
  .filter((row) => row.includes(' | '))
  .map((row) => row.split(' | ') as [name: string, usd: string, price: string, tokens: string, credits: string]);

type Tokens = Partial<Record<'in' | 'cached' | 'written' | 'out' | 'reasoning', number>>;

/** Parses a text such as `in 1000, out 500`. */
const tokensOf = (text: string): Tokens =>
  Object.fromEntries(text.split(', ').map((one) => [one.split(' ')[0], Number(one.split(' ')[1])]));

const usageOf = ({ in: input = 0, cached = 0, written = 0, out = 0, reasoning = 0 }: Tokens): Usage => ({
  ...{ inputTokens: input, outputTokens: out, reasoningTokens: reasoning },
  units: { cached_input: cached, cache_write: written },
});

describe('the charge is the one computed by hand:', () => {
  for (const [name, usd, price, tokens, credits] of INVOICES) {
    test(name, () => {
      const { models } = loaded(
        `version: 1
credits: { usd_per_credit: ${usd.slice('usd '.length)} }
providers: { local: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1" } }
models:
  m: { provider: local, price: { ${price} }, context_window: 1000000, max_output: 1000, quality: { default: 0.5 } }
`,
      );
      const microcredits = costOf(models[0]!.endpoints[0].price, usageOf(tokensOf(tokens)));
      expect((microcredits / 1e6).toFixed(6)).toBe(credits);
    });
  }

  test('a failed attempt with usage and the attempt that answered are rounded separately, then added', () => {
    const { models } = loaded(
      `version: 1
credits: { usd_per_credit: 1 }
providers: { local: { adapter: openai-compatible, base_url: "http://127.0.0.1:9/v1" } }
models:
  dear: { provider: local, price: { input: 0.5, output: 1.5 }, context_window: 9999, max_output: 99, quality: { default: 0.5 } }
  slow: { provider: local, price: { input: 0.1, output: 0.3 }, context_window: 9999, max_output: 99, quality: { default: 0.5 } }
`,
    );
    const [dear, slow] = models.map(({ endpoints: [{ price }] }) => price);
    // 5 × 0.5 + 1 × 1.5 = 4; 5 × 0.1 + 3 × 0.3 = 1.4 → 2
    const failed = post(openHeldSum(50, 50), costOf(dear!, usageOf({ in: 5, out: 1 })));
    const answered = settle(failed.next, costOf(slow!, usageOf({ in: 5, out: 3 })));
    expect([failed.charged, answered.charged]).toEqual([4, 2]);
    expect(answered.next).toMatchObject({ state: 'posted', charged: 6 });
  });
});
