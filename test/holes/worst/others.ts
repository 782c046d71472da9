import { readFileSync } from 'node:fs';
import { CL100K_TOKEN_SPLIT_REGEX, O200K_TOKEN_SPLIT_REGEX } from 'gpt-tokenizer/encodingParams/constants';
import { jsonFault } from '../../../src/core/json/fault.ts';
import { beyondLimits } from '../../../src/core/json/limits.ts';
import type { Members } from '../../../src/core/json/original.ts';
import { parseAddress } from '../../../src/core/net/address.ts';
import { REDACTIONS } from '../../../src/core/policy/content.ts';
import type { RuleScope } from '../../../src/core/policy/rules.ts';
import { STOP_CHARS_MAX, STOPS_MAX } from '../../../src/core/request/stop-search.ts';
import { fitsSchema } from '../../../src/core/schema/fits.ts';
import { CHUNKS } from '../../../src/dialects/openai-chat/chunks.ts';
import { ResponsesDialogue } from '../../../src/dialects/openai-responses/dialogue.ts';
import { readRouteBody } from '../../../src/dialects/route-body.ts';
import { batchLine, endLine, replayedAnswer } from '../../../src/gateway/exchange/replayed-answer.ts';
import { StopCut } from '../../../src/gateway/exchange/stop-cut.ts';
import { loggableMessage, textsIn } from '../../../src/gateway/exchange/upstream-message.ts';
import { Meter } from '../../../src/gateway/money/meter.ts';
import { OutputBound } from '../../../src/gateway/money/tranches.ts';
import { AnswerId } from '../../../src/gateway/prompt/threads.ts';
import { redact } from '../../../src/gateway/records/redact.ts';
import { whyNotPublic } from '../../../src/gateway/request/check-request.ts';
import { scrub, scrubName } from '../../../src/host/telemetry/secrets.ts';
import { parseContext } from '../../../src/host/telemetry/tracing/context.ts';
import { behindProxies } from '../../../src/http/kit/address.ts';
import { credentialsIn } from '../../../src/http/kit/credentials.ts';
import { RouteTable } from '../../../src/http/kit/route-table.ts';
import { nothingAt } from '../../../src/http/kit/unknown-path.ts';
import { requestHashOf } from '../../../src/payments/canonical.ts';
import { decodePayment } from '../../../src/payments/codec.ts';
import { EMPTY_REQUEST } from '../../../src/policy/cel/trials.ts';
import { environmentOf, TEXT_MAX, viewOf } from '../../../src/policy/cel/types.ts';
import { AnswerCompletion } from '../../../src/providers/completion.ts';
import { frameParser } from '../../../src/providers/frames.ts';
import { ReplyParser } from '../../../src/providers/http1/reply-parser.ts';
import { TextReading } from '../../../src/providers/read-text.ts';
import { retryAfterMs } from '../../../src/providers/retry-after.ts';
import { countTokens, readRanks } from '../../../src/providers/tokenizer/byte-pairs.ts';
import { MessageReading } from '../../../src/routing/profile/reading.ts';
import { BODIES as CHAT_BODIES } from '../../dialects/openai-chat/worst-bodies.ts';
import { RECEIPT } from '../../support/caller-message.ts';
import { READER } from '../../support/chat-body.ts';
import type { Shape } from '../../support/in-time.ts';
import { chatRequest } from '../../support/model-request.ts';
import { imported } from '../../tools/importers/litellm/support.ts';
import { EXPRESSION_TEXTS, WORST_EXPRESSIONS } from './expressions.ts';
import { WORST_PARTS } from './parts.ts';
import { mapped, refusable, type WorstReader } from './reader.ts';
import { list } from './requests.ts';
import { ANY_TEXTS, GLUED_TEXTS, JSON_TEXTS, WORST_IMPORTS, WORST_TEXTS, WORST_TOKENS } from './texts.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text);
const cut = (text: string, size: number): readonly string[] =>
  list(Math.ceil(text.length / size), (at) => text.slice(at * size, (at + 1) * size));

/** Reads a text as a whole, and in pieces of one character. */
const inPieces = (read: (pieces: readonly string[]) => unknown) => (text: string) => {
  const pieces = cut(text, 1);
  return () => [read([text]), read(pieces)];
};

function readFrames(kind: 'sse' | 'ndjson', pieces: readonly string[]): void {
  const parser = frameParser(kind);
  for (const piece of pieces) parser.push(piece);
  parser.end();
}

