import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart, UnreadOutput } from '../../../src/contract/parts.ts';
import { isPlausible, plainUsage, type Usage } from '../../../src/core/money/usage.ts';
import { tokenWeight } from '../../../src/core/request/tokens.ts';
import {
  brokenUsage,
  completeUsage,
  cutUsage,
  failedUsage,
  type MeasuredUsage,
  Meter,
} from '../../../src/gateway/money/meter.ts';
import { anyCodePoint } from '../../support/any-code-point.ts';

const said = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const told = (usage: Usage): StreamPart => ({ type: 'usage', usage });
function metered(...parts: StreamPart[]): Meter {
  const meter = new Meter(false, null);
  meter.observe(parts, 0);
  return meter;
}

const tokens = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 300 }));
const answer = fc.record({
  text: fc.string({ unit: anyCodePoint, maxLength: 600 }),
  reported: fc.option(fc.tuple(tokens, tokens)),
  inputTokens: fc.integer({ min: 1, max: 300 }),
  outputMax: tokens,
});
const meterOf = ({ text, reported }: { text: string; reported: [number, number] | null }): Meter =>
  metered(said(text), ...(reported ? [told(plainUsage(...reported))] : []));

describe('the measurements of a meter', () => {
  test('the measured time lasts from the first content to the last, whatever else arrives', () => {
    const meter = new Meter(false, null);
    meter.observe([told(plainUsage(1, 1))], 5);
    expect([meter.firstContentAt, meter.contentMs]).toEqual([null, 0]);
    for (const now of [10, 20, 45]) meter.observe([said('a')], now);
    meter.observe([told(plainUsage(1, 1))], 90);
    expect([meter.firstContentAt, meter.contentMs]).toEqual([10, 35]);
  });

  test('a meter counts the name of a tool call, its arguments, reasoning and refusals like text', () => {
    const text = 'Wherefore art thou';
    const { counted } = metered(said(text));
    const call = { type: 'tool-call', choice: 0, index: 0 } as const;
    expect(counted).toBeGreaterThan(2);
    expect(metered({ ...call, id: 'c', name: text, arguments: '' }).counted).toBe(counted);
    expect(metered({ ...call, arguments: text }).counted).toBe(counted);
    expect(metered({ type: 'reasoning', choice: 0, text }).counted).toBe(counted);
    expect(metered({ type: 'refusal', choice: 0, text }).counted).toBe(counted);
  });
});

test('the meter’s count, its count since the last report, and its mark do not depend on when they are read', () => {
  const part = fc.oneof(
    fc.string().map(said),
    fc.string().map((id): StreamPart => ({ type: 'tool-call', choice: 0, index: 0, id, name: id, arguments: id })),
    tokens.map((input) => told(plainUsage(input - 100, 1))),
  );
  const figures = ({ counted, unreported, mark }: Meter) => ({ counted, unreported, mark });
  fc.assert(
    fc.property(fc.array(fc.array(part)), fc.array(fc.boolean()), fc.boolean(), (batches, isAsked, isStream) => {
      const often = new Meter(isStream, null);
      const once = new Meter(false, null);
      batches.forEach((batch, at) => {
        once.observe(batch, at);
        for (const each of batch) {
          often.observe([each], at);
          if (isAsked[at]) figures(often);
        }
      });
      expect(figures(once)).toEqual(figures(often));
    }),
  );
});

test('after `forget`, a meter keeps no part of the answer', () => {
  const meter = metered(said('Wherefore art thou'));
  meter.forget();
  const { counted, mark } = new Meter(false, null);
  expect([meter.counted, meter.mark]).toEqual([counted, mark]);
});

test('a complete answer is charged as reported; a reported 0 is replaced by the expected prompt or the output counted within the limit', () => {
  const law = fc.property(answer, (given) => {
    const meter = meterOf(given);
    const { reported, inputTokens, outputMax } = given;
    const seen = Math.min(meter.counted, outputMax);
    const [prompt, output] = reported ?? [0, 0];
    const { usage, estimated } = completeUsage(meter, { inputTokens, outputMax });
    expect(usage).toEqual(plainUsage(prompt || inputTokens, output || seen));
    expect(estimated).toBe(prompt === 0 || (output === 0 && seen > 0));
  });
  fc.assert(law, { numRuns: 500 });
});

