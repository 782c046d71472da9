import type { Authorization, AuthorizationQuery } from './facilitator.ts';

/** Returns a reason that has the form of an x402 code. Any other text may contain addresses. */
export const reasonCode = (reason: string | null | undefined): string =>
  typeof reason === 'string' && /^[a-z0-9_]{1,80}$/.test(reason) ? reason : 'unexpected_error';

export function queryOf(authorization: Authorization, since: number): AuthorizationQuery {
  const { asset, payTo } = authorization.requirements;
  return { ...authorization, asset, payTo, since };
}
