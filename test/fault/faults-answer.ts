import type { Behaviour } from '../support/fake-upstream.ts';
import { UPSTREAM_KEY } from '../support/policies.ts';
import { type Asked, answered, cut, type Fault, failed, HASTY, lost } from './outcome.ts';
import {
  begin,
  DONE,
  event,
  finish,
  JUNK,
  LAST_PIECE,
  piece,
  REPLY,
  REPORT,
  ROLE,
  reply,
  SPOKEN,
  STREAM,
  send,
  USAGE,
  WORDS,
  whole,
  word,
} from './wire.ts';

const http = (behaviour: (asked: Asked) => Behaviour) => ({ speaks: 'http', behaviour }) as const;
/** Well-formed HTTP with these bytes as its body. */
const body = (writes: (asked: Asked) => readonly (string | Uint8Array)[], ...lines: readonly string[]) =>
  ({ speaks: 'bytes', play: (line, asked) => send(line, asked, writes(asked), ...lines) }) satisfies Fault['upstream'];
const broken = (kind: 'malformed' | 'server') => ({ json: failed(kind), stream: failed(kind) });

/** More than an event may have, and more than a JSON answer may. */
const GIANT_EVENT = `data: {"junk":"${JUNK.repeat(160_000)}"}\n\n`;
const MEBIBYTE = ' '.repeat(1_048_576);
const GIANT_REPLY = Array.from({ length: 34 }, () => MEBIBYTE);
let bomb: Uint8Array | null = null;
/** As much, and small on the wire. */
function giantGzip(): Uint8Array {
  bomb ??= Bun.gzipSync(Buffer.alloc(34 * 1_048_576, ' '));
  return bomb;
}

