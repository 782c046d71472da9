import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { loaded } from '../routing/build.ts';

/** The effect of `usual_quality_factor` on derived tiers. */
const models = fc.array(
  fc.record({
    quality: fc.integer({ min: 30, max: 99 }),
    price: fc.constantFrom(0.05, 0.2, 0.9, 3, 12),
    speed: fc.constantFrom(20, 80, 300),
  }),
  { minLength: 2, maxLength: 6 },
);
type Models = typeof models extends fc.Arbitrary<infer All> ? All : never;

const policyOf = (all: Models, more: string) => `version: 2
providers: { s: { adapter: simulated } }
quality_step: 0
traffic: { general: { share: 1, hard: 0.5 } }
selectors:
  auto: { strategy: auto }
  auto-cheap: { strategy: auto-cheap, options: { hard_factor_max: 1000 } }
  auto-fast: { strategy: auto-fast, options: { hard_factor_max: 1000 } }
${more}
models:
${all
  .map(
    ({ quality, price, speed }, at) =>
      `  m${at}: { provider: s, price: { input: ${price}, output: ${4 * price} }, context_window: 90000, max_output: 9000, quality: { default: ${quality / 100} }, latency: { ttft_ms: ${20_000 / speed}, output_tokens_per_second: ${speed}, basis: guessed } }`,
  )
  .join('\n')}
`;

/** Returns the tiers of each selector, as IDs, for a factor. */
type Derive = (
  all: Models,
  factor: number,
) => ReadonlyMap<string, Readonly<Record<'usual' | 'strong', readonly string[]>>>;
const deriveWith = (moreOf: (factor: number) => string): Derive => {
  return (all, factor) => {
    const { selectors, models: built } = loaded(policyOf(all, moreOf(factor)));
    const idsOf = (tier: readonly number[]) => tier.map((at) => built[at]!.id);
    return new Map(
      [...selectors.values()].map(({ name, tiers }) => [
        name,
        { usual: idsOf(tiers!.usual), strong: idsOf(tiers!.strong) },
      ]),
    );
  };
};
const derive = deriveWith((factor) => `usual_quality_factor: ${factor}`);

/**
 * A higher factor never gives the usual tier a first model of lower quality, and never changes the strong tier. The quality could be lower for
 * selectors that limit the factor for cost or latency alone.
 */
const law = (of: Derive) =>
  fc.property(models, fc.constantFrom([1, 2], [1, 3], [2, 10], [3, 1000]), (all, [lower, higher]) => {
    const [less, more] = [of(all, lower!), of(all, higher!)];
    return [...less].every(([name, tiers]) => {
      const others = more.get(name)!;
      const qualityOf = ([first]: readonly string[]) => all[Number(first!.slice(1))]!.quality;
      const isKept = Bun.deepEquals(tiers.strong, others.strong);
      return isKept && qualityOf(others.usual) >= qualityOf(tiers.usual);
    });
  });

describe('usual_quality_factor:', () => {
  test('a higher factor never lowers the quality of the first model of the usual tier, and changes no strong tier', () => {
    fc.assert(law(derive), tries('usual quality factor', 60, 1_000));
  });

  test('a factor of 1000 begins the usual tier of `auto` with a model of the best quality', () => {
    fc.assert(
      fc.property(models, (all) => {
        const [first] = derive(all, 1_000).get('auto')!.usual;
        return all[Number(first!.slice(1))]!.quality === Math.max(...all.map(({ quality }) => quality));
      }),
      tries('usual quality factor: the best', 30, 300),
    );
  });

  const MUTANTS: Readonly<Record<string, Derive>> = {
    'divides by the factor': (all, factor) => derive(all, 1_000 / factor),
    'also weighs the strong tier': deriveWith(
      (factor) => `usual_quality_factor: ${factor}\nhard_quality_factor: ${factor}`,
    ),
  };
  test.each(Object.entries(MUTANTS))('the law detects a derivation that %s', (_, mutant) => {
    expect(fc.check(law(mutant), { numRuns: 400, seed: 1, endOnFailure: true }).failed).toBe(true);
  });
});