const STREAMS = {
  events: (parts: number) => 'data: x\n\n'.repeat(parts),
  'events with names': (parts: number) => 'event: a\ndata: x\n\n'.repeat(parts),
  'events with CR': (parts: number) => 'data: x\r\n\r\n'.repeat(parts),
  'lines of an event': (parts: number) => `${'data: x\n'.repeat(parts)}\n`,
  'a long line': (parts: number) => `data: ${'x'.repeat(parts)}\n\n`,
  'a line without an end': (parts: number) => `data: ${'x'.repeat(parts)}`,
  comments: (parts: number) => ':\n'.repeat(parts),
  'CR alone': (parts: number) => '\r'.repeat(parts),
  fields: (parts: number) => 'a:b\n'.repeat(parts),
};

function readReply(pieces: readonly string[]): void {
  const parser = new ReplyParser();
  try {
    for (const piece of pieces) parser.push(bytesOf(piece));
    parser.head?.headers();
    for (const name of ['content-type', 'x-request-id', 'a']) parser.head?.header(name);
  } catch {
    // The parser refuses the answer head.
  }
}

const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`;
const REPLIES = {
  headers: (parts: number) => `${HEAD}${list(parts, (at) => `h${at}:\r\n`).join('')}\r\n`,
  'one header again and again': (parts: number) => `${HEAD}${'a:a\r\n'.repeat(parts)}\r\n`,
  'a long header': (parts: number) => `${HEAD}a:${' a:'.repeat(parts)}\r\n\r\n`,
  'a header without an end': (parts: number) => `${HEAD}${'a'.repeat(parts)}`,
  'interim answers': (parts: number) => `${'HTTP/1.1 100 C\r\n\r\n'.repeat(parts)}${HEAD}\r\n`,
  'lengths that agree': (parts: number) => `${HEAD}content-length: ${'1,'.repeat(parts)}1\r\n\r\nx`,
  chunks: (parts: number) => `${CHUNKED}${'1\r\nx\r\n'.repeat(parts)}0\r\n\r\n`,
  'chunks with extensions': (parts: number) => `${CHUNKED}${'1;a=b\r\nx\r\n'.repeat(parts)}0\r\n\r\n`,
  trailers: (parts: number) => `${CHUNKED}0\r\n${'a: b\r\n'.repeat(parts)}\r\n`,
};

/** The head of an answer may have at most this many bytes. */
const HEAD_PARTS_MAX = 2_048;
/** A header of a request may have at most this many bytes; the server refuses more. */
const HEADER_PARTS_MAX = 4_096;

const headerShapes = (read: (text: string) => unknown): Readonly<Record<string, Shape>> =>
  mapped(
    {
      ...ANY_TEXTS,
      commas: (parts) => ','.repeat(parts),
      'members of a list': (parts) => list(parts, (at) => `k${at}=v`).join(','),
      addresses: (parts) => '10.0.0.1,'.repeat(parts),
      durations: (parts) => '1s'.repeat(parts),
      base64: (parts) => 'e30='.repeat(parts),
    },
    (text) => {
      const header = text.replace(/[^\x20-\x7e]/g, '.');
      return () => read(header);
    },
  );

/** The reply of a service that arrives in pieces of one byte. */
function textOf(text: string): unknown {
  const pieces = cut(text, 1).map(bytesOf);
  return new TextReading(
    { status: 200, headers: new Headers(), header: () => null, read: () => pieces.pop() ?? null, cancel: () => {} },
    text.length,
  ).read();
}

/** Stop sequences that differ only at their end, and that almost occur in a text of one letter. */
const STOPS = list(STOPS_MAX, (at) => `${'x'.repeat(STOP_CHARS_MAX - 16 + at)}y`);

/** Everything that watches the parts of an answer on their way to the caller. */
function watched(parts: (typeof WORST_PARTS)[string] extends (size: number) => infer Parts ? Parts : never): void {
  const meter = new Meter(true, null);
  const completion = new AnswerCompletion(1);
  const bound = new OutputBound();
  const id = new AnswerId();
  const cut = new StopCut(STOPS, 1);
  for (const part of parts) {
    meter.observe([part], 0);
    completion.add(part, []);
    bound.add([part]);
    id.hear([part]);
    cut.read([part]);
  }
  void [meter.counted, meter.mark];
}

/** Stores an answer for repeats, and replays it. */
function repeated(parts: Parameters<typeof watched>[0]): void {
  const source = { created: 1, model: 'm', inputTokens: 1, receipt: RECEIPT };
  const text =
    parts.map((part) => batchLine([part])).join('') +
    endLine({ ...source, decision: 1, error: null, open: async () => {}, read: () => null, abandon: () => {} }, null);
  const writer = CHUNKS.writer({ decision: 1, created: 1, model: 'm' });
  const answer = replayedAnswer(1, text);
  for (let batch = answer?.read(); Array.isArray(batch); batch = answer?.read()) writer.write(batch);
}

const frame = (parts: number, more: object = {}): string =>
  JSON.stringify({
    type: 'response.create',
    model: 'auto',
    input: list(parts, () => ({ role: 'user', content: 'x' })),
    ...more,
  });

/** A connection whose next request continues from its last answer. */
function dialogueAfter(parts: number): () => unknown {
  const first = frame(parts);
  const answer = JSON.stringify({
    type: 'response.completed',
    response: { id: 'r', output: list(parts, () => ({ type: 'message', role: 'assistant', content: [] })) },
  });
  return () => {
    const dialogue = new ResponsesDialogue();
    dialogue.read(first);
    dialogue.sent(answer);
    return dialogue.read(frame(parts, { previous_response_id: 'r' }));
  };
}

const ROUTES = new RouteTable([]);
const PATHS = {
  slashes: (parts: number) => '/'.repeat(parts),
  versions: (parts: number) => '/v1'.repeat(parts),
  colons: (parts: number) => `/${':g'.repeat(parts)}`,
};

const ADDRESSES = {
  dots: (parts: number) => `https://${'a.'.repeat(parts)}`,
  'figures of an address': (parts: number) => `https://${'1.'.repeat(parts)}`,
  'slashes and blanks': (parts: number) => `https://${'/ '.repeat(parts)}`,
};

