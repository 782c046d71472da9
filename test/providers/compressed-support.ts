import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { type RawRequest, type ServerConnection, startRawUpstream } from '../fault/raw-upstream.ts';
import { type CallOptions, failureIn, openTo, partsOf, providerCall, textIn } from '../support/provider-call.ts';

/** Providers that compress their answers, although every call requests `identity`. */

export type Send = (connection: ServerConnection, request: RawRequest) => unknown;

export const STREAM = providerCall();
export const JSON_CALL = providerCall({}, { stream: false });
export const USAGE = { prompt_tokens: 3, completion_tokens: 2 };
export const chunk = (delta: object, finish: string | null = null, rest: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...rest })}\n\n`;
export const events = (content: string) => chunk({ content }) + chunk({}, 'stop', { usage: USAGE });
export const reply = (content: string) =>
  JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }], usage: USAGE });
export const bodyFor = ({ body }: RawRequest, content: string) => (body.stream ? events(content) : reply(content));

export const typeOf = ({ body }: RawRequest) => (body.stream ? 'text/event-stream' : 'application/json');
export function headOf(request: RawRequest, encoding: string, length: number | null, status = '200 OK'): string {
  const framing = length === null ? 'connection: close' : `content-length: ${length}`;
  return `HTTP/1.1 ${status}\r\ncontent-type: ${typeOf(request)}\r\ncontent-encoding: ${encoding}\r\n${framing}\r\n\r\n`;
}

/** Runs a server that answers one call. */
export async function play(send: Send, options: CallOptions = {}) {
  const upstream = await startRawUpstream(send);
  try {
    const parts = await partsOf(openTo(`${upstream.url}/v1`, options));
    return { parts, text: textIn(parts), failure: failureIn(parts) };
  } finally {
    upstream.stop();
  }
}

/** Returns a function that sends a whole body with an encoding. */
export const whole =
  (encoding: string, bytesFor: (request: RawRequest) => Uint8Array, status?: string): Send =>
  (connection, request) => {
    const bytes = bytesFor(request);
    return connection.write(Buffer.concat([Buffer.from(headOf(request, encoding, bytes.length, status)), bytes]));
  };

export const ZIPS: Readonly<Record<string, (text: string | Uint8Array) => Buffer>> = {
  gzip: (text) => gzipSync(text),
  'x-gzip': (text) => gzipSync(text),
  deflate: (text) => deflateSync(text),
  'deflate without zlib’s header': (text) => deflateRawSync(text),
  br: (text) => brotliCompressSync(text),
  zstd: (text) => zstdCompressSync(text),
  identity: (text) => Buffer.from(text),
};
export const ENCODINGS = Object.keys(ZIPS);
export const nameOf = (zip: string) => zip.split(' ')[0]!;
export const COMPRESSED = ENCODINGS.filter((name) => name !== 'identity');

export const FLUSHED = {
  gzip: [createGzip, constants.Z_SYNC_FLUSH],
  deflate: [createDeflate, constants.Z_SYNC_FLUSH],
  'deflate without zlib’s header': [createDeflateRaw, constants.Z_SYNC_FLUSH],
  br: [createBrotliCompress, constants.BROTLI_OPERATION_FLUSH],
  zstd: [createZstdCompress, constants.ZSTD_e_flush],
} as const;

/** Compresses each piece so that it can be read before the next piece. */
export async function flushed(zip: keyof typeof FLUSHED, pieces: readonly string[]): Promise<Buffer[]> {
  const [create, flush] = FLUSHED[zip];
  const encoder = create();
  const made: Buffer[] = [];
  let out: Buffer[] = [];
  encoder.on('data', (bytes: Buffer) => out.push(bytes));
  for (const piece of pieces) {
    encoder.write(piece);
    await new Promise<void>((done) => encoder.flush(flush, () => done()));
    await new Promise((done) => setImmediate(done));
    made.push(Buffer.concat(out));
    out = [];
  }
  await new Promise((done) => encoder.on('end', done).end());
  return [...made, Buffer.concat(out)];
}
