import fc from 'fast-check';
import { OPERATIONS } from '../../src/core/kinds/operations.ts';
import type { Model, PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { CAPABILITIES } from '../../src/core/request/capability.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { changedLine } from '../support/money.ts';
import { facts, model, price, snapshot } from './build.ts';

/** A catalog, and a request that some, all or none of its models can serve. */
export interface World {
  readonly snapshot: PolicySnapshot;
  readonly facts: Facts;
}

const some = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null, freq: 2 });
const bits = fc
  .subarray([CAPABILITIES.tools.bit, CAPABILITIES.vision.bit, CAPABILITIES.choices.bit])
  .map((list) => list.reduce((all, bit) => all | bit, 0));
const languages = fc.subarray(['python', 'go', 'rust']);
const money = fc.constantFrom(0, 0.003, 0.1, 1, 7);

const models: fc.Arbitrary<readonly Model[]> = fc
  .array(
    fc.record({
      q: fc.integer({ min: 0, max: 10 }),
      prices: fc.array(
        fc.record({
          input: money,
          output: money,
          tierInput: money,
          fee: fc.constantFrom(0, 3),
          divisor: fc.constantFrom(1, 7, 1000),
        }),
        { minLength: 1, maxLength: 2 },
      ),
      contextWindow: fc.constantFrom(300, 1000, 9000, 200_000),
      maxOutput: fc.constantFrom(50, 500, 8000),
      defaultMaxOutput: fc.constantFrom(40, 500, 8000),
      operations: fc.constantFrom(OPERATIONS.chat.bit, OPERATIONS.chat.bit, OPERATIONS.chat.bit, 0),
      capabilities: bits,
      languages,
      lacking: languages,
      reasoningTokens: fc.constantFrom(0, 0, 600, 3000),
      imageTokensMax: some(fc.constant(1600)),
      pageTokensMax: some(fc.constant(900)),
      pagesMax: fc.constantFrom([], [{ request: 3, file: null }], [{ request: null, file: 2 }]),
      ttftMs: fc.integer({ min: 10, max: 3000 }),
      rate: fc.integer({ min: 5, max: 500 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((list) =>
    list.map(({ q, prices, maxOutput, defaultMaxOutput, languages: known, lacking, ttftMs, rate, ...rest }, at) => {
      const [first, ...others] = prices.map(({ input, output, tierInput, fee, divisor }) => {
        const flat = price(input, output, { perRequest: fee, divisor });
        const [line] = flat.lines;
        const tier = changedLine(line, { input: Math.max(line.input, tierInput * 1000) }, 800);
        return {
          provider: 'p',
          upstream: 'u',
          regions: [],
          price: { ...flat, lines: tierInput > 0 ? ([line, tier] as const) : flat.lines },
        };
      });
      return model(`m${at}`, {
        ...rest,
        q: q / 10,
        endpoints: [first!, ...others],
        maxOutput,
        defaultMaxOutput: Math.min(defaultMaxOutput, maxOutput),
        languages: new Set(known),
        lacksLanguages: new Set(lacking.filter((name) => !known.includes(name))),
        latency: { ttftMs, outputTokensPerSecond: rate },
      });
    }),
  );

const requests: fc.Arbitrary<Partial<Facts>> = fc.record({
  inputTokens: fc.constantFrom(1, 100, 500, 850, 5000),
  images: fc.constantFrom(0, 0, 0, 2),
  pdfs: fc.constantFrom(0, 0, 0, 2),
  pages: fc.constant(2),
  unboundedMedia: fc.constantFrom(0, 0, 0, 0, 1),
  outputTokens: some(fc.constantFrom(10, 600, 9000)),
  outputTokensMax: some(fc.constantFrom(1, 30, 700, 9000)),
  choices: fc.constantFrom(1, 1, 3),
  needs: fc.oneof(fc.constant(0), bits),
  languages: fc.oneof(fc.constant([]), languages, fc.subarray(['rust', 'elixir', 'klingon'])),
  ceilings: fc.record({
    costCredits: some(fc.double({ min: 1e-4, max: 5, noNaN: true })),
    latencyMs: some(fc.integer({ min: 20, max: 9000 })),
  }),
  budget: some(fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 20_000_000 }))),
  allowedModels: some(fc.subarray(['m0', 'm1', 'm2', 'm3', 'm4', 'm5'])),
});

const WISHES: (keyof Facts)[] = [
  'images',
  'pdfs',
  'unboundedMedia',
  'outputTokens',
  'outputTokensMax',
  'needs',
  'languages',
  'ceilings',
  'budget',
  'allowedModels',
];

export const worlds: fc.Arbitrary<World> = fc
  .record({
    models,
    request: requests,
    simple: fc.subarray(WISHES, { maxLength: 9 }),
    capsOutput: fc.boolean(),
    least: fc.constantFrom(null, null, null, 20, 600),
  })
  .map(({ models: list, request, simple, capsOutput, least }) => {
    // The generator drops some requirements again, because otherwise hardly any model would be eligible.
    const all = facts({ ...request, inputTokensMax: (request.inputTokens ?? 1) * 4 });
    const plain: Readonly<Record<string, unknown>> = Object.fromEntries(
      simple.map((key) => [key, Reflect.get(facts(), key)]),
    );
    const whole = { ...all, ...plain };
    const { outputTokensMax } = whole;
    const outputTokensMin = least === null ? undefined : Math.min(least, outputTokensMax ?? least);
    const output = {
      ...(outputTokensMin !== undefined && { outputTokensMin }),
      ...(capsOutput && outputTokensMax !== null && { capsOutput: true as const }),
    };
    return { snapshot: snapshot(list), facts: { ...whole, ...output } };
  });
