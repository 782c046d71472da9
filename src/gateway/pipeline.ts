import type { ModelRequest } from '../core/model-request.ts';
import { beginExchange } from './begin-exchange.ts';
import { decideChat } from './decide.ts';
import { checkServing } from './drain.ts';
import type { Exchange } from './exchange.ts';
import type { Funding } from './funding.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';
import { type RequestClaim, reserve } from './reserve.ts';

/** A chat request as its surface has read it. */
export interface ChatCall {
  readonly request: ModelRequest;
  readonly context: RequestContext;
}

/** How a request is carried out. */
export interface ExecutionOptions {
  readonly claim?: RequestClaim | null;
  /** Whether it goes on after its caller has left. */
  readonly toTheEnd?: boolean;
}

/**
 * The pipeline of a chat request. Before it, `http/guard.ts` admits the request (its context) and the surface reads it
 * (the call); after it, the surface writes what the exchange reads. `recommend` takes the same steps up to decide.
 * @returns the exchange, paid for and not begun: open it, and read it to its end or abandon it
 * @throws SignalboxError, and then nothing is held. Where a payment would mend it, the error says how to pay.
 */
export async function beginChat(
  gateway: Gateway,
  { request, context }: ChatCall,
  funding: Funding,
  { claim = null, toTheEnd = false }: ExecutionOptions = {},
): Promise<Exchange> {
  checkServing(gateway);
  try {
    const terms = funding.terms();
    context.step('pin');
    const startedAt = gateway.clock();
    // (guards on the request)
    // (cache)
    const decided = await decideChat(gateway, request, terms, true, context);
    const timing = { startedAt, signal: toTheEnd ? undefined : context.signal };
    const funded = await reserve(gateway, decided.decision, { request, context, funding, terms, claim, ...timing });
    // (guards on the answer)
    return beginExchange(gateway, { request, context, terms, startedAt, funded, ...decided });
  } catch (cause) {
    throw await funding.mend(cause);
  }
}
