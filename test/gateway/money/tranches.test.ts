import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../../src/contract/parts.ts';
import { costBound, type Price, priceLine } from '../../../src/core/money/price.ts';
import { ALL_MEDIA } from '../../../src/core/money/units.ts';
import { plainUsage } from '../../../src/core/money/usage.ts';
import * as rules from '../../../src/gateway/money/tranches.ts';
import { tries } from '../../deep/effort.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';
import { anyLine } from '../../support/money.ts';

type Rules = Pick<typeof rules, 'firstTranche' | 'mayReadOn' | 'nextTranche' | 'wholeTranche'>;

const STOPS = { bills: 'stops', reports: 'each', marginTokens: 20, marginMs: 0 } as const;

const rate = fc.integer({ min: 1, max: 5_000 });
const prices: fc.Arbitrary<Price> = fc.record({
  lines: anyLine(rate, fc.constantFrom(0, 700)).map((line): Price['lines'] => [line]),
  divisor: fc.constantFrom(1, 7, 1_000),
});
const answers = fc.record({
  terms: fc.record({
    declared: fc.constant(STOPS),
    priced: prices.map((price) => ({ price })),
    inputMax: fc.nat(500),
    media: fc.constant(ALL_MEDIA),
    choices: fc.constant(1),
    outputMax: fc.integer({ min: 1, max: 2_000 }),
    expected: fc.integer({ min: 1, max: 600 }),
    useful: fc.integer({ min: 1, max: 100 }),
    margin: fc.nat(40),
  }),
  /** The tokens that the provider would write. */
  length: fc.nat(2_000),
  /** The share of the margin that each batch has, and the share that is billed after an abort. */
  batches: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 50 }),
  afterAbort: fc.double({ min: 0, max: 1, noNaN: true }),
  /** Whether each extension is granted with its least amount, in full, or not at all. */
  grants: fc.array(fc.constantFrom('least', 'wanted', 'refused'), { minLength: 1, maxLength: 30 }),
  /** How many batches pass before an extension takes effect. */
  delay: fc.nat(2),
});
type Play = typeof answers extends fc.Arbitrary<infer Value> ? Value : never;

/** Plays an answer of a provider that keeps its declaration. */
function play({ terms, length, batches, afterAbort, grants, delay }: Play, given: Rules) {
  const whole = given.wholeTranche(terms);
  const total = Math.min(length, terms.outputMax);
  let held = given.firstTranche(terms);
  let greatest = held;
  let counted = 0;
  let pending: { amount: number; at: number } | null = null;
  let asked = 0;
  for (let at = 0; ; at++) {
    if (pending && at >= pending.at) {
      held += pending.amount;
      greatest = Math.max(greatest, held);
      pending = null;
    }
    if (!given.mayReadOn(terms, rules.paidOutput(terms, held), counted)) {
      const billed = Math.min(total, counted + Math.floor(afterAbort * terms.margin));
      return { billed, held, greatest, whole, isCut: true };
    }
    if (!pending) {
      const next = given.nextTranche(terms, held, counted);
      const grant = next && grants[asked++ % grants.length];
      if (next && grant !== 'refused')
        pending = { amount: grant === 'least' ? next.least : next.amounts[1]!, at: at + delay };
    }
    if (counted >= total) return { billed: total, held, greatest, whole, isCut: false };
    counted = Math.min(total, counted + Math.max(1, Math.floor(batches[at % batches.length]! * terms.margin)));
  }
}

const costOf = ({ terms: { priced, inputMax } }: Play, output: number): number => costBound(priced, inputMax, output);

/** The law: the provider never bills more than is held, and the hold never exceeds the worst case. */
const isPaidFor = (given: Rules) =>
  fc.property(
    answers.filter(({ terms }) => terms.margin > 0),
    (each) => {
      const { billed, held, greatest, whole } = play(each, given);
      expect(costOf(each, billed)).toBeLessThanOrEqual(held);
      expect(greatest).toBeLessThanOrEqual(whole);
    },
  );

