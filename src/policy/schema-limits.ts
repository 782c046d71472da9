import { type Static, Type } from '@sinclair/typebox';
import { closed, expression, integer, itemName, string } from './schema-parts.ts';

const PER_MINUTE_MAX = 1_000_000_000;

const perMinute = (fallback: number, description: string) =>
  integer({ minimum: 1, maximum: 1_000_000, default: fallback }, description);

export const RateLimitText = closed(
  {
    name: itemName('Its name, in messages. Under another name it is another limit, which begins anew.', 'per-key'),
    each: Type.Optional(
      expression(
        'Whose share it is: `key`, `address`, or CEL over `key` that gives a text. Each has a share of its own. Without it, one for everyone together.',
        'key.labels.team',
        'key',
        'address',
      ),
    ),
    match: Type.Optional(
      expression('The keys that it is for: CEL over `key`. Without it, all.', 'key.labels.tier == "free"'),
    ),
    requests_per_minute: Type.Optional(
      integer(
        { minimum: 1, maximum: PER_MINUTE_MAX, example: 600 },
        'Most chat and route requests in a minute. So many may come at once; what is used comes back evenly.',
      ),
    ),
    tokens_per_minute: Type.Optional(
      integer(
        { minimum: 1, maximum: PER_MINUTE_MAX, example: 400_000 },
        'Tokens of chat requests, input and output: what is expected counts at once, what was used in the end.',
      ),
    ),
    concurrent_streams: Type.Optional(
      integer(
        { minimum: 1, maximum: 1_000_000, example: 20 },
        'Most chat requests with `stream: true` that run at once.',
      ),
    ),
  },
  {
    description:
      'A limit on how fast requests come. At least one of `requests_per_minute`, `tokens_per_minute` and `concurrent_streams`.',
  },
);
export type RateLimitText = Static<typeof RateLimitText>;

export const CorsText = Type.Optional(
  closed(
    {
      origins: Type.Array(string({ minLength: 1, maxLength: 512 }, 'Scheme, host and port: `https://app.example`.'), {
        maxItems: 1_000,
        examples: [['https://app.example', 'http://localhost:5173']],
        description:
          'Origins whose pages may call `/v1/…` and read the answers. Operators’ routes are never among them.',
      }),
    },
    { description: 'Which web pages may use this gateway from a browser. Without it, none.' },
  ),
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
        'Whose `X-Forwarded-For` is believed, its rightmost address that is not one of these; nobody else’s.',
    },
  ),
  concurrency_max: integer(
    { minimum: 1, maximum: 20_000, default: 2000 },
    'Most chat and route requests at once, each until its answer or stream ends. The last tenth is for callers that hold less than a tenth.',
  ),
  bodies_bytes_max: integer(
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 536_870_912 },
    'Most bytes that the bodies of these requests have together, counted as they arrive; a caller may hold as many as are still free. Further ones get 503 `overloaded`.',
  ),
  answers_bytes_max: integer(
    { minimum: 1_048_576, maximum: 1_099_511_627_776, default: 268_435_456 },
    'Most bytes of JSON answers of providers that are held at once. No caller holds more than is left for the others, so one alone gets half. A request whose answer finds no room gets 503 `overloaded`, and is charged as one that was cut off.',
  ),
  queue_max: integer(
    { minimum: 0, maximum: 10_000, default: 500 },
    'Most requests that wait for a place among them; further ones get 503 `overloaded` at once.',
  ),
  queue_ms: integer({ minimum: 1, maximum: 10_000, default: 1000 }, 'Milliseconds that they wait at most.'),
  failed_auth_per_minute: perMinute(
    30,
    'Most requests a minute from one address that need an API key and have no valid one. Good keys pass.',
  ),
  keyless_per_minute: perMinute(
    600,
    'Most requests a minute from one address that need no API key; `/healthz` and `/readyz` are not counted.',
  ),
} as const;
