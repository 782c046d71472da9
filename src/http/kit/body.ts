import { hash } from 'node:crypto';
import type { TSchema } from '@sinclair/typebox';
import { SignalboxError } from '../../core/errors.ts';
import { jsonFault } from '../../core/json/fault.ts';
import { beyondLimits, DEPTH_MAX } from '../../core/json/limits.ts';
import { longNumbersIn } from '../../core/json/long-numbers.ts';
import { isObject } from '../../core/json/object.ts';
import { setNumbers } from '../../core/json/source.ts';
import { isConversation } from '../../core/kinds/operations.ts';
import { compileCheck } from '../../core/schema/validation.ts';
import type { RequestContext } from '../../gateway/request/request-context.ts';
import { type BodyPace, LARGE_BYTES_MIN } from './body-pace.ts';
import type { BodyReader } from './body-reading.ts';
import { KEPT_BYTES_MIN, type KeptConversations } from './kept-conversations.ts';

/** The reader of a body, and the pace that throttles large bodies to limit their memory. */
export interface BodyReading {
  readonly reader: BodyReader;
  readonly pace: BodyPace;
  /** The running conversations; null if the body is parsed whole, because it has no prompt or the server keeps no conversations. */
  readonly conversations: KeptConversations | null;
}

/** The limits of a body under the active policy. */
export interface BodyLimits {
  /** The maximum number of list elements and object members together. */
  readonly valuesMax: number;
  /** The most memory of kept conversations, in bytes; 0 for none. */
  readonly turnsBytesMax: number;
  /** Whether guards inspect the body, so that the digits of its long numbers are kept. */
  readonly isGuarded: boolean;
}

/**
 * Waits for the request's turn at the gate, and reads its JSON body. The bytes count against its slot at the gate. For a request with an
 * `Idempotency-Key`, the context gets the hash of the body.
 * @throws SignalboxError 413, 408, 503 or 400
 */
export async function readBody(
  request: Request,
  { reader, pace, conversations }: BodyReading,
  { valuesMax, turnsBytesMax, isGuarded }: BodyLimits,
  context: RequestContext,
): Promise<unknown> {
  // A key that is revoked while the body arrives must leave nothing in memory.
  const generation = conversations?.generation ?? 0;
  const turn = context.life.awaitTurn(context);
  if (turn) await turn;
  const { place } = context.life;
  const { bytes: announced, bytesMax } = context.body;
  const isUnknown = announced === 0 && request.headers.has('transfer-encoding');
  const reading = pace.reading.turn(isUnknown ? LARGE_BYTES_MIN : announced);
  if (reading) await reading;
  const atOnce = place?.bytesAtOnce ?? 0;
  const isSmall = announced > 0 && announced < KEPT_BYTES_MIN;
  // A small body keeps nothing, but it may need the memory.
  const mayKeep = conversations && hasMemory(conversations, pace, turnsBytesMax) && !isSmall;
  const keyId = mayKeep ? keyOfTurn(context, request, atOnce) : null;
  let text: string;
  if (conversations && keyId !== null && conversations.expects(keyId)) {
    const bytes = await reader.bytes(request, atOnce, bytesMax, place);
    const working = pace.work.turn(bytes.length);
    if (working) await working;
    const turnReading = { keyId, generation, bytesMax: turnsBytesMax, valuesMax };
    const value = bytes.length < KEPT_BYTES_MIN ? null : conversations.read(bytes, turnReading);
    if (value !== null) {
      // The bytes are valid UTF-8, so their hash is the hash of the text.
      if (context.idempotencyKey !== null) context.body.hash = hash('sha256', bytes, 'buffer');
      context.body.value = value;
      if (isGuarded) noteNumbers(value, bytes.toString('utf8'));
      return value;
    }
    text = new TextDecoder().decode(bytes);
  } else {
    text = await reader.text(request, atOnce, bytesMax, place);
    const working = pace.work.turn(text.length);
    if (working) await working;
  }
  if (context.idempotencyKey !== null) context.body.hash = hash('sha256', text, 'buffer');
  checkJsonLimits(text, valuesMax);
  try {
    const body: unknown = JSON.parse(text);
    context.body.value = body;
    if (keyId !== null) conversations?.note(keyId, generation, body);
    if (isGuarded) noteNumbers(body, text);
    return body;
  } catch (cause) {
    throw new SignalboxError('invalid_json', notJson(text), { cause });
  }
}

/** Notes the digits of the long numbers in a body. @param text the JSON of the body */
function noteNumbers(body: unknown, text: string): void {
  const numbers = isObject(body) ? longNumbersIn(text) : null;
  if (isObject(body) && numbers !== null) setNumbers(body, numbers);
}

/** Whether there is memory for conversations. If requests need it, all conversations are dropped. */
function hasMemory(conversations: KeptConversations, pace: BodyPace, turnsBytesMax: number): boolean {
  if (turnsBytesMax > 0 && !pace.isShort) return true;
  conversations.clear();
  return false;
}

/**
 * Returns the key whose conversation a body may continue; null for none. A body that is too large to reserve its memory is read as text: then
 * memory is short.
 */
function keyOfTurn({ operation, keyId, body }: RequestContext, request: Request, atOnce: number): string | null {
  if (operation !== null && !isConversation(operation)) return null;
  // Reading the member `body` makes a stream, which costs more than a small body.
  const isLarge = body.bytes === 0 ? request.body !== null : atOnce >= KEPT_BYTES_MIN;
  return isLarge ? keyId : null;
}

function notJson(text: string): string {
  if (text === '') return 'The body is empty. Send a JSON object.';
  const { line = 1, column = 1, reason = 'it could not be parsed' } = jsonFault(text) ?? {};
  return `The body is not valid JSON at line ${line}, column ${column}: ${reason}.`;
}

/**
 * Checks the nesting and the number of values of a body before it is parsed.
 * @throws SignalboxError
 */
function checkJsonLimits(text: string, valuesMax: number): void {
  const limit = beyondLimits(text, valuesMax);
  if (limit === 'depth') {
    throw new SignalboxError('invalid_json', `The body is nested too deeply. It may have at most ${DEPTH_MAX} levels.`);
  }
  if (limit === 'values') {
    throw new SignalboxError('request_too_large', `The body has too many values. It may contain at most ${valuesMax}.`);
  }
}

/** The options of a route whose body has a schema. An invalid body is refused with the path of the field; a valid body is typed. */
export function bodyIn<Schema extends TSchema>(schema: Schema) {
  const check = compileCheck(schema);
  return { transform: ({ body }: { readonly body: unknown }) => check(body), body: schema };
}