test('output after the last report is charged as counted, within the limit', () => {
  const law = fc.property(answer, tokens, (given, more) => {
    const { text, inputTokens, outputMax } = given;
    const meter = metered(told(plainUsage(more + 1, more)), said(text));
    const { counted } = metered(said(text));
    const { usage, estimated } = completeUsage(meter, { inputTokens, outputMax });
    const charged = Math.max(more, Math.min(more + counted, outputMax));
    expect([usage, estimated]).toEqual([plainUsage(more + 1, charged), true]);
    meter.observe([told(plainUsage(7, 9))], 0);
    expect(completeUsage(meter, { inputTokens, outputMax })).toMatchObject({
      usage: plainUsage(7, 9),
      estimated: false,
    });
  });
  fc.assert(law, { numRuns: 500 });
});

test('a usage report before the end may be an intermediate count: Signalbox charges its own count if that is more', () => {
  const expected = { inputTokens: 9, outputMax: 1_000 };
  const text = 'Wherefore art thou Romeo? '.repeat(20);
  const { counted } = metered(said(text));
  const finish: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
  const running = metered(said(text), told(plainUsage(7, 1)), finish);
  expect(completeUsage(running, expected)).toMatchObject({ usage: plainUsage(7, counted), estimated: true });
  const whole = metered(said(text), finish, told(plainUsage(7, 3)));
  expect(completeUsage(whole, expected)).toMatchObject({ usage: plainUsage(7, 3), estimated: false });
});

test('a cut answer is charged the largest of the counted, reported and estimated output, plus hidden reasoning and the provider’s margin', () => {
  const pace = fc.record({
    tokensPerSecond: fc.integer({ min: 1, max: 500 }),
    outputMs: fc.integer({ min: -2_000, max: 5_000 }),
    thought: tokens,
    margin: tokens,
  });
  const words = fc.string({ maxLength: 300 });
  const lawOf = (charge: typeof brokenUsage) =>
    fc.property(answer, pace, words, (given, { tokensPerSecond, outputMs, thought, margin }, since) => {
      const meter = meterOf(given);
      meter.observe([said(since)], 1);
      const { reported, inputTokens, outputMax } = given;
      const [prompt, output] = reported ?? [0, 0];
      const made = outputMs <= 0 ? 0 : Math.ceil((tokensPerSecond * outputMs) / 1000);
      const seen = Math.max(Math.max(made, meter.counted) + thought, output + (reported ? meter.unreported : 0));
      const { usage, estimated } = charge(meter, {
        inputTokens,
        outputMax,
        tokensPerSecond,
        outputMs,
        thought,
        margin,
      });
      expect(usage.inputTokens).toBe(prompt || inputTokens);
      expect(usage.outputTokens).toBe(Math.max(output, Math.min(outputMax, seen + margin)));
      expect(estimated).toBe(true);
    });
  fc.assert(lawOf(brokenUsage), { numRuns: 500 });
  for (const forgotten of [{ margin: 0 }, { thought: 0 }]) {
    const forgets = lawOf((meter, expected) => brokenUsage(meter, { ...expected, ...forgotten }));
    expect(fc.check(forgets, { numRuns: 500, endOnFailure: true }).failed).toBe(true);
  }
});

test('the meter counts parts that only one dialect can express: texts as text, four characters of base64 state as a token', () => {
  const text = 'Wherefore art thou';
  const event = { type: 'content_block_delta' };
  const passed = (unread: UnreadOutput): StreamPart => ({ type: 'passthrough', choice: 0, event, unread });
  const state: StreamPart = { type: 'state', choice: 0, details: [{ type: 'a', text, signature: 'x'.repeat(400) }] };
  expect(metered(passed({ texts: [text, text], stateChars: 400 })).counted).toBe(
    Math.ceil(2 * tokenWeight(text) + 100),
  );
  expect(metered(state).counted).toBe(100);
  expect(metered({ ...state, details: [], extra: { google: { thought_signature: 'x'.repeat(40) } } }).counted).toBe(10);
  // The event with the signature came before the state that was read from it.
  expect(metered(passed({ texts: [], stateChars: 400 }), state).counted).toBe(100);
});