/** Answers with a 200 that are no answers, or odd ones. */
export const ANSWER_FAULTS: readonly Fault[] = [
  {
    name: '200 with an error body',
    of: '200 with an error body',
    does: 'answers 200 with an error as JSON',
    upstream: http(() => ({ form: 'json', raw: [JSON.stringify({ error: { message: JUNK, type: 'server_error' } })] })),
    ...broken('server'),
  },
  {
    name: '200 with an error as its first event',
    of: '200 with an error body',
    does: 'answers 200 with an error as its first event',
    upstream: http(() => ({ form: 'sse', raw: [event({ error: { message: JUNK, type: 'server_error' } })] })),
    ...broken('server'),
  },
  {
    name: '200 that is an error itself',
    of: '200 with an error body',
    does: 'answers 200 with a bare error, by its `object`',
    upstream: http(({ stream }) => {
      const error = { object: 'error', message: JUNK, type: 'InternalServerError', code: 500 };
      return { raw: [stream ? event(error) : JSON.stringify(error)] };
    }),
    ...broken('server'),
  },
  {
    name: '200 with a 429 in its body',
    of: '200 with an error body',
    does: 'answers 200 with an error whose code is 429',
    upstream: http(() => ({ form: 'json', raw: [JSON.stringify({ error: { message: JUNK, code: 429 } })] })),
    json: failed('rate_limited', 'upstream_rate_limited'),
    stream: failed('rate_limited', 'upstream_rate_limited'),
  },
  {
    name: '200 empty',
    of: '200 empty',
    does: 'answers 200 with an empty body',
    upstream: http(() => ({ raw: [] })),
    ...broken('malformed'),
  },
  {
    name: 'HTML',
    of: 'HTML',
    does: 'answers 200 with a page of HTML',
    upstream: http(() => ({ raw: [`<!doctype html><h1>${JUNK}</h1>`], contentType: 'text/html; charset=utf-8' })),
    ...broken('malformed'),
  },
  {
    name: 'a plain content type',
    of: 'wrong content type',
    does: 'calls its answer `text/plain`',
    upstream: http((asked) => ({ raw: [whole(asked)], contentType: 'text/plain' })),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'the content type of the other form',
    of: 'wrong content type',
    does: 'calls JSON a stream, and a stream JSON',
    upstream: http((asked) => ({
      raw: [whole(asked)],
      contentType: asked.stream ? 'application/json' : 'text/event-stream',
    })),
    ...broken('malformed'),
  },
  {
    name: 'JSON for a stream and the reverse',
    of: 'JSON for a stream and the reverse',
    does: 'answers in the form that was not asked for',
    upstream: http(({ stream }) => (stream ? { form: 'json', raw: [REPLY] } : { form: 'sse', raw: [STREAM] })),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'an answer without choices',
    of: '200 empty',
    does: 'reports usage and gives no choice',
    upstream: http(({ stream }) => ({
      raw: [stream ? ROLE + REPORT + DONE : JSON.stringify({ object: 'chat.completion', choices: [], usage: USAGE })],
    })),
    json: failed('malformed', 'upstream_failed', 'reported'),
    stream: failed('malformed', 'upstream_failed', 'reported'),
  },
  {
    name: 'giant chunk',
    of: 'giant chunk',
    does: 'sends an event of 2 MiB, or JSON of 34 MiB',
    upstream: body(({ stream }) => (stream ? [GIANT_EVENT] : GIANT_REPLY)),
    ...broken('malformed'),
  },
  {
    name: 'giant chunk, small on the wire',
    of: 'giant chunk',
    does: 'sends 34 MiB of nothing, compressed',
    upstream: body(() => [giantGzip()], 'content-encoding: gzip'),
    ...broken('malformed'),
  },
  {
    name: 'giant chunk amid an answer',
    of: 'giant chunk',
    does: 'begins an answer, and then sends 2 MiB without an end',
    // Who waited for the end would call it a timeout.
    deadlines: HASTY,
    upstream: {
      speaks: 'bytes',
      async play(line, asked) {
        await begin(line, asked);
        await line.write(piece(GIANT_EVENT.trimEnd()));
        if (!asked.stream) await line.write(LAST_PIECE);
      },
    },
    json: failed('malformed'),
    stream: cut('malformed'),
  },
  {
    name: 'a thousand tiny writes',
    of: 'a thousand tiny writes',
    does: 'sends its answer byte by byte',
    upstream: body((asked) => [...whole(asked)]),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'missing usage',
    of: 'missing usage',
    does: 'reports no usage',
    upstream: http(() => ({ text: WORDS, usage: 'missing' })),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'usage of zero',
    of: 'missing usage',
    does: 'reports zero tokens',
    upstream: http(() => ({ text: WORDS, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } })),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'repeated usage',
    of: 'repeated usage',
    does: 'reports running counts, and then its usage twice',
    upstream: body(({ stream }) => {
      const running = (completion_tokens: number) => ({ usage: { ...USAGE, completion_tokens } });
      const words = WORDS.map((text, at) => word(text, running(at)));
      if (stream) return [ROLE, ...words, finish(), REPORT, REPORT, DONE];
      return [REPLY.replace('{', `{"usage":${JSON.stringify(running(1).usage)},`)];
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'impossible usage',
    of: 'absurd usage',
    does: 'reports −1 and 10³⁰⁸ tokens',
    upstream: http(() => ({ text: WORDS, usage: { prompt_tokens: -1, completion_tokens: 1e308 } })),
    json: answered('reserved'),
    stream: answered('reserved'),
  },
  {
    name: 'absurd usage',
    of: 'absurd usage',
    does: 'reports 5,000 tokens where 20 were allowed',
    upstream: http(() => ({ text: WORDS, usage: { prompt_tokens: 11, completion_tokens: 5_000 } })),
    json: answered('reserved'),
    stream: answered('reserved'),
  },
  {
    name: 'duplicate finish',
    of: 'duplicate finish',
    does: 'finishes twice',
    upstream: body(({ stream }) => {
      if (stream) return [SPOKEN, finish(), word(JUNK), finish('length'), REPORT, DONE];
      const choice = (JSON.parse(REPLY) as { choices: unknown[] }).choices[0];
      return [reply({}, {}, { choices: [choice, choice] })];
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'data after [DONE]',
    of: 'data after [DONE]',
    does: 'goes on after `[DONE]`; with JSON, after its end',
    upstream: body(({ stream }) => [stream ? SPOKEN + finish() + DONE + word(JUNK) + finish() : `${REPLY}{"x":1}`]),
    json: failed('malformed'),
    stream: answered('counted'),
  },
  {
    name: 'finish after [DONE]',
    of: 'data after [DONE]',
    does: 'says `[DONE]` amid its answer; with JSON, ends before its last brace',
    upstream: body(({ stream }) => (stream ? [SPOKEN, DONE, word(JUNK) + finish() + REPORT] : [REPLY.slice(0, -1)])),
    json: failed('malformed'),
    stream: cut('cut'),
  },
  {
    name: 'no [DONE]',
    of: 'no [DONE]',
    does: 'ends without `[DONE]`, with whatever form was asked for',
    upstream: body(() => [SPOKEN + finish() + REPORT], 'content-type: text/event-stream'),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'no [DONE], nor usage',
    of: 'no [DONE]',
    does: 'ends after its finish',
    upstream: body(({ stream }) => (stream ? [SPOKEN, finish()] : [reply({}, {}, { usage: null })])),
    json: answered('counted'),
    stream: answered('counted'),
  },
  {
    name: 'gzip',
    of: 'gzip',
    does: 'compresses its answer',
    upstream: body((asked) => [Bun.gzipSync(Buffer.from(whole(asked)))], 'content-encoding: gzip'),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'gzip that is none',
    of: 'gzip',
    does: 'says that its answer is compressed, and it is not',
    upstream: body((asked) => [whole(asked)], 'content-encoding: gzip'),
    json: lost('cut'),
    stream: lost('cut'),
  },
  {
    name: 'CRLF',
    of: 'CRLF',
    does: 'ends its lines with CR and LF',
    upstream: body((asked) =>
      asked.stream
        ? [...STREAM.replaceAll('\n', '\r\n')]
        : [JSON.stringify(JSON.parse(REPLY), null, 2).replaceAll('\n', '\r\n')],
    ),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'comments',
    of: 'comments',
    does: 'sends comments and unknown fields between events; with JSON, white space before it',
    upstream: body(({ stream }) => {
      if (!stream) return ['\n', '   \n', REPLY];
      return STREAM.split(/(?<=\n\n)/).flatMap((one) => [`: ${JUNK}\n\n`, 'retry: 1\n', `id: ${JUNK}\n`, one]);
    }),
    json: answered(),
    stream: answered(),
  },
  {
    name: 'key echoed amid a stream',
    of: 'key echoed in an error',
    does: 'begins an answer, and then sends an error that repeats the key',
    upstream: {
      speaks: 'bytes',
      async play(line, asked) {
        const error = { error: { message: `Incorrect API key: ${UPSTREAM_KEY}`, type: 'server_error', code: 500 } };
        if (!asked.stream) return send(line, asked, [JSON.stringify(error)]);
        await begin(line, asked);
        await line.write(piece(event(error)));
        await line.write(LAST_PIECE);
        line.end();
      },
    },
    json: failed('server'),
    stream: cut('server'),
  },
];
