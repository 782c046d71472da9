import type { HTTPHeaders } from 'elysia';
import { idText } from '../core/id.ts';
import type { AnswerSource } from '../gateway/answer-source.ts';
import type { EventForm, Surface } from '../surface/surface.ts';
import { DROPPED_HEADER, streamResponse } from './stream.ts';

/** The form of an answer: its stream where the caller asks for one, else JSON. */
export interface AnswerForm {
  readonly events: EventForm | null;
  /** Returns the writer of its JSON body. */
  readonly json: Surface['json'];
}

/**
 * Answers a request from any source: a model's answer under way, or a stored one.
 * @param headers of the response; those of an error get the price, too.
 * @param commitAfterMs how long the headers of a stream wait for its first content.
 * @returns a promise that rejects with the SignalboxError of an answer that failed before its headers.
 */
export function answer(
  source: AnswerSource,
  { events, json }: AnswerForm,
  headers: HTTPHeaders,
  commitAfterMs: number,
): Promise<Response | string> {
  headers['x-signalbox-decision-id'] = idText('dec_', source.decision);
  return events ? eventStream(source, events, headers, commitAfterMs) : jsonBody(source, json, headers);
}

async function eventStream(
  source: AnswerSource,
  events: EventForm,
  headers: HTTPHeaders,
  commitAfterMs: number,
): Promise<Response> {
  try {
    return await streamResponse(source, events, commitAfterMs, headers);
  } catch (cause) {
    tellPrice(source, headers);
    throw cause;
  }
}

/**
 * Returns the answer as text: with the headers beside it the server makes one response of both.
 * @throws SignalboxError of an answer that failed. Its price is in the headers, too.
 */
export async function jsonBody(source: AnswerSource, json: Surface['json'], headers: HTTPHeaders): Promise<string> {
  try {
    await source.open();
    const writer = json(source);
    for (let parts = source.read(); parts !== null; parts = source.read()) {
      if (parts instanceof Promise) await parts;
      else writer.write(parts);
    }
    if (source.error) throw source.error;
    if (!source.receipt) throw new Error('the answer ended without a receipt');
    headers['content-type'] = 'application/json';
    headers['x-signalbox-model'] = source.model;
    if (source.unsupported?.length) headers[DROPPED_HEADER] = source.unsupported.join(', ');
    return writer.end(source.receipt);
  } catch (cause) {
    // After a defect here the answer has no reader, and would hold its money until the deadline.
    source.abandon('caller-gone');
    throw cause;
  } finally {
    tellPrice(source, headers);
  }
}

/** Adds the price to the headers. With an error too: attempts that failed may have cost something. */
function tellPrice({ receipt }: AnswerSource, headers: HTTPHeaders): void {
  const credits = receipt ? receipt.platform.credits_consumed : 0;
  // Null where the charge could not be written down: a crash would change it.
  if (credits !== null) headers['x-signalbox-credits'] = String(credits);
}
