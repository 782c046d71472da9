import { hash } from 'node:crypto';
import type { GatePlace } from '../access/limits/gate.ts';
import { SignalboxError } from '../core/errors.ts';
import { jsonFault } from '../core/json-fault.ts';
import { beyondLimits, DEPTH_MAX } from '../core/json-limits.ts';
import type { RequestContext } from '../gateway/request-context.ts';

export interface BodyLimits {
  readonly bytesMax: number;
  /** Elements of lists and members of objects, all together. */
  readonly valuesMax: number;
}

/** The time for a body, and the bytes that arrived for each further second. */
const READ_MS = 10_000;
const BYTES_PER_SECOND = 65_536;
/** A body that announces no more takes its room at once, and is read in one piece. */
const SMALL_BYTES = 65_536;

/** Returns the bytes that a request's body takes room for before it arrives. */
export function bytesAtOnce({ headers }: Request): number {
  const announced = Number(headers.get('content-length') ?? 0);
  return announced <= SMALL_BYTES ? announced : 0;
}

/**
 * Waits for the request's turn at the gate, and reads its JSON body. The bytes take room at the request's place; the hash
 * of a body that comes with an `Idempotency-Key` is noted in the context.
 * @throws SignalboxError 413, 408, 503 or 400.
 */
export async function readBody(request: Request, limits: BodyLimits, context: RequestContext): Promise<unknown> {
  const turn = context.awaitTurn();
  if (turn) await turn;
  const text = await readInTime(request, limits, context.place);
  if (request.headers.has('idempotency-key')) context.bodyHash = hash('sha256', text, 'buffer');
  checkJsonLimits(text, limits.valuesMax);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SignalboxError('invalid_json', notJson(text), { cause });
  }
}

function notJson(text: string): string {
  if (text === '') return 'The body is empty; send a JSON object.';
  const { line = 1, column = 1, reason = 'it could not be parsed' } = jsonFault(text) ?? {};
  return `The body is not valid JSON at line ${line}, column ${column}: ${reason}.`;
}

/**
 * Checks the text of a body before it is parsed.
 * @throws SignalboxError
 */
function checkJsonLimits(text: string, valuesMax: number): void {
  const limit = beyondLimits(text, valuesMax);
  if (limit === 'depth') {
    throw new SignalboxError('invalid_json', `The body is nested deeper than ${DEPTH_MAX} levels.`);
  }
  if (limit === 'values') {
    throw new SignalboxError('request_too_large', `The body may contain at most ${valuesMax} values.`);
  }
}

/** The server's idle limit begins anew with every byte, so that a slow sender needs a bound of its own. */
async function readInTime(request: Request, { bytesMax }: BodyLimits, place: GatePlace | null): Promise<string> {
  const isSmall = request.headers.has('content-length') && bytesAtOnce(request) > 0;
  if (!isSmall && !request.body) return '';
  let bytes = 0;
  let isOver = false;
  const came = (more: number) => {
    // Bytes that arrive after the cut are not kept.
    if (isOver) throw tooSlow();
    bytes += more;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    place?.grow(more);
  };
  const tooLate = Promise.withResolvers<never>();
  const cut = () => tooLate.reject(tooSlow());
  const since = performance.now();
  const look = () => {
    const left = since + READ_MS + (bytes * 1_000) / BYTES_PER_SECOND - performance.now();
    if (left <= 0) cut();
    else timer = setTimeout(look, left);
  };
  let timer = setTimeout(look, READ_MS);
  place?.begin(cut);
  try {
    return await Promise.race([isSmall ? request.text() : readCounted(request, came), tooLate.promise]);
  } catch (cause) {
    if (cause instanceof SignalboxError) throw cause;
    // Only a broken connection gets here, so no caller reads the error.
    throw new SignalboxError('invalid_json', 'The body ended before it was complete.', { cause });
  } finally {
    isOver = true;
    clearTimeout(timer);
    place?.end();
  }
}

/** Reads a body piece by piece; calls `came` with the bytes of each. */
async function readCounted({ body }: Request, came: (bytes: number) => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    came(chunk.byteLength);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

export function tooLarge(bytesMax: number): SignalboxError {
  return new SignalboxError('request_too_large', `The body may have at most ${bytesMax} bytes.`);
}

/** The rest of the body may still come, so the connection cannot be used again. */
function tooSlow(): SignalboxError {
  return new SignalboxError('request_timeout', 'The body arrived too slowly.', {
    headers: { connection: 'close' },
  });
}