/** Readers that no registry lists. */
/** A JSON schema with a value, with many of one thing. */
const SCHEMAS: Readonly<Record<string, (parts: number) => readonly [Members, unknown]>> = {
  'enum for each item': (parts) => [{ items: { enum: list(parts, (at) => `v${at}`) } }, list(parts, () => 'none')],
  'types for each item': (parts) => [{ items: { type: list(parts, () => 'null') } }, list(parts, () => 1)],
  'names for each alternative': (parts) => [
    { anyOf: list(parts, () => ({ additionalProperties: false })) },
    Object.fromEntries(list(parts, (at) => [`n${at}`, 1])),
  ],
  'required names of null members': (parts) => {
    const names = list(parts, (at) => `n${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    return [{ properties, required: names }, Object.fromEntries(names.map((name) => [name, null]))];
  },
  'alternatives that contain themselves': (parts) => [
    { anyOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }], type: 'array' },
    JSON.parse('['.repeat(Math.min(parts, 5_000)) + ']'.repeat(Math.min(parts, 5_000))),
  ],
  'parts of a schema that refers to itself': (parts) => [{ allOf: [{ $ref: '#' }, ...list(parts, () => true)] }, 1],
  'long texts': (parts) => [
    { allOf: list(parts, () => ({ minLength: 1, const: 'x'.repeat(parts) })) },
    'y'.repeat(parts),
  ],
};

export const otherReaders: readonly WorstReader[] = [
  { name: 'limits of JSON', shapes: mapped(JSON_TEXTS, (text) => () => beyondLimits(text, Number.POSITIVE_INFINITY)) },
  { name: 'mistakes in JSON', shapes: mapped(withoutDepth(JSON_TEXTS), (text) => () => jsonFault(text)) },
  {
    name: 'JSON schemas',
    shapes: mapped(
      SCHEMAS,
      ([schema, value]) =>
        () =>
          fitsSchema(schema, value),
    ),
  },
  {
    name: 'server-sent events',
    shapes: mapped(
      STREAMS,
      inPieces((pieces) => readFrames('sse', pieces)),
    ),
  },
  {
    name: 'lines of JSON',
    shapes: mapped(
      STREAMS,
      inPieces((pieces) => readFrames('ndjson', pieces)),
    ),
  },
  { name: 'answers of HTTP', shapes: mapped(REPLIES, inPieces(readReply)), partsMax: HEAD_PARTS_MAX },
  { name: 'bodies in pieces', shapes: mapped(ANY_TEXTS, (text) => () => textOf(text)) },
  {
    name: 'Retry-After',
    shapes: headerShapes((text) =>
      retryAfterMs(
        new Headers({ 'retry-after': text, 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': text }),
        0,
        429,
      ),
    ),
    partsMax: HEADER_PARTS_MAX,
  },
  {
    name: 'credentials',
    shapes: headerShapes((text) => credentialsIn(new Headers({ 'x-api-key': text, authorization: text }))),
    partsMax: HEADER_PARTS_MAX,
  },
  {
    name: 'Forwarded-For',
    shapes: headerShapes((text) =>
      behindProxies(parseAddress('10.0.0.1')!, text, [{ base: parseAddress('10.0.0.0')!, bits: 104 }]),
    ),
    partsMax: HEADER_PARTS_MAX,
  },
  {
    name: 'traces',
    shapes: headerShapes((text) =>
      parseContext(new Headers({ traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`, tracestate: text })),
    ),
    partsMax: HEADER_PARTS_MAX,
  },
  {
    name: 'payments',
    shapes: headerShapes((text) => refusable(() => decodePayment(Buffer.from(text).toString('base64')))),
    partsMax: HEADER_PARTS_MAX,
  },
  { name: 'paths', shapes: mapped(PATHS, (path) => () => nothingAt(path, ROUTES)), partsMax: HEADER_PARTS_MAX },
  { name: 'addresses of media', shapes: mapped(ADDRESSES, (address) => () => whyNotPublic(address)) },
  { name: 'requests that are paid for', shapes: mapped(CHAT_BODIES, (body) => () => requestHashOf(body)) },
  { name: 'route queries', shapes: mapped(CHAT_BODIES, (body) => () => readRouteBody(body)) },
  {
    name: 'questions',
    shapes: mapped(ANY_TEXTS, (text) => () => new MessageReading(text, READER.texts)),
  },
  { name: 'secrets in logs', shapes: mapped(ANY_TEXTS, (text) => () => scrub(text)) },
  { name: 'secrets in names', shapes: mapped(GLUED_TEXTS, (text) => () => scrubName(text)) },
  { name: 'plain names', shapes: mapped(ANY_TEXTS, (text) => () => textsIn({ [text]: 0, [text.slice(0, 256)]: 0 })) },
  {
    name: 'words of services',
    shapes: mapped(ANY_TEXTS, (text) => {
      const request = chatRequest({ messages: [{ role: 'user', content: text }] });
      const failed = {
        model: 'm',
        provider: 'p',
        upstream: 'u',
        requestId: null,
        failure: { kind: 'rejected', message: text.slice(0, 300), status: 400 },
      } as const;
      return () => loggableMessage(failed, request);
    }),
  },
  { name: 'answers on their way', shapes: mapped(WORST_PARTS, (parts) => () => watched(parts)) },
  { name: 'answers that are given again', shapes: mapped(WORST_PARTS, (parts) => () => repeated(parts)) },
  {
    name: 'frames of a WebSocket',
    shapes: {
      'items of a request': (parts) => {
        const text = frame(parts);
        return () => new ResponsesDialogue().read(text);
      },
      'items of a request that goes on': dialogueAfter,
    },
  },
];