describe('an answer whose hold grows in tranches', () => {
  test('an answer paid for in tranches is never billed above its hold, and its hold never exceeds its worst case', () => {
    fc.assert(
      isPaidFor(rules),
      tries('what a service bills is within the hold, and the hold within its worst case', 500, 50_000),
    );
  });

  test('an answer paid for in tranches is not cut while each extension is granted at once', () => {
    fc.assert(
      fc.property(answers, (each) => {
        const { isCut } = play({ ...each, grants: ['wanted'], delay: 0 }, rules);
        expect(isCut).toBe(false);
      }),
      tries('an answer whose hold grows at once is not cut', 500, 50_000),
    );
  });

  test('an answer of the usual length or less needs no extension of its hold', () => {
    const price: Price = { lines: [priceLine(0, { input: 1, output: 4 })], divisor: 1 };
    const terms = {
      declared: STOPS,
      priced: { price },
      inputMax: 100,
      media: 0,
      choices: 1,
      outputMax: 4_000,
      expected: 400,
      useful: 64,
      margin: 20,
    };
    const first = rules.firstTranche(terms);
    expect(first).toBe(100 + 4 * 840);
    expect(rules.nextTranche(terms, first, 400)).toBeNull();
    expect(rules.nextTranche(terms, first, 401)).toEqual({ amounts: [4 * 70, 4 * 220], least: 4 * 20 });
  });

  const mutants: readonly (readonly [string, Partial<Rules>])[] = [
    [
      'ignores what is billed after the abort',
      { mayReadOn: (terms, paid, counted) => rules.mayReadOn({ ...terms, margin: terms.margin / 2 }, paid, counted) },
    ],
    [
      'reads until all money is used',
      { mayReadOn: (terms, paid, counted) => Math.min(terms.outputMax, counted) <= paid },
    ],
    [
      'extends beyond the output limit',
      {
        nextTranche: (terms, left, counted) =>
          rules.nextTranche({ ...terms, outputMax: terms.outputMax * 2 }, left, counted),
      },
    ],
  ];
  for (const [name, change] of mutants) {
    test(`the law about tranches catches a rule that ${name}`, () => {
      expect(
        fc.check(isPaidFor({ ...rules, ...change }), { numRuns: 50_000, seed: 71, endOnFailure: true }).failed,
      ).toBe(true);
    });
  }
});

describe('the upper bound of the tokens that were written', () => {
  const said = (text: string, choice = 0): StreamPart => ({ type: 'text', choice, text });

  test('the upper bound of the output is at least one token for each byte', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCodePoint, maxLength: 30 })), (texts) => {
        const bound = new rules.OutputBound();
        bound.add(texts.map((text) => said(text)));
        expect(bound.tokens).toBeGreaterThanOrEqual(Buffer.byteLength(texts.join('').toWellFormed()));
      }),
    );
  });

  test('the upper bound of the output counts the names and arguments of tool calls, and reasoning', () => {
    const bound = new rules.OutputBound();
    bound.add([
      { type: 'reasoning', choice: 0, text: 'Hm.' },
      { type: 'tool-call', choice: 0, index: 0, id: 'c', name: 'look', arguments: '' },
      { type: 'tool-call', choice: 0, index: 0, arguments: '{"at":1}' },
    ]);
    expect(bound.tokens).toBeGreaterThanOrEqual(3 + 4 + 8);
  });

  test('the upper bound starts again at each report of the upstream, unless the report is absurd or only about the prompt', () => {
    const bound = new rules.OutputBound();
    bound.add([said('x'.repeat(100)), { type: 'usage', usage: plainUsage(10, 25) }, said('four')]);
    expect(bound.tokens).toBe(29);
    for (const output of [0, -5, 1e15]) bound.add([{ type: 'usage', usage: plainUsage(10, output) }]);
    expect(bound.tokens).toBe(29);
  });
});
