import { PeopleError } from '../access/people-terms.ts';
import { KeyTermsError } from '../access/terms.ts';
import type { Caller } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import { type ErrorCode, SignalboxError } from '../core/errors.ts';
import { exactMillionths } from '../core/exact-millionths.ts';
import type { Principal } from '../operate/principal.ts';
import type { RequestContext } from '../request/request-context.ts';
import { orOverloaded } from '../store/unwritten.ts';

/**
 * Runs work on a key's terms and turns their refusal into an error of the caller.
 * @param isField whether the body has a field of that name
 * @throws SignalboxError `invalid_value`
 */
export async function inTerms<T>(
  deed: () => T | Promise<T>,
  isField: (param: string) => boolean = () => true,
): Promise<T> {
  try {
    return await deed();
  } catch (cause) {
    if (!(cause instanceof KeyTermsError)) throw cause;
    const { message, param } = cause;
    throw new SignalboxError('invalid_value', message, isField(param) ? { param } : {});
  }
}

/**
 * Runs work on teams and users, and turns its refusals into errors of the caller.
 * @throws SignalboxError
 */
export async function inPeople<T>(deed: () => T | Promise<T>): Promise<T> {
  try {
    return await inTerms(deed);
  } catch (cause) {
    if (!(cause instanceof PeopleError)) throw cause;
    const headers = cause.tag === null ? undefined : { etag: `"${cause.tag}"` };
    throw new SignalboxError(PEOPLE_CODES[cause.reason], cause.message, { ...(headers && { headers }), cause });
  }
}

const PEOPLE_CODES = {
  conflict: 'conflict',
  stale: 'precondition_failed',
  missing: 'not_found',
  busy: 'overloaded',
} as const satisfies Record<PeopleError['reason'], ErrorCode>;

/** Runs a change that the disk may refuse. Rejects with SignalboxError `overloaded` where it does. */
export const orNothingDone = <T>(change: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be written, so nothing was changed; try again.', change);

/**
 * Reads the Credits of a grant.
 * @returns microcredits, not 0; negative to take back.
 * @throws SignalboxError
 */
export function grantedAmount(credits: number): Microcredits {
  const amount = exactMillionths(credits, 'credits');
  return amount !== 0 ? amount : refuseValue('credits', '`credits` must not be 0.');
}

/**
 * The principal of a request. The trail names its key, user or subject, the login, the ID of the request and the caller's address.
 * @param from as `RouteServices.addressOf` returns it
 * @param login ID of the login that the request bears; undefined for none
 */
export const principalOf = (
  { knownCaller: caller, requestId }: RequestContext,
  from: string | null,
  login: string | undefined,
): Principal => ({
  caller,
  actor: { kind: actorKind(caller), name: caller.keyId, requestId, from, ...(login !== undefined && { login }) },
});

/** Keys have no role of their own; a person is called by the ID of its user. */
function actorKind({ role, keyId, user }: Caller): 'key' | 'user' | 'token' {
  if (role === undefined) return 'key';
  return keyId === user ? 'user' : 'token';
}

/**
 * Reads the number of rows that a query asks for.
 * @throws SignalboxError `out_of_range`
 */
export function limitOf(asked: unknown, most: number): number {
  const limit = Number(asked);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return limit;
  return refuseValue('limit', `\`limit\` must be a whole number from 1 to ${most}.`, 'out_of_range');
}

/** Refuses a value of a parameter. */
export function refuseValue(param: string, message: string, code: ErrorCode = 'invalid_value'): never {
  throw new SignalboxError(code, message, { param });
}
