import type { Dialect, Event, Tokens } from './dialect.ts';
import type { UpstreamRequest } from './outcome.ts';
import type { ServerConnection } from './raw-upstream.ts';
import { TEXT, USAGE, WORDS } from './sample-texts.ts';

/** An event of a stream, with JSON data. */
export const eventText = (name: string, json: string): string =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${json}\n\n`;
/** The text of the events of a stream. */
export const eventsText = (
  { nameOf, inStream = (event) => event }: Dialect,
  ...events: readonly (readonly Event[])[]
): string =>
  events
    .flat()
    .map(inStream)
    .map((event) => eventText(nameOf(event), JSON.stringify(event)))
    .join('');

/** The usual answer as a stream, up to its finish reason, with its first `count` words. */
export function spoken(dialect: Dialect, count: number = WORDS.length, usage: Tokens | null = USAGE): string {
  const words = WORDS.slice(0, count).flatMap((text, at) => wordAt(dialect, text, at, usage));
  return eventsText(dialect, dialect.opening(usage), words);
}

/** The word at this position. Some dialects add the running count to the word. */
export function wordAt(dialect: Dialect, text: string, at: number, usage: Tokens | null = USAGE): readonly Event[] {
  const running = usage && dialect.counts === 'all along' ? { ...usage, output: Math.min(at + 1, usage.output) } : null;
  return dialect.word(text, running);
}

/** The usual answer as a stream, without its end mark. */
export const unclosed = (dialect: Dialect, usage: Tokens | null = USAGE): string =>
  spoken(dialect, WORDS.length, usage) + eventsText(dialect, dialect.finish('stop', usage));
/** The usual answer as a complete stream. */
export const stream = (dialect: Dialect, usage: Tokens | null = USAGE): string =>
  unclosed(dialect, usage) + dialect.end;
/** The usual answer as JSON. */
export const reply = (dialect: Dialect, usage: Tokens | null = USAGE): string => dialect.reply(TEXT, usage);
/** The first half of the usual answer. */
const halfReply = (dialect: Dialect): string => reply(dialect).split('cccc')[0]!;

/** The usual answer in the requested form. */
export const whole = (request: UpstreamRequest, usage: Tokens | null = USAGE): string =>
  request.stream ? stream(request.dialect, usage) : reply(request.dialect, usage);
/** The part of an answer before it breaks off. */
export const half = ({ stream, dialect }: UpstreamRequest): string =>
  stream ? spoken(dialect, 2) : halfReply(dialect);

export const SSE = 'text/event-stream';
export const JSON_TYPE = 'application/json';
const typeFor = ({ stream }: UpstreamRequest): string => (stream ? SSE : JSON_TYPE);

/** A 200 with this body, with the requested content type by default. */
export const ok = (request: UpstreamRequest, body: string, type: string = typeFor(request)): Response =>
  new Response(body, { headers: { 'content-type': type } });

/** The head of a 200 for the requested form. */
export function head(request: UpstreamRequest, ...lines: readonly string[]): string {
  return ['HTTP/1.1 200 OK', `content-type: ${typeFor(request)}`, ...lines].join('\r\n').concat('\r\n\r\n');
}

const CHUNKED = 'transfer-encoding: chunked';
const bytesOf = (data: string | Uint8Array): Uint8Array => (typeof data === 'string' ? Buffer.from(data) : data);

/** Returns bytes as one chunk of a body. */
export function piece(data: string | Uint8Array): Uint8Array {
  const bytes = bytesOf(data);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
/** The end of a chunked body. */
export const LAST_PIECE = '0\r\n\r\n';

/** Answers with valid HTTP: these writes, and a clean end. */
export async function send(
  connection: ServerConnection,
  request: UpstreamRequest,
  writes: readonly (string | Uint8Array)[],
  ...lines: readonly string[]
): Promise<void> {
  await connection.write(head(request, CHUNKED, 'connection: close', ...lines));
  // An empty chunk would end the body.
  for (const data of writes) if (data.length > 0) await connection.write(piece(data));
  await connection.write(LAST_PIECE);
  connection.end();
}

/** Starts an answer and stops halfway. Before a stream stops, the function waits until the caller has read some of it. */
export async function begin(connection: ServerConnection, request: UpstreamRequest): Promise<void> {
  await connection.write(head(request, CHUNKED));
  await connection.write(piece(half(request)));
  if (request.stream) await request.seen;
}

/** Repeats a write until the connection closes. */
export async function drip(
  connection: ServerConnection,
  everyMs: number,
  data: (at: number) => string | Uint8Array,
): Promise<void> {
  for (let at = 0; !connection.isGone; at++) {
    await connection.write(data(at));
    await Bun.sleep(everyMs);
  }
}
