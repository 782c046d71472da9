import { type Static, type TObject, Type } from '@sinclair/typebox';
import type { KeyLimits } from '../core/caller.ts';
import { closed, integer, optional, string } from './schema-parts.ts';

const most = (example: number, description: string) =>
  optional.integer({ minimum: 1, maximum: 1_000_000_000, example }, description);

/** The figures of a rate limit, of the policy, a team, a member or the subject of a token. */
export const RATE_KEYS = {
  requests_per_minute: most(
    600,
    'Most chat and route requests in a minute. So many may come at once; what is used comes back evenly.',
  ),
  tokens_per_minute: most(
    400_000,
    'Most tokens of chats in a minute, input and output: estimated at first, used in the end.',
  ),
  concurrent_streams: most(20, 'Most chat requests with `stream: true` that run at once.'),
};

/** The figures as the code names them; null for those that are not stated. */
export const ratesOf = (stated: Partial<Static<TObject<typeof RATE_KEYS>>>): KeyLimits => ({
  requestsPerMinute: stated.requests_per_minute ?? null,
  tokensPerMinute: stated.tokens_per_minute ?? null,
  concurrentStreams: stated.concurrent_streams ?? null,
});

const perMinute = (fallback: number, description: string) =>
  integer({ minimum: 1, maximum: 1_000_000, default: fallback }, description);

export const CorsText = Type.Optional(
  closed('Web pages that may call this gateway from a browser. Default: none.', {
    origins: Type.Array(string({ minLength: 1, maxLength: 512 }, 'Scheme, host and port: `https://app.example`.'), {
      maxItems: 1_000,
      examples: [['https://app.example', 'http://localhost:5173']],
      description: 'Origins whose pages may call `/v1/…` and read the answers. They can never call operators’ routes.',
    }),
  }),
);

/** The admission limits in the section `gateway`. */
export const ADMISSION_KEYS = {
  trusted_proxies: Type.Array(
    string({ minLength: 1, maxLength: 64 }, 'A range such as 10.0.0.0/8 or fd00::/8, or an address.'),
    {
      maxItems: 256,
      default: [],
      examples: [['10.0.0.0/8', 'fd00::/8']],
      description:
        'Proxies whose `X-Forwarded-For` is believed. The caller is its rightmost address outside these ranges.',
    },
  ),
  concurrency_max: integer(
    { minimum: 1, maximum: 20_000, default: 2000 },
    'Most chat and route requests at once, each until its answer or stream ends. The last tenth is for callers that hold less than a tenth.',
  ),
  bodies_bytes_max: integer(
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 536_870_912 },
    'Most bytes of request bodies in flight; no caller holds more than is free. Beyond it: 503 `overloaded`.',
  ),
  answers_bytes_max: integer(
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 268_435_456 },
    'Most bytes of providers’ JSON answers held at once; no caller holds more than is free. Beyond it: 503 `overloaded`, charged as a request that was cut off.',
  ),
  queue_max: integer(
    { minimum: 0, maximum: 10_000, default: 500 },
    'Most requests that wait to start. Beyond it: 503 `overloaded`.',
  ),
  queue_ms: integer(
    { minimum: 1, maximum: 10_000, default: 1000 },
    'Milliseconds that a request waits to start, at most.',
  ),
  failed_auth_per_minute: perMinute(
    30,
    'Most requests a minute from one address that lack a valid key where one is needed.',
  ),
  keyless_per_minute: perMinute(
    600,
    'Most requests a minute from one address that need no API key; `/healthz` and `/readyz` are not counted.',
  ),
  reports_per_minute: perMinute(
    60,
    'Most requests a minute with a key that has the scope `report`. A signed-in person who is not an admin, and all browsers that are signed in with one such key, may send four times as many. Limits in `rate_limits` do not count them.',
  ),
} as const;
