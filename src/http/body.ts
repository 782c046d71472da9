import { hash } from 'node:crypto';
import type { TSchema } from '@sinclair/typebox';
import { SignalboxError } from '../core/errors.ts';
import { jsonFault } from '../core/json/fault.ts';
import { beyondLimits, DEPTH_MAX } from '../core/json/limits.ts';
import { compileCheck } from '../core/schema/validation.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { type BodyPace, LARGE_BYTES_MIN } from './body-pace.ts';
import type { BodyReader } from './body-reading.ts';

/** The reader of a body, and the pace that throttles large bodies to limit their memory. */
export interface BodyReading {
  readonly reader: BodyReader;
  readonly pace: BodyPace;
}

/**
 * Waits for the request's turn at the gate, and reads its JSON body. The bytes count against its slot at the gate. For a request with an
 * `Idempotency-Key`, the context gets the hash of the body.
 * @param valuesMax the maximum number of list elements and object members together
 * @throws SignalboxError 413, 408, 503 or 400
 */
export async function readBody(
  request: Request,
  { reader, pace }: BodyReading,
  valuesMax: number,
  context: RequestContext,
): Promise<unknown> {
  const turn = context.life.awaitTurn(context);
  if (turn) await turn;
  const { place } = context.life;
  const { bytes, bytesMax } = context.body;
  const isUnknown = bytes === 0 && request.headers.has('transfer-encoding');
  const reading = pace.reading.turn(isUnknown ? LARGE_BYTES_MIN : bytes);
  if (reading) await reading;
  const text = await reader.text(request, place?.bytesAtOnce ?? 0, bytesMax, place);
  const working = pace.work.turn(text.length);
  if (working) await working;
  if (context.idempotencyKey !== null) context.body.hash = hash('sha256', text, 'buffer');
  checkJsonLimits(text, valuesMax);
  try {
    const body: unknown = JSON.parse(text);
    context.body.value = body;
    return body;
  } catch (cause) {
    throw new SignalboxError('invalid_json', notJson(text), { cause });
  }
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
