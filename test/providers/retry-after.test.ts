import { describe, expect, test } from 'bun:test';
import { retryAfterMs } from '../../src/providers/retry-after.ts';

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
  expect(retryAfterMs(new Headers(headers), NOW, 503)).toBe(ms as number);
});

const openai = (limit: string, remaining: string, reset: string) => ({
  [`x-ratelimit-remaining-${limit}`]: remaining,
  [`x-ratelimit-reset-${limit}`]: reset,
});
const anthropic = (limit: string, remaining: string, reset: string) => ({
  [`anthropic-${limit}-remaining`]: remaining,
  [`anthropic-${limit}-reset`]: reset,
});

describe('without the header, the exhausted limit of a 429 determines the wait', () => {
  test.each<[Record<string, string>, number | undefined]>([
    [openai('requests', '0', '1s'), 1_000],
    [openai('tokens', '0', '6m0s'), 360_000],
    [openai('tokens', '0', '120ms'), 120],
    [openai('tokens', '0', '1h2m3.5s'), 3_723_500],
    [openai('tokens', '0', '30d'), 86_400_000],
    [openai('tokens', '17', '6m0s'), undefined],
    [{ ...openai('requests', '0', '2s'), ...openai('tokens', '0', '6m0s') }, 360_000],
    [{ ...openai('requests', '0', '2s'), ...openai('tokens', '149000', '6m0s') }, 2_000],
    [openai('tokens', '0', '1790000000'), undefined],
    [openai('tokens', '0', 'soon'), undefined],
    [openai('tokens', '', '1s'), undefined],
    [{ 'x-ratelimit-remaining-tokens': '0' }, undefined],
    [anthropic('ratelimit-requests', '0', '2026-01-01T00:00:07Z'), 7_000],
    [anthropic('ratelimit-input-tokens', '0', '2026-01-01T01:00:00+01:00'), 0],
    [anthropic('ratelimit-output-tokens', '1', '2026-01-01T00:00:07Z'), undefined],
    [anthropic('priority-input-tokens', '0', '2026-01-01T00:00:03Z'), 3_000],
    [anthropic('ratelimit-tokens', '0', 'tomorrow'), undefined],
    [{ ...openai('requests', '0', '9s'), 'retry-after': '2' }, 2_000],
    [{ ...openai('requests', '0', '9s'), 'retry-after': 'soon' }, 9_000],
  ])('%j: %p ms', (headers, ms) => {
    expect(retryAfterMs(new Headers(headers), NOW, 429)).toBe(ms as number);
  });

  test('for another status there is no wait', () => {
    expect(retryAfterMs(new Headers(openai('requests', '0', '1s')), NOW, 500)).toBeUndefined();
  });
});