/** Impossible figures: negative, not a number, infinite, or a part larger than its whole. */
const impossible = fc.oneof(
  fc
    .tuple(fc.constantFrom(-1, -1e9, 0.5, 1e15, 1e308, Number.NaN, Number.POSITIVE_INFINITY), fc.nat(300), fc.boolean())
    .map(([odd, even, isInput]) => (isInput ? plainUsage(odd, even) : plainUsage(even, odd))),
  fc.nat(300).map((n) => ({ ...plainUsage(n, 5), units: { cached_input: n + 1 } })),
  fc.nat(300).map((n) => ({ ...plainUsage(5, n), reasoningTokens: n + 1 })),
  fc
    .constantFrom('input', 'output', 'request', 'tool_use', 'constructor', 'of_tomorrow')
    .map((unit) => ({ ...plainUsage(5, 5), units: { [unit]: 1 } })),
);

/** The law: however an answer ends, an impossible report is passed on, so that it raises an alarm. */
const markLaw = (ofCut: typeof cutUsage) =>
  fc.property(answer, impossible, (given, odd) => {
    const meter = meterOf(given);
    meter.observe([told(odd)], 0);
    const ends: MeasuredUsage[] = [
      completeUsage(meter, given),
      brokenUsage(meter, { ...given, tokensPerSecond: 1, outputMs: 0, thought: 0, margin: 0 }),
      ofCut(meter, given),
    ];
    for (const measured of ends) {
      expect(measured).toMatchObject({ estimated: true, impossible: odd });
      expect(isPlausible(measured.usage)).toBe(true);
    }
  });

test('an impossible usage report is remembered whether the answer ended, broke off or was cut', () => {
  fc.assert(markLaw(cutUsage), { numRuns: 500 });
  // This mutant forgets the report.
  const forgets = markLaw((meter, most) => ({ ...cutUsage(meter, most), impossible: null }));
  expect(() => fc.assert(forgets, { numRuns: 500 })).toThrow();
});

/** The law: an impossible report after other reports does not change the charge. */
const impossibleLaw = (observe: (meter: Meter, usage: Usage) => void) =>
  fc.property(answer, impossible, (given, odd) => {
    const { inputTokens, outputMax } = given;
    const [meter, without] = [meterOf(given), meterOf(given)];
    observe(meter, odd);
    const charged = completeUsage(meter, { inputTokens, outputMax });
    expect(charged.usage).toEqual(completeUsage(without, { inputTokens, outputMax }).usage);
    expect(isPlausible(charged.usage) && charged.usage.inputTokens > 0).toBe(true);
    expect(charged).toMatchObject({ estimated: true, impossible: odd });
    // The attempt is also charged if another attempt follows.
    expect(failedUsage(meter, { inputTokens, outputMax })).toEqual(charged);
    // A later plausible report replaces the impossible one.
    meter.observe([told(plainUsage(7, 9))], 0);
    expect(completeUsage(meter, { inputTokens, outputMax })).toMatchObject({ estimated: false, impossible: null });
  });

test('an impossible usage report is ignored for the charge, and is remembered', () => {
  fc.assert(
    impossibleLaw((meter, odd) => meter.observe([told(odd)], 0)),
    { numRuns: 500 },
  );
  // This mutant believes the report.
  const believes = impossibleLaw((meter, odd) => {
    meter.reported = odd;
    meter.impossible = odd;
  });
  expect(() => fc.assert(believes, { numRuns: 500 })).toThrow();
});

test('a failed attempt without a usage report is free; with a report it costs what was reported', () => {
  const expected = { inputTokens: 9, outputMax: 100 };
  expect(failedUsage(metered(said('Oh')), expected)).toBeNull();
  expect(failedUsage(metered(told(plainUsage(7, 0))), expected)).toEqual({ usage: plainUsage(7, 0), estimated: false });
});
