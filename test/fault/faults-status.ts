import { UPSTREAM_KEY } from '../support/policies.ts';
import { type Fault, failed, type Outcome } from './outcome.ts';
import { drip, JUNK } from './wire.ts';

const PAUSE_MS = 30_000;

const both = (outcome: Outcome) => ({ json: outcome, stream: outcome });
const limited = failed('rate_limited', 'upstream_rate_limited');
const tooLong = failed('context', 'context_length_exceeded');
const refused = failed('rejected', 'upstream_rejected_request');

/** Answers with an error of OpenAI's shape. */
const says = (status: number, error: object = {}, headers: () => Record<string, string> = () => ({})) =>
  ({
    speaks: 'http',
    behaviour: () => ({ status, error: { message: `status ${status}`, ...error }, headers: headers() }),
  }) as const;

const plain = (status: 401 | 403 | 404 | 413 | 500 | 502 | 503 | 504 | 529, outcome: Outcome): Fault => ({
  name: String(status),
  of: String(status) as `${typeof status}`,
  does: `answers ${status}`,
  upstream: says(status, { message: JUNK }),
  ...both(outcome),
});

/** Statuses outside 2xx. */
export const STATUS_FAULTS: readonly Fault[] = [
  {
    name: '429 without retry-after',
    of: '429 without retry-after',
    does: 'answers 429, and not for how long',
    upstream: says(429, { type: 'rate_limit_error', message: JUNK }),
    ...both(limited),
  },
  {
    name: '429 with retry-after in seconds',
    of: '429 with retry-after in seconds',
    pauseMs: PAUSE_MS,
    does: 'answers 429 with `retry-after: 30`',
    upstream: says(429, {}, () => ({ 'retry-after': String(PAUSE_MS / 1_000) })),
    ...both(limited),
  },
  {
    name: '429 with retry-after in milliseconds',
    of: '429 with retry-after in milliseconds',
    pauseMs: PAUSE_MS,
    does: 'answers 429 with `retry-after-ms: 30000`',
    upstream: says(429, {}, () => ({ 'retry-after-ms': String(PAUSE_MS) })),
    ...both(limited),
  },
  {
    name: '429 with retry-after as a date',
    of: '429 with retry-after as a date',
    pauseMs: PAUSE_MS,
    does: 'answers 429 with a date as `retry-after`',
    // A date has no parts of a second.
    upstream: says(429, {}, () => ({
      'retry-after': new Date(Date.now() + PAUSE_MS + 999).toUTCString(),
    })),
    ...both(limited),
  },
  {
    name: '400',
    of: '400',
    does: 'answers 400: it refuses the content',
    upstream: says(400, { message: 'messages[0] is not to its taste', type: 'invalid_request_error' }),
    ...both(refused),
  },
  {
    name: '400, too long',
    of: '413',
    does: 'answers 400 with the code `context_length_exceeded`',
    upstream: says(400, { code: 'context_length_exceeded', message: JUNK }),
    ...both(tooLong),
  },
  plain(401, failed('auth')),
  plain(403, failed('auth')),
  plain(404, failed('not_found')),
  plain(413, tooLong),
  plain(500, failed('server')),
  plain(502, failed('server')),
  plain(503, failed('overloaded')),
  plain(504, failed('timeout', 'upstream_timeout')),
  plain(529, failed('overloaded')),
  {
    name: '500 without end',
    of: '500',
    does: 'answers 500 with a body that never ends',
    upstream: {
      speaks: 'bytes',
      async play(line) {
        await line.write('HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\n\r\n');
        await drip(line, 50, () => `${JUNK} `);
      },
    },
    deadlines: { firstTokenMs: 400, idleMs: 400, totalMs: 5_000 },
    ...both(failed('server')),
  },
  {
    name: 'an HTML page with 502',
    of: 'HTML',
    does: 'answers 502 with a page of HTML',
    upstream: {
      speaks: 'http',
      behaviour: () => ({ status: 502, error: `<html><h1>${JUNK}</h1></html>`, contentType: 'text/html' }),
    },
    ...both(failed('server')),
  },
  {
    name: 'redirect',
    of: 'redirect',
    does: 'answers 307',
    // Whoever follows it loops, and is seen to by the count of its requests.
    upstream: { speaks: 'http', behaviour: () => ({ status: 307, headers: { location: '/v1/chat/completions' } }) },
    ...both(failed('not_found')),
  },
  {
    name: 'key echoed in a 401',
    of: 'key echoed in an error',
    does: 'answers 401 and repeats the key',
    upstream: says(401, { message: `Incorrect API key provided: ${UPSTREAM_KEY}.`, code: 'invalid_api_key' }),
    ...both(failed('auth')),
  },
  {
    name: 'key echoed in a 400',
    of: 'key echoed in an error',
    does: 'answers 400 and repeats the key and its own address',
    upstream: says(400, { message: `Not with ${UPSTREAM_KEY} at http://10.0.0.1:8080/v1, nor 127.0.0.1:80.` }),
    ...both(refused),
  },
];
