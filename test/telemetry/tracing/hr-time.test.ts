import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { elapsed, type HrTime, hrTimeAt } from '../../../src/telemetry/tracing/hr-time.ts';
import { newSpanId, newTraceId } from '../../../src/telemetry/tracing/ids.ts';

const nanoseconds = ([seconds, rest]: HrTime): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(rest);

describe('a moment', () => {
  test('is exact below a microsecond', () => {
    expect(hrTimeAt(1_700_000_000_000, 1_234.567_89)).toEqual([1_700_000_001, 234_567_890]);
    expect(hrTimeAt(1_700_000_000_999.5, 0.5)).toEqual([1_700_000_001, 0]);
  });

  test('is monotonic, with nanoseconds below a second', () => {
    const origin = fc.double({ min: 1.6e12, max: 2.5e12, noNaN: true });
    const since = fc.double({ min: 0, max: 1e10, noNaN: true });
    const step = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e-3, noNaN: true }), since);
    fc.assert(
      fc.property(origin, since, step, (originMs, ms, later) => {
        const [from, to] = [hrTimeAt(originMs, ms), hrTimeAt(originMs, ms + later)];
        expect(nanoseconds(to)).toBeGreaterThanOrEqual(nanoseconds(from));
        expect(to[1]).toBeGreaterThanOrEqual(0);
        expect(to[1]).toBeLessThan(1_000_000_000);
        expect(nanoseconds(elapsed(from, to))).toBe(nanoseconds(to) - nanoseconds(from));
        expect(Math.abs(Number(nanoseconds(to)) / 1e6 - originMs - ms - later)).toBeLessThan(0.01);
      }),
    );
  });
});

describe('IDs', () => {
  test('are hexadecimal, of the right length and unique', () => {
    const traces = Array.from({ length: 5_000 }, newTraceId);
    const spans = Array.from({ length: 5_000 }, newSpanId);
    expect(traces.every((id) => /^(?!0{32})[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(spans.every((id) => /^(?!0{16})[0-9a-f]{16}$/.test(id))).toBe(true);
    expect(new Set([...traces, ...spans]).size).toBe(10_000);
  });
});
