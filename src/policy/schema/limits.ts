import { type Static, type TObject, Type } from '@sinclair/typebox';
import { closed, optional, text, whole } from '../../core/define/fields.ts';
import type { KeyLimits } from '../../core/people/caller.ts';

const most = (example: number, description: string) =>
  optional(whole(description, { minimum: 1, maximum: 1_000_000_000, example }));

/** The figures of a rate limit: a limit of the policy, a team, a member or a token's subject. */
export const RATE_KEYS = {
  requests_per_minute: most(
    600,
    'The most chat and route requests in a minute. All of them may arrive at once; used capacity then returns evenly over a minute.',
  ),
  tokens_per_minute: most(
    400_000,
    'The most chat tokens in a minute, input and output together. A request first counts with its estimate, and at its end with its actual usage.',
  ),
  concurrent_streams: most(20, 'The most chat requests with `stream: true` at the same time.'),
};

/** Returns the figures of a rate limit under their names in the code; null for figures that are not stated. */
export const ratesOf = (stated: Partial<Static<TObject<typeof RATE_KEYS>>>): KeyLimits => ({
  requestsPerMinute: stated.requests_per_minute ?? null,
  tokensPerMinute: stated.tokens_per_minute ?? null,
  concurrentStreams: stated.concurrent_streams ?? null,
});

const perMinute = (fallback: number, description: string) =>
  whole(description, { minimum: 1, maximum: 1_000_000, default: fallback });

export const CorsText = Type.Optional(
  closed('Web pages that may call this gateway from a browser. Default: none.', {
    origins: Type.Array(
      text('Scheme, host and port, such as `https://app.example`.', { minLength: 1, maxLength: 512 }),
      {
        maxItems: 1_000,
        examples: [['https://app.example', 'http://localhost:5173']],
        description:
          'Origins whose web pages may call `/v1/…` and read the answers. They can never call the operators’ routes.',
      },
    ),
  }),
);

/** The admission limits in the section `gateway`. */
export const ADMISSION_KEYS = {
  trusted_proxies: Type.Array(
    text('An address range such as 10.0.0.0/8 or fd00::/8, or a single address.', { minLength: 1, maxLength: 64 }),
    {
      maxItems: 256,
      default: [],
      examples: [['10.0.0.0/8', 'fd00::/8']],
      description:
        'Address ranges of proxies whose `X-Forwarded-For` header is trusted. The caller is the rightmost address in that header outside these ranges.',
    },
  ),
  concurrency_max: whole(
    'The most chat and route requests in progress at the same time, each until its answer or stream ends. The last tenth is reserved for callers that use less than a tenth.',
    { minimum: 1, maximum: 20_000, default: 2000 },
  ),
  bodies_bytes_max: whole(
    'The most bytes of request bodies in memory. One caller can never hold more bytes than remain free. Above the limit, requests get 503 `overloaded`.',
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 536_870_912 },
  ),
  answers_bytes_max: whole(
    'The most bytes in memory of providers’ JSON answers, of stored answers that are sent again, and of streams that guards hold back. One caller can never hold more bytes than remain free. Above the limit, requests get 503 `overloaded`, and are charged like a request whose answer was cut off. Repeats are not charged.',
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 268_435_456 },
  ),
  queue_max: whole('The most requests that wait to start. Above the limit, requests get 503 `overloaded`.', {
    minimum: 0,
    maximum: 10_000,
    default: 500,
  }),
  queue_ms: whole('The longest time that a request waits to start, in milliseconds.', {
    minimum: 1,
    maximum: 10_000,
    default: 1000,
  }),
  failed_auth_per_minute: perMinute(
    30,
    'The most requests a minute from one IP address that have no valid key although a key is required.',
  ),
  keyless_per_minute: perMinute(
    600,
    'The most requests a minute from one IP address to routes that require no API key. `/healthz` and `/readyz` are not counted.',
  ),
  reports_per_minute: perMinute(
    60,
    'The most requests a minute with a key that has the scope `report`. A signed-in person who is not an admin may send four times as many, and so may all browsers together that are signed in with the same `report` key. The limits in `rate_limits` do not count these requests.',
  ),
} as const;
