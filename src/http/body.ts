import { hash } from 'node:crypto';
import { SignalboxError } from '../core/errors.ts';
import { checkJsonLimits } from './json-limits.ts';

export interface BodyLimits {
  readonly bytesMax: number;
  /** Elements of lists and members of objects, all together. */
  readonly valuesMax: number;
}

/** A body must come within this time, and a second more for each so many bytes: those it announces, else those that came. */
const READ_MS = 10_000;
const BYTES_PER_SECOND = 65_536;

/** SHA-256 of the bodies that came with an `Idempotency-Key`. */
const hashes = new WeakMap<Request, Uint8Array>();

/** SHA-256 of a body that was read; undefined for one that came without an `Idempotency-Key`. */
export function hashOfBody(request: Request): Uint8Array | undefined {
  return hashes.get(request);
}

/** Reads a JSON body. Throws SignalboxError 413, 408 or 400. */
export async function readJson(request: Request, limits: BodyLimits): Promise<unknown> {
  const text = await readInTime(request, limits);
  if (request.headers.has('idempotency-key')) hashes.set(request, hash('sha256', text, 'buffer'));
  checkJsonLimits(text, limits.valuesMax);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message =
      text === '' ? 'The body is empty; send a JSON object.' : `The body is not valid JSON: ${reason(cause)}.`;
    throw new SignalboxError('invalid_json', message, { cause });
  }
}

/** What JSON.parse says, cut: it quotes what it met. */
function reason(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : '';
  return message.replace(/^JSON Parse error: /, '').slice(0, 80) || 'it could not be parsed';
}

/** The server's idle limit begins anew with every byte, so a slow sender would be waited for without end. */
function readInTime(request: Request, { bytesMax }: BodyLimits): Promise<string> {
  const length = request.headers.get('content-length');
  const counted = { bytes: Number(length ?? 0) };
  const allowed = () => READ_MS + (counted.bytes * 1_000) / BYTES_PER_SECOND;
  const since = performance.now();
  return new Promise((resolve, reject) => {
    const look = () => {
      const left = since + allowed() - performance.now();
      if (left <= 0) reject(tooSlow());
      else timer = setTimeout(look, left);
    };
    let timer = setTimeout(look, allowed());
    (length === null ? readBounded(request, bytesMax, counted) : request.text()).then(
      (text) => {
        clearTimeout(timer);
        resolve(text);
      },
      (cause: unknown) => {
        clearTimeout(timer);
        // Only the connection can break this: nobody is there to read the error.
        const gone = () => new SignalboxError('invalid_json', 'The body broke off before its end.', { cause });
        reject(cause instanceof SignalboxError ? cause : gone());
      },
    );
  });
}

/** For bodies that do not say how long they are: counts while it reads. */
async function readBounded(request: Request, bytesMax: number, counted: { bytes: number }): Promise<string> {
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of request.body) {
    counted.bytes += chunk.byteLength;
    if (counted.bytes > bytesMax) throw tooLarge(bytesMax);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export function tooLarge(bytesMax: number): SignalboxError {
  return new SignalboxError('request_too_large', `The body may have at most ${bytesMax} bytes.`);
}

/** The rest of the body may still come, so the connection cannot be used again. */
function tooSlow(): SignalboxError {
  return new SignalboxError('request_timeout', 'The body came too slowly.', {
    headers: { connection: 'close' },
  });
}
