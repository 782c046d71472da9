import { expect, test } from 'bun:test';
import { retryAfterMs } from '../../src/upstream/retry-after.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

test.each<[Record<string, string>, number | undefined]>([
  [{}, undefined],
  [{ 'retry-after': '3' }, 3_000],
  [{ 'retry-after': '0.25' }, 250],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }, 5_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
  [{ 'retry-after-ms': '120', 'retry-after': '3' }, 120],
  [{ 'retry-after-ms': 'soon', 'retry-after': '3' }, 3_000],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after': '99999999999' }, 86_400_000],
])('%j asks for %p ms', (headers, ms) => {
  expect(retryAfterMs(new Headers(headers), NOW)).toBe(ms as number);
});
