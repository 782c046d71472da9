import type { Asked } from './outcome.ts';
import type { Line } from './raw-upstream.ts';

/** A mark in all that an upstream says and no caller may see. */
export const JUNK = 'upstream-junk';

/** The usual answer: four tokens by our own count. */
export const WORDS = ['aaaa', ' bbbb', ' cccc', ' dddd'] as const;
export const TEXT = WORDS.join('');
/** What every upstream of the matrix reports for it. */
export const USAGE = { prompt_tokens: 11, completion_tokens: 6, total_tokens: 17 } as const;

const frame = { id: `chatcmpl-${JUNK}`, created: 1_760_000_000, model: JUNK, system_fingerprint: JUNK };

/** One event of a stream. */
export const event = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
export const chunk = (fields: object): string => event({ ...frame, object: 'chat.completion.chunk', ...fields });
export const delta = (fields: object, more: object = {}): string =>
  chunk({ choices: [{ index: 0, delta: fields, finish_reason: null }], ...more });
export const word = (content: string, more: object = {}): string => delta({ content }, more);
export const finish = (reason = 'stop'): string => chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
export const ROLE = delta({ role: 'assistant', content: '' });
export const REPORT = chunk({ choices: [], usage: USAGE });
export const DONE = 'data: [DONE]\n\n';

/** The usual answer as a stream, up to its finish. */
export const SPOKEN = [ROLE, ...WORDS.map((text) => word(text))].join('');
/** The usual answer as a stream, whole. */
export const STREAM = SPOKEN + finish() + REPORT + DONE;

/** An answer in one piece. */
export const reply = (message: object = {}, choice: object = {}, more: object = {}): string =>
  JSON.stringify({
    ...frame,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: TEXT, ...message }, finish_reason: 'stop', ...choice },
    ],
    usage: USAGE,
    ...more,
  });
export const REPLY = reply();
/** The first half of one. */
export const HALF_REPLY = REPLY.slice(0, REPLY.indexOf('cccc'));

export const whole = ({ stream }: Asked): string => (stream ? STREAM : REPLY);

const typeFor = ({ stream }: Asked): string => (stream ? 'text/event-stream' : 'application/json');

/** The head of a 200, fit for the form that was asked for. */
export function head(asked: Asked, ...lines: readonly string[]): string {
  return ['HTTP/1.1 200 OK', `content-type: ${typeFor(asked)}`, ...lines].join('\r\n').concat('\r\n\r\n');
}

const CHUNKED = 'transfer-encoding: chunked';
const bytesOf = (data: string | Uint8Array): Uint8Array => (typeof data === 'string' ? Buffer.from(data) : data);

/** Bytes as one chunk of a body. */
export function piece(data: string | Uint8Array): Uint8Array {
  const bytes = bytesOf(data);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
/** What ends a body of chunks. */
export const LAST_PIECE = '0\r\n\r\n';

/** Answers well-formed HTTP: these bytes in these writes, and a clean end. */
export async function send(
  line: Line,
  asked: Asked,
  writes: readonly (string | Uint8Array)[],
  ...lines: readonly string[]
): Promise<void> {
  await line.write(head(asked, CHUNKED, 'connection: close', ...lines));
  for (const data of writes) await line.write(piece(data));
  await line.write(LAST_PIECE);
  line.end();
}

/** Begins an answer and leaves it in its middle, with the caller having read some of it where it is a stream. */
export async function begin(line: Line, asked: Asked): Promise<void> {
  await line.write(head(asked, CHUNKED));
  await line.write(piece(asked.stream ? ROLE + word(WORDS[0]) + word(WORDS[1]) : HALF_REPLY));
  if (asked.stream) await asked.seen;
}

/** Writes the same again and again until nobody listens. */
export async function drip(line: Line, everyMs: number, data: (at: number) => string | Uint8Array): Promise<void> {
  for (let at = 0; !line.isGone; at++) {
    await line.write(data(at));
    await Bun.sleep(everyMs);
  }
}
