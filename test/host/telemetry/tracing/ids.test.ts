import { describe, expect, test } from 'bun:test';
import { TraceIds } from '../../../../src/host/telemetry/tracing/ids.ts';

describe('the IDs of traces and spans', () => {
  test('IDs are hexadecimal, of the right length and unique', () => {
    const ids = new TraceIds();
    const traces = Array.from({ length: 5_000 }, () => ids.newTraceId());
    const spans = Array.from({ length: 5_000 }, () => ids.newSpanId());
    expect(traces.every((id) => /^(?!0{32})[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(spans.every((id) => /^(?!0{16})[0-9a-f]{16}$/.test(id))).toBe(true);
    expect(new Set([...traces, ...spans]).size).toBe(10_000);
  });
});
