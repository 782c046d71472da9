import type { HTTPHeaders } from 'elysia';
import type { Exchange } from '../gateway/exchange.ts';
import { Completion } from '../surface/openai-chat/completion.ts';

/** The answer as text: with the headers beside it the server makes one response of both. An error tells its price too. */
export async function jsonBody(exchange: Exchange, headers: HTTPHeaders): Promise<string> {
  const completion = new Completion();
  try {
    await exchange.open();
    for (let batch = await exchange.read(); batch !== null; batch = await exchange.read()) completion.add(batch);
    if (exchange.error) throw exchange.error;
  } catch (cause) {
    // After a defect here nobody reads on, and the money would be held until the deadline.
    exchange.abandon('caller-gone');
    throw cause;
  } finally {
    tellPrice(exchange, headers);
  }
  if (!exchange.receipt) throw new Error('the exchange ended without a receipt');
  headers['content-type'] = 'application/json';
  headers['x-signalbox-model'] = exchange.model;
  return JSON.stringify(completion.body(exchange, exchange.receipt));
}

/** With an error too: attempts that failed may have cost something. */
export function tellPrice({ receipt }: Exchange, headers: HTTPHeaders): void {
  const credits = receipt ? receipt.platform.credits_consumed : 0;
  // Null where it could not be written down: a crash would change it.
  if (credits !== null) headers['x-signalbox-credits'] = String(credits);
}
