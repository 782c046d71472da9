import type { Answer } from '../../support/answers.ts';
import { chatHead, connect } from '../../support/raw-http.ts';

/** An answer as its caller received it. */
export interface Flooded {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body, or the last chunk of a stream that has `platform` or an error. */
  readonly body: Partial<Answer>;
}

/**
 * Sends a chat request on a connection of its own, so that hundreds can run at once: `fetch` queues all requests beyond 256. Returns null
 * for a caller who disconnects after `leavesAfterMs`, before the answer.
 */
export async function send(url: string, key: string, body: object, leavesAfterMs?: number): Promise<Flooded | null> {
  const text = JSON.stringify(body);
  const connection = await connect(url);
  await connection.write(
    chatHead(key, 'connection: close', `content-length: ${new TextEncoder().encode(text).length}`) + text,
  );
  if (leavesAfterMs !== undefined) setTimeout(() => connection.close(), leavesAfterMs);
  const answer = await connection.closed;
  return answer.includes('\r\n\r\n') || leavesAfterMs === undefined ? parse(answer) : null;
}

function parse(text: string): Flooded {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(':')[0]!, line.replace(/^[^:]*: */, '')]),
  );
  const raw = text.slice(end + 4);
  const body = headers.get('transfer-encoding') === 'chunked' ? unchunked(raw) : raw;
  const status = Number(first.split(' ')[1]);
  return {
    status,
    headers,
    body: headers.get('content-type')?.includes('event-stream') ? tail(body) : JSON.parse(body),
  };
}

/** All answers here are ASCII, so bytes equal characters. */
function unchunked(text: string): string {
  let body = '';
  for (let at = 0; at < text.length; ) {
    const line = text.indexOf('\r\n', at);
    const length = Number.parseInt(text.slice(at, line), 16);
    if (!(length > 0)) break;
    body += text.slice(line + 2, line + 2 + length);
    at = line + 2 + length + 2;
  }
  return body;
}

function tail(body: string): Partial<Answer> {
  const events = body
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)) as Partial<Answer>);
  return events.findLast((event) => event.platform !== undefined || event.error !== undefined) ?? {};
}
