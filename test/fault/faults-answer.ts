import { UPSTREAM_KEY } from '../support/policies.ts';
import type { Event } from './dialect.ts';
import { answered, cut, type Fault, failed, type UpstreamRequest } from './outcome.ts';
import { JUNK, TEXT, USAGE, WORDS } from './sample-texts.ts';
import {
  begin,
  eventsText,
  eventText,
  JSON_TYPE,
  LAST_PIECE,
  ok,
  piece,
  reply,
  SSE,
  send,
  spoken,
  stream,
  unclosed,
  whole,
} from './wire.ts';

const http = (answer: (request: UpstreamRequest) => Response) => ({ speaks: 'http', answer }) as const;
/** Valid HTTP with these bytes as its body. */
const body = (writes: (request: UpstreamRequest) => readonly (string | Uint8Array)[], ...lines: readonly string[]) =>
  ({
    speaks: 'bytes',
    play: (connection, request) => send(connection, request, writes(request), ...lines),
  }) satisfies Fault['upstream'];
const broken = (kind: 'malformed' | 'server') => ({ json: failed(kind), stream: failed(kind) });

/** Sends this error within a stream, or instead of a JSON answer. */
const errorAmid = (error: (request: UpstreamRequest) => Event) =>
  ({
    speaks: 'bytes',
    async play(connection, request) {
      if (!request.stream) return send(connection, request, [JSON.stringify(error(request))]);
      await begin(connection, request);
      await connection.write(piece(eventsText(request.dialect, [error(request)])));
      await connection.write(LAST_PIECE);
      connection.end();
    },
  }) satisfies Fault['upstream'];

/** Larger than the size limits of an event and of a JSON answer. */
const GIANT_EVENT = `data: {"junk":"${JUNK.repeat(160_000)}"}\n\n`;
const MEBIBYTE = ' '.repeat(1_048_576);
const GIANT_REPLY = Array.from({ length: 34 }, () => MEBIBYTE);
let bomb: Uint8Array | null = null;
/** Sends the same bytes, compressed on the wire. */
function giantGzip(): Uint8Array {
  bomb ??= Bun.gzipSync(Buffer.alloc(34 * 1_048_576, ' '));
  return bomb;
}

