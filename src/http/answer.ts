import { setImmediate } from 'node:timers/promises';
import type { HTTPHeaders } from 'elysia';
import { idText } from '../core/id.ts';
import type { EventForm, Surface } from '../dialects/surface.ts';
import type { AnswerSource } from '../gateway/exchange/answer-source.ts';
import { droppedText } from '../gateway/money/extras.ts';
import { DROPPED_HEADER, type StreamPolicy, streamResponse, textsResponse } from './stream.ts';

/** The longest that an answer is written while others wait, ms. A batch of parts is not interrupted. */
const SLICE_MS = 4;

/** Characters of a body that is sent at once. */
const WHOLE_MAX = 1_048_576;

/** The form of an answer: its stream where the caller asks for one, else JSON. */
export interface AnswerForm {
  readonly events: EventForm | null;
  /** Returns the writer of its JSON body. */
  readonly json: Surface['json'];
}

/**
 * Answers a request from any source: a model's answer under way, or a stored one.
 * @param headers of the response; those of an error get the price, too.
 * @param policy how a stream begins and how it ends after a failure
 * @returns a promise that rejects with the SignalboxError of an answer that failed before its headers.
 */
export function answer(
  source: AnswerSource,
  { events, json }: AnswerForm,
  headers: HTTPHeaders,
  policy: StreamPolicy,
): Promise<Response | string> {
  headers['x-signalbox-decision-id'] = idText('dec_', source.decision);
  if (!events) return jsonBody(source, json, headers);
  return streamResponse(source, events, policy, headers).catch((cause) => {
    tellPrice(source, headers);
    throw cause;
  });
}

/**
 * Returns the answer as text: with the headers beside it the server makes one response of both. A large one is sent in pieces.
 * @throws SignalboxError of an answer that failed. Its price is in the headers, too.
 */
export async function jsonBody(
  source: AnswerSource,
  json: Surface['json'],
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
      // Other requests get their turns.
      await setImmediate();
      until = performance.now() + SLICE_MS;
    }
    if (source.error) throw source.error;
    if (!source.receipt) throw new Error('the answer ended without a receipt');
    texts.push(writer.end(source.receipt));
    headers['content-type'] = 'application/json';
    headers['x-signalbox-model'] = source.model;
    if (source.dropped?.length) headers[DROPPED_HEADER] = droppedText(source.dropped);
  } catch (cause) {
    // After a defect here the answer has no reader, and would hold its money until the deadline.
    source.abandon('caller-gone');
    throw cause;
  } finally {
    tellPrice(source, headers);
  }
  const chars = texts.reduce((sum, { length }) => sum + length, 0);
  return chars <= WHOLE_MAX ? texts.join('') : textsResponse(texts, headers);
}

/** Adds the price to the headers. With an error too: attempts that failed may have cost something. */
function tellPrice({ receipt }: AnswerSource, headers: HTTPHeaders): void {
  const credits = receipt ? receipt.platform.credits_consumed : 0;
  // Null where the charge could not be written down: a crash would change it.
  if (credits !== null) headers['x-signalbox-credits'] = String(credits);
}
