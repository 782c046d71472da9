import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { StreamPart } from '../../src/contract/parts.ts';
import { plainUsage, type Usage } from '../../src/core/usage.ts';
import { brokenUsage, completeUsage, Meter } from '../../src/gateway/meter.ts';
import { anyCodePoint } from '../support/any-code-point.ts';

const said = (text: string): StreamPart => ({ type: 'text', choice: 0, text });
const told = (usage: Usage): StreamPart => ({ type: 'usage', usage });
function metered(...parts: StreamPart[]): Meter {
  const meter = new Meter();
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

describe('what a meter has seen', () => {
  test('lasts from the first content to the last, whatever else comes', () => {
    const meter = new Meter();
    meter.observe([told(plainUsage(1, 1))], 5);
    expect([meter.firstContentAt, meter.contentMs]).toEqual([null, 0]);
    for (const now of [10, 20, 45]) meter.observe([said('a')], now);
    meter.observe([told(plainUsage(1, 1))], 90);
    expect([meter.firstContentAt, meter.contentMs]).toEqual([10, 35]);
  });

  test('counts the name of a tool call, its arguments, reasoning and refusals as it counts text', () => {
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

test('a whole answer is charged as reported; of what a report leaves at 0, the prompt as expected and the output as seen, within the cap', () => {
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

test('what came behind the last report is charged as it was seen, within the cap', () => {
  const law = fc.property(answer, tokens, (given, more) => {
    const { text, inputTokens, outputMax } = given;
    const meter = metered(told(plainUsage(more + 1, more)), said(text));
    const { counted } = metered(said(text));
    const { usage, estimated } = completeUsage(meter, { inputTokens, outputMax });
    const charged = Math.max(more, Math.min(more + counted, outputMax));
    expect([usage, estimated]).toEqual([plainUsage(more + 1, charged), true]);
    meter.observe([told(plainUsage(7, 9))], 0);
    expect(completeUsage(meter, { inputTokens, outputMax })).toEqual({ usage: plainUsage(7, 9), estimated: false });
  });
  fc.assert(law, { numRuns: 500 });
});

test('a report before the end may be a running count: what was seen is charged where it is more', () => {
  const expected = { inputTokens: 9, outputMax: 1_000 };
  const text = 'Wherefore art thou Romeo? '.repeat(20);
  const { counted } = metered(said(text));
  const finish: StreamPart = { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' };
  const running = metered(said(text), told(plainUsage(7, 1)), finish);
  expect(completeUsage(running, expected)).toEqual({ usage: plainUsage(7, counted), estimated: true });
  const whole = metered(said(text), finish, told(plainUsage(7, 3)));
  expect(completeUsage(whole, expected)).toEqual({ usage: plainUsage(7, 3), estimated: false });
});

test('a cut answer is charged the most of what was seen, reported and will have been made: but for the report, within the cap', () => {
  const pace = fc.record({
    tokensPerSecond: fc.integer({ min: 1, max: 500 }),
    outputMs: fc.integer({ min: -2_000, max: 5_000 }),
  });
  const law = fc.property(answer, pace, (given, { tokensPerSecond, outputMs }) => {
    const meter = meterOf(given);
    const { reported, inputTokens, outputMax } = given;
    const [prompt, output] = reported ?? [0, 0];
    const made = outputMs <= 0 ? 0 : Math.ceil((tokensPerSecond * outputMs) / 1000);
    const { usage, estimated } = brokenUsage(meter, { inputTokens, outputMax, tokensPerSecond, outputMs });
    expect(usage.inputTokens).toBe(prompt || inputTokens);
    expect(usage.outputTokens).toBe(Math.max(output, Math.min(outputMax, Math.max(made, meter.counted))));
    expect(estimated).toBe(true);
  });
  fc.assert(law, { numRuns: 500 });
});
