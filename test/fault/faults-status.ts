import { UPSTREAM_KEY } from '../support/policies.ts';
import type { Dialect } from './dialect.ts';
import { type Fault, failed, type Outcome } from './outcome.ts';
import { JUNK } from './sample-texts.ts';
import { drip } from './wire.ts';

const PAUSE_MS = 30_000;

const both = (outcome: Outcome) => ({ json: outcome, stream: outcome });
const limited = failed('rate_limited', 'upstream_rate_limited');
const tooLong = failed('context', 'context_length_exceeded');
const refused = failed('rejected', 'upstream_rejected_request');

/** Answers with an error of its dialect. */
const says = (
  status: number,
  body: (dialect: Dialect) => object = (dialect) => dialect.error(status, JUNK),
  headers: () => Record<string, string> = () => ({}),
) =>
  ({
    speaks: 'http',
    answer: ({ dialect }) => Response.json(body(dialect), { status, headers: headers() }),
  }) satisfies Fault['upstream'];

const plain = (status: 401 | 402 | 403 | 404 | 413 | 500 | 502 | 503 | 504 | 529, outcome: Outcome): Fault => ({
  name: String(status),
  does: `answers ${status}`,
  upstream: says(status),
  ...both(outcome),
});

/** Answers with a status that is not 2xx. */
export const STATUS_FAULTS: readonly Fault[] = [
  {
    name: '429 without retry-after',
    does: 'answers 429 without saying for how long',
    upstream: says(429),
    ...both(limited),
  },
  {
    name: '429 with retry-after in seconds',
    pauseMs: PAUSE_MS,
    does: 'answers 429 and states a wait in seconds, as its dialect does (`retry-after: 30`)',
    upstream: {
      speaks: 'http',
      answer({ dialect }) {
        const { headers, body } = dialect.pause(PAUSE_MS / 1_000);
        return Response.json(body, { status: 429, headers });
      },
    },
    ...both(limited),
  },
  {
    name: '429 with retry-after in milliseconds',
    pauseMs: PAUSE_MS,
    does: 'answers 429 with `retry-after-ms: 30000`',
    upstream: says(429, undefined, () => ({ 'retry-after-ms': String(PAUSE_MS) })),
    ...both(limited),
  },
  {
    name: '429 with retry-after as a date',
    pauseMs: PAUSE_MS,
    does: 'answers 429 with a date as `retry-after`',
    // A date has whole seconds.
    upstream: says(429, undefined, () => ({
      'retry-after': new Date(Date.now() + PAUSE_MS + 999).toUTCString(),
    })),
    ...both(limited),
  },
  {
    name: '400',
    does: 'answers 400: it refuses the content',
    upstream: says(400, (dialect) => dialect.error(400, 'messages[0] is not to its taste')),
    ...both(refused),
  },
  {
    name: '400, too long',
    does: 'answers 400: the prompt is too long',
    upstream: says(400, (dialect) => dialect.tooLong(JUNK)),
    ...both(tooLong),
  },
  plain(401, failed('auth')),
  plain(402, failed('credit', 'upstream_out_of_credit')),
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
    does: 'answers 500 with a body that never ends',
    upstream: {
      speaks: 'bytes',
      async play(line) {
        await line.write('HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\n\r\n');
        await drip(line, 50, () => `${JUNK} `);
      },
    },
    deadlines: { firstTokenMs: 1_000, idleMs: 1_000, totalMs: 5_000 },
    ...both(failed('server')),
  },
  {
    name: 'an HTML page with 502',
    does: 'answers 502 with an HTML page',
    upstream: {
      speaks: 'http',
      answer: () =>
        new Response(`<html><h1>${JUNK}</h1></html>`, { status: 502, headers: { 'content-type': 'text/html' } }),
    },
    ...both(failed('server')),
  },
  {
    name: 'redirect',
    does: 'answers 307',
    // A gateway that follows the redirect would loop, which the number of requests shows.
    upstream: { speaks: 'http', answer: () => new Response(null, { status: 307, headers: { location: '?' } }) },
    ...both(failed('not_found')),
  },
  {
    name: 'key echoed in a 401',
    does: 'refuses the API key, as its dialect does, and repeats it',
    upstream: {
      speaks: 'http',
      answer({ dialect }) {
        const { status, body } = dialect.refusedKey(`Incorrect API key provided: ${UPSTREAM_KEY}.`);
        return Response.json(body, { status });
      },
    },
    ...both(failed('auth')),
  },
  {
    name: 'key echoed in a 400',
    does: 'answers 400 and repeats the API key and its own address',
    upstream: says(400, (dialect) =>
      dialect.error(400, `Not with ${UPSTREAM_KEY} at http://10.0.0.1:8080/v1, nor 127.0.0.1:80.`),
    ),
    ...both(refused),
  },
];
