import { setImmediate } from 'node:timers/promises';
import type { HTTPHeaders } from 'elysia';
import { idText } from '../../core/id.ts';
import type { AnswerRoute, EventForm } from '../../dialects/surface.ts';
import type { AnswerSource } from '../../gateway/exchange/answer-source.ts';
import { droppedText } from '../../gateway/money/extras.ts';
import { DROPPED_HEADER, type StreamPolicy, streamResponse, textsResponse } from './stream.ts';

/** The longest time that an answer is written without a pause for other requests, in ms. A batch of parts is not interrupted. */
const SLICE_MS = 4;

const DECISION_HEADER = 'x-signalbox-decision-id';
/** The maximum length of a body that is sent at once, in characters. */
const WHOLE_MAX = 1_048_576;

/** The form of an answer: a stream if the caller requests one, otherwise JSON. */
export interface AnswerForm {
  readonly events: EventForm | null;
  /** Creates the writer of the JSON body. */
  readonly json: AnswerRoute['json'];
}

/**
 * Answers a request from any source: a running answer of a model or a stored one.
 * @param headers of the response; an error response gets the price in them, too
 * @param policy how a stream begins, and how it ends after a failure
 * @returns a promise that rejects with a SignalboxError if the answer fails before its headers are sent
 */
export function answer(
  source: AnswerSource,
  { events, json }: AnswerForm,
  headers: HTTPHeaders,
  policy: StreamPolicy,
): Promise<Response | string> {
  headers[DECISION_HEADER] = idText('dec_', source.decision);
  if (!events) return jsonBody(source, json, headers);
  return streamResponse(source, events, policy, headers).catch((cause) => {
    tellPrice(source, headers);
    throw cause;
  });
}

/**
 * Returns the answer as text, so that the server makes a single response from the text and the headers. A large answer is returned in
 * pieces.
 * @throws SignalboxError if the answer failed; the headers then contain the price, too
 */
export async function jsonBody(
  source: AnswerSource,
  json: AnswerRoute['json'],
  headers: HTTPHeaders,
): Promise<Response | string> {
  const texts: string[] = [];
  try {
    await source.open();
    const writer = json(source);
    let until = performance.now() + SLICE_MS;
    for (let parts = source.read(); parts !== null; parts = source.read()) {
      if (parts instanceof Promise) await parts;
      else texts.push(writer.write(parts));
      if (performance.now() < until) continue;
      // Let other requests run.
      await setImmediate();
      until = performance.now() + SLICE_MS;
    }
    if (source.error) throw source.error;
    if (!source.receipt) throw new Error('the answer ended without a receipt');
    texts.push(source.body ?? writer.end(source.receipt));
    addJsonHeaders(source, headers);
  } catch (cause) {
    // After a bug in this function, no client reads the answer. Without this call, the answer would keep its hold until the deadline.
    source.abandon('caller-gone');
    throw cause;
  } finally {
    tellPrice(source, headers);
  }
  let chars = 0;
  for (const { length } of texts) chars += length;
  return chars <= WHOLE_MAX ? texts.join('') : textsResponse(texts, headers);
}

/** The headers of a complete JSON answer. */
export function jsonHeaders(source: AnswerSource): Record<string, string> {
  const headers: Record<string, string> = { [DECISION_HEADER]: idText('dec_', source.decision) };
  addJsonHeaders(source, headers);
  tellPrice(source, headers);
  return headers;
}

/** Adds the headers that only a complete JSON answer has, except its price. */
function addJsonHeaders(source: AnswerSource, headers: HTTPHeaders): void {
  headers['content-type'] = 'application/json';
  headers['x-signalbox-model'] = source.model;
  if (source.dropped?.length) headers[DROPPED_HEADER] = droppedText(source.dropped);
}

/** Adds the price to the headers. An error response gets the price, too, because failed attempts may have a cost. */
function tellPrice({ receipt }: AnswerSource, headers: HTTPHeaders): void {
  const credits = receipt ? receipt.platform.credits_consumed : 0;
  // The price is null if the charge could not be stored. If the charge is not stored, a crash would change the price.
  if (credits !== null) headers['x-signalbox-credits'] = String(credits);
}
