import type { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Caller } from '../core/caller.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Observation } from '../gateway/observe/observation.ts';
import type { Visit } from './visit.ts';

/** What the route groups share. */
export interface RouteContext {
  readonly gateway: Gateway;
  readonly idempotency: Idempotency;
  /** The caller of a request on a route that needs a key. */
  callerOf(request: Request): Caller;
  /** What a request was let in with. */
  visitOf(request: Request): Visit;
  /** What is seen of a request. */
  seenOf(request: Request): Observation;
}