/** Answers with a 200 that are invalid or unusual. */
export const ANSWER_FAULTS: readonly Fault[] = [
  {
    name: '200 with an error body',
    does: 'answers 200 with an error as JSON',
    upstream: http(({ dialect }) => Response.json(dialect.error(500, JUNK))),
    ...broken('server'),
  },
  {
    name: '200 with an error as its first event',
    does: 'answers 200 with an error as its first event',
    upstream: http((request) => ok(request, eventsText(request.dialect, [request.dialect.error(500, JUNK)]), SSE)),
    ...broken('server'),
  },
  {
    name: '200 that is an error itself',
    does: 'answers 200 with an error in a less usual form of its dialect (bare, with `object`)',
    upstream: http((request) => {
      const error = JSON.stringify(request.dialect.oddError(JUNK));
      return ok(request, request.stream ? eventText('', error) : error);
    }),
    ...broken('server'),
    except: { gemini: { because: 'its error comes in a list, which cannot be an event', stream: failed('malformed') } },
  },
  {
    name: '200 with a 429 in its body',
    does: 'answers 200 with the error of a 429',
    upstream: http(({ dialect }) => Response.json(dialect.error(429, JUNK))),
    json: failed('rate_limited', 'upstream_rate_limited'),
    stream: failed('rate_limited', 'upstream_rate_limited'),
  },
  {
    name: '200 empty',
    does: 'answers 200 with an empty body',
    upstream: http((request) => ok(request, '')),
    ...broken('malformed'),
  },
  {
    name: 'HTML',
    does: 'answers 200 with an HTML page',
    upstream: http((request) => ok(request, `<!doctype html><h1>${JUNK}</h1>`, 'text/html; charset=utf-8')),
    ...broken('malformed'),
  },
  {
    name: 'a plain content type',
    does: 'answers with the content type `text/plain`',
    upstream: http((request) => ok(request, whole(request), 'text/plain')),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'JSON labelled as a stream and the reverse',
    does: 'answers JSON with the content type of a stream, and the reverse',
    upstream: http((request) => ok(request, whole(request), request.stream ? JSON_TYPE : SSE)),
    ...broken('malformed'),
  },
  {
    name: 'JSON for a stream and the reverse',
    does: 'answers JSON to a request for a stream, and the reverse',
    upstream: http((request) => {
      const { dialect } = request;
      return request.stream ? ok(request, reply(dialect), JSON_TYPE) : ok(request, stream(dialect), SSE);
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'an answer without choices',
    does: 'reports usage, but returns no choice',
    upstream: http((request) => {
      const { stream, dialect } = request;
      return ok(
        request,
        stream ? eventsText(dialect, dialect.emptyEvents(USAGE)) + dialect.end : dialect.emptyReply(USAGE),
      );
    }),
    json: failed('malformed', 'upstream_failed', 'reported'),
    stream: failed('malformed', 'upstream_failed', 'reported'),
    except: {
      responses: {
        because: 'its last event reports that the answer failed',
        json: failed('cut', 'upstream_failed', 'reported'),
        stream: failed('cut', 'upstream_failed', 'reported'),
      },
    },
  },
  {
    name: 'giant chunk',
    does: 'sends an event of 2 MiB, or JSON of 34 MiB',
    upstream: body(({ stream }) => (stream ? [GIANT_EVENT] : GIANT_REPLY)),
    ...broken('malformed'),
  },
  {
    name: 'giant chunk, small on the wire',
    does: 'sends 34 MiB of junk, compressed',
    upstream: body(() => [giantGzip()], 'content-encoding: gzip'),
    ...broken('malformed'),
  },
  {
    name: 'giant chunk in the middle of an answer',
    does: 'starts an answer and then sends 2 MiB without an end of the event',
    // Waiting for the end would be a timeout. A busy machine takes a while to read so many bytes.
    deadlines: { firstTokenMs: 5_000, idleMs: 5_000, totalMs: 10_000 },
    upstream: {
      speaks: 'bytes',
      async play(connection, request) {
        await begin(connection, request);
        await connection.write(piece(GIANT_EVENT.trimEnd()));
        if (!request.stream) await connection.write(LAST_PIECE);
      },
    },
    json: failed('malformed'),
    stream: cut('malformed'),
  },
  {
    name: 'a thousand tiny writes',
    does: 'sends its answer byte by byte',
    upstream: body((request) => [...whole(request)]),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'missing usage',
    does: 'reports no usage',
    upstream: http((request) => ok(request, whole(request, null))),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'usage that stops',
    isUnruly: true,
    does: 'reports running usage, but no usage at its end',
    upstream: http((request) => {
      const { stream, dialect } = request;
      if (!stream) return ok(request, reply(dialect, null));
      const words = WORDS.flatMap((text, at) => dialect.word(text, { ...USAGE, output: Math.min(at, 1) }));
      const events = [...dialect.opening(USAGE), ...words, ...dialect.finish('stop', null)];
      return ok(request, eventsText(dialect, events) + dialect.end);
    }),
    json: answered('counted'),
    stream: answered('completed'),
    except: { responses: { because: 'it reports usage only at its end', stream: answered('counted') } },
  },
  {
    name: 'usage of zero',
    does: 'reports zero tokens',
    upstream: http((request) => ok(request, whole(request, { prompt: 0, output: 0 }))),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'repeated usage',
    isUnruly: true,
    does: 'reports running usage, and then its final usage twice',
    upstream: body(({ stream, dialect }) => {
      const running = (output: number) => ({ ...USAGE, output });
      const first = JSON.stringify(dialect.counted(running(1)));
      if (!stream) return [reply(dialect).replace('{', `${first.slice(0, -1)},`)];
      const words = WORDS.flatMap((text, at) => dialect.word(text, running(at)));
      const end = [...dialect.finish('stop', USAGE), ...dialect.report(USAGE)];
      return [eventsText(dialect, dialect.opening(USAGE), words, end), dialect.end];
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'impossible usage',
    does: 'reports −1 and 10³⁰⁸ tokens',
    upstream: http((request) => ok(request, whole(request, { prompt: -1, output: 1e308 }))),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'absurd usage',
    does: 'reports 5,000 tokens although only 20 were allowed',
    upstream: http((request) => ok(request, whole(request, { prompt: 11, output: 5_000 }))),
    json: answered('reserved'),
    stream: answered('reserved'),
  },
  {
    name: 'duplicate finish',
    does: 'finishes twice',
    upstream: body(({ stream, dialect }) => {
      if (!stream) return [dialect.replyEndedTwice(TEXT, USAGE)];
      const again = [...dialect.word(JUNK, null), ...dialect.finish('length', USAGE)];
      return [spoken(dialect), eventsText(dialect, dialect.finish('stop', null), again), dialect.end];
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'data after [DONE]',
    does: 'sends more after `[DONE]`, or after the end of its JSON',
    upstream: body(({ stream, dialect }) => {
      if (!stream) return [`${reply(dialect)}{"x":1}`];
      const finish = dialect.finish('stop', null);
      const whole = spoken(dialect, 4, null) + eventsText(dialect, finish) + dialect.end;
      return [whole + eventsText(dialect, dialect.word(JUNK, null), finish)];
    }),
    json: failed('malformed'),
    stream: answered('counted'),
  },
  {
    name: 'finish after [DONE]',
    does: 'sends `[DONE]` in the middle of its answer, or JSON without the last brace',
    upstream: body(({ stream, dialect }) => {
      if (!stream) return [reply(dialect).slice(0, -1)];
      const begun = spoken(dialect);
      const rest = eventsText(dialect, dialect.word(JUNK, null), dialect.finish('stop', USAGE));
      return [begun, dialect.end, rest];
    }),
    json: failed('malformed'),
    stream: cut('cut'),
    except: {
      gemini: { because: 'its streams have no end mark', stream: null },
      responses: { because: 'its last event is the end of the stream', stream: null },
    },
  },
  {
    name: 'no [DONE]',
    does: 'ends without `[DONE]`, whether JSON or a stream was requested',
    upstream: body(({ dialect }) => [unclosed(dialect)], `content-type: ${SSE}`),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'neither [DONE] nor usage',
    does: 'ends right after its finish reason',
    upstream: body(({ stream, dialect }) => {
      if (!stream) return [reply(dialect, null)];
      return [spoken(dialect, 4, null), eventsText(dialect, dialect.finish('stop', null))];
    }),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'gzip',
    does: 'compresses its answer, although the request says not to',
    upstream: body((request) => [Bun.gzipSync(Buffer.from(whole(request)))], 'content-encoding: gzip'),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'plain bytes labelled as gzip',
    does: 'labels its answer as compressed, although it is not',
    upstream: body((request) => [whole(request)], 'content-encoding: gzip'),
    ...broken('malformed'),
  },
  {
    name: 'CRLF',
    does: 'ends its lines with CR and LF',
    upstream: body((request) =>
      request.stream
        ? [...whole(request).replaceAll('\n', '\r\n')]
        : [JSON.stringify(JSON.parse(whole(request)), null, 2).replaceAll('\n', '\r\n')],
    ),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'comments',
    does: 'sends comments and unknown fields between events, or white space before JSON',
    upstream: body((request) => {
      if (!request.stream) return ['\n', '   \n', whole(request)];
      return whole(request)
        .split(/(?<=\n\n)/)
        .flatMap((one) => [`: ${JUNK}\n\n`, 'retry: 1\n', `id: ${JUNK}\n`, one]);
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'overloaded error in the middle of an answer',
    does: 'starts an answer and then reports that it is overloaded',
    upstream: errorAmid(({ dialect }) => dialect.error(503, JUNK)),
    json: failed('overloaded'),
    stream: cut('overloaded'),
  },
  {
    name: 'API key echoed in the middle of a stream',
    does: 'starts an answer and then sends an error that repeats the API key',
    upstream: errorAmid(({ dialect }) => dialect.error(500, `Incorrect API key: ${UPSTREAM_KEY}`)),
    json: failed('server'),
    stream: cut('server'),
    except: {
      responses: {
        because: 'its errors in a stream have no status, so their text counts',
        json: failed('auth'),
        stream: cut('auth'),
      },
    },
  },
];
