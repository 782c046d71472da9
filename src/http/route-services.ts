import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Caller } from '../core/caller.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { RequestContext } from '../gateway/request-context.ts';

/** The services that route groups share. */
export interface RouteServices {
  readonly gateway: Gateway;
  readonly idempotency: Idempotency;
  /** The caller of a request on a route that needs a key. */
  callerOf(request: Request): Caller;
  contextOf(request: Request): RequestContext;
}
