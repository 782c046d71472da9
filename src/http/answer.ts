import type { HTTPHeaders } from 'elysia';
import type { AnswerSource } from '../gateway/answer-source.ts';
import type { Surface } from '../surface/surface.ts';

/**
 * Returns the answer as text: with the headers beside it the server makes one response of both.
 * @throws SignalboxError of an answer that failed. Its price is in the headers, too.
 */
export async function jsonBody(source: AnswerSource, surface: Surface, headers: HTTPHeaders): Promise<string> {
  try {
    await source.open();
    const writer = surface.json(source);
    for (let batch = await source.read(); batch !== null; batch = await source.read()) writer.write(batch);
    if (source.error) throw source.error;
    if (!source.receipt) throw new Error('the answer ended without a receipt');
    headers['content-type'] = 'application/json';
    headers['x-signalbox-model'] = source.model;
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
export function tellPrice({ receipt }: AnswerSource, headers: HTTPHeaders): void {
  const credits = receipt ? receipt.platform.credits_consumed : 0;
  // Null where the charge could not be written down: a crash would change it.
  if (credits !== null) headers['x-signalbox-credits'] = String(credits);
}
