import type { Principal } from '../admin/use-cases/principal.ts';
import { refuse } from '../core/errors.ts';
import type { Caller } from '../core/people/caller.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';

/**
 * The principal of a request. The audit trail names its key, user or subject, the login, the request ID and the caller's address.
 * @param from as returned by `RouteServices.addressOf`
 * @param login ID of the login in the request; undefined for none
 */
export const principalOf = (
  { knownCaller: caller, requestId }: RequestContext,
  from: string | null,
  login: string | undefined,
): Principal => ({
  caller,
  actor: { kind: actorKind(caller), name: caller.keyId, requestId, from, ...(login !== undefined && { login }) },
});

/** A key has no role of its own. A person is named by the ID of their user. */
function actorKind({ role, keyId, user }: Caller): 'key' | 'user' | 'token' {
  if (role === undefined) return 'key';
  return keyId === user ? 'user' : 'token';
}

/**
 * Reads the number of rows that a query requests.
 * @throws SignalboxError `out_of_range`
 */
export function limitOf(asked: unknown, most: number): number {
  const limit = Number(asked);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return limit;
  return refuse('limit', `\`limit\` must be a whole number from 1 to ${most}.`, 'out_of_range');
}