/** The search for a mistake goes as deep as its text, and deeply nested texts are refused before. */
function withoutDepth<T>({ 'open brackets': _, ...shapes }: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return shapes;
}

/** The finders of personal data that is removed from texts before they are stored, by kind. */
export const finderReaders: readonly WorstReader[] = REDACTIONS.map((kind) => ({
  name: `finder of ${kind}`,
  shapes: mapped(WORST_TEXTS[kind] ?? {}, (text) => () => redact(text, [kind])),
}));

/** Importers of other gateways’ configurations, by the name of their folder. */
export const importReaders: readonly WorstReader[] = [
  {
    name: 'import of litellm',
    shapes: mapped(WORST_IMPORTS.litellm ?? {}, (text) => () => imported(text)),
    weight: 16,
  },
];

const VOCABULARIES = { o200k_base: O200K_TOKEN_SPLIT_REGEX, cl100k_base: CL100K_TOKEN_SPLIT_REGEX } as const;

function countAll(text: string, vocabulary: Parameters<typeof countTokens>[1]): number {
  const counting = countTokens(text, vocabulary);
  let step = counting.next();
  while (!step.done) step = counting.next();
  return step.value;
}

/** Readers of texts whose tokens are counted. */
export const tokenReaders = (): readonly WorstReader[] =>
  Object.entries(VOCABULARIES).map(([name, pieces]) => {
    const file = new URL(import.meta.resolve(`gpt-tokenizer/data/${name}.tiktoken`));
    const vocabulary = { ranks: readRanks(readFileSync(file, 'utf8')), pieces };
    return {
      name: `tokens of ${name}`,
      shapes: mapped(WORST_TOKENS[name] ?? {}, (text) => () => countAll(text, vocabulary)),
    };
  });

/** A request may name at most this many programming languages. */
const LANGUAGES_MAX = 256;

const scopeOf = (text: string): RuleScope => ({
  ...EMPTY_REQUEST,
  request: {
    ...EMPTY_REQUEST.request,
    languages: list(Math.min(text.length, LANGUAGES_MAX), (at) => `${text.slice(0, 8)}${at}`),
    user: text,
    metadata: new Map([['one', text]]),
  },
  key: { id: 'key', labels: new Map() },
});

/** Conditions of a policy, by the function that they call. */
export const expressionReaders: readonly WorstReader[] = Object.entries(WORST_EXPRESSIONS).flatMap(
  ([name, written]) => {
    if (written === null) return [];
    const condition = environmentOf('when').parse(written);
    return [
      {
        name: `CEL’s ${name}`,
        partsMax: TEXT_MAX / 8,
        shapes: mapped(EXPRESSION_TEXTS, (text) => {
          const view = viewOf(scopeOf(text));
          return () => refusable(() => condition(view));
        }),
      },
    ];
  },
);
