import type { Answer } from '../../support/answers.ts';
import { chatHead, connect } from '../../support/raw-http.ts';

/** An answer as a caller got it. */
export interface Flooded {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body, or the last chunk of a stream that carries `platform` or an error. */
  readonly body: Partial<Answer>;
}

/**
 * Sends a chat request on a connection of its own, which lets hundreds run at once: `fetch` queues all
 * beyond 256. Null for a caller who leaves after so many milliseconds, before the answer is there.
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

/** All answers here are ASCII, so that bytes are characters. */
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
