import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Claims, TokenIssuer } from '../../core/people/token-issuer.ts';
import { orElse } from '../../core/thrown.ts';
import { hasPlainSignature } from './form.ts';
import type { TokenRefusal } from './refusal.ts';

/** Only signatures with public keys are allowed. With a shared secret, either side could sign. */
export const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** The accepted types of tokens. Tokens of other types have other purposes, such as a logout. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

/** The longest lifetime of a token, s. */
const LIFE_MAX_S = 86_400;
/** How far the clock of an issuer may be ahead, s. The lifetime of a token is not extended. */
const SKEW_S = 60;
const SUBJECT_LENGTH_MAX = 1_024;

/** A token that may be valid. The signature of the token and the condition of its issuer must still be checked. */
export interface TokenClaim {
  readonly issuer: TokenIssuer;
  readonly claims: Claims & { readonly sub: string };
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Checks everything about a token that needs no key first, because checking signatures is expensive.
 * @param now ms since 1970
 */
export function readToken(token: string, issuers: readonly TokenIssuer[], now: number): TokenClaim | TokenRefusal {
  const header = orElse(() => decodeProtectedHeader(token), null);
  const claims = orElse(() => decodeJwt(token), null);
  if (!header || !claims || !hasPlainSignature(token)) return 'unreadable';
  if (!ALGORITHMS.includes(header.alg ?? '')) return 'algorithm';
  if (header.typ !== undefined && !TYPES.has(String(header.typ).toLowerCase())) return 'type';
  const issuer = issuers.find((one) => one.issuer === claims.iss);
  if (!issuer) return 'issuer';
  const { aud, sub } = claims;
  const audiences = typeof aud === 'string' ? [aud] : Array.isArray(aud) ? aud : [];
  if (!audiences.some((one) => issuer.audiences.includes(one))) return 'audience';
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_LENGTH_MAX) return 'no-subject';
  return (
    timeFault(claims, now / 1_000) ?? { issuer, claims: { ...claims, sub }, expiresAt: Number(claims.exp) * 1_000 }
  );
}

function timeFault({ exp, nbf, iat }: Claims, now: number): TokenRefusal | null {
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'no-expiry';
  if (exp <= now) return 'expired';
  for (const start of [nbf, iat]) {
    if (start === undefined) continue;
    if (typeof start !== 'number' || !(start <= now + SKEW_S)) return 'not-yet';
  }
  return exp - Math.min(typeof iat === 'number' ? iat : now, now) > LIFE_MAX_S ? 'too-long' : null;
}
