import { createHmac, hash } from 'node:crypto';
import { type Caller, permissionsOf } from '../../core/people/caller.ts';
import type { Claims, TokenIssuer } from '../../core/people/token-issuer.ts';
import { orElse } from '../../core/thrown.ts';

/** The most characters of a label's value, as for labels of keys. */
const LABEL_LENGTH_MAX = 200;
/**
 * Control characters, direction marks, line breaks and lone surrogates. Labels must not contain these characters, because labels are shown.
 */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Returns the ID of a subject. The ID of a subject depends only on the claims `iss` and `sub`. */
function subjectId(issuer: string, sub: string): string {
  // JSON shows where the issuer ends and the subject begins.
  return `subject_${hash('sha256', JSON.stringify([issuer, sub]), 'hex').slice(0, 32)}`;
}

/** Separates this use of the store's secret from other uses. */
const ANSWERS = 'signalbox answers of subjects 1\n';

/**
 * Returns the secret with which the stored answers of a subject are encrypted. A token cannot be that secret, because tokens change every
 * hour.
 * @param secret of the store
 */
export const answerSecretOf = (secret: Uint8Array, id: string): string =>
  createHmac('sha256', secret).update(ANSWERS).update(id).digest('base64url');

/** The caller that a checked token represents. @param team the ID of the caller's team; null for none */
export function subjectCaller(
  issuer: TokenIssuer,
  claims: Claims & { readonly sub: string },
  team: string | null,
): Caller {
  const isAdmin = orElse(() => issuer.admin?.(claims) ?? false, false);
  return {
    keyId: subjectId(issuer.issuer, claims.sub),
    scopes: permissionsOf(issuer.scopes),
    labels: labelsOf(issuer, claims),
    models: issuer.models,
    limits: issuer.limits,
    budgets: [],
    ...(team !== null && { team }),
    // A token never gives the role of an owner, because an owner can create keys that outlive the token.
    ...(isAdmin && { role: 'admin' }),
  };
}

function labelsOf({ labels }: TokenIssuer, claims: Claims): Caller['labels'] {
  const stated = [...labels].flatMap(([label, read]) => {
    const value = orElse(() => read(claims), '');
    const isFit = value !== '' && value.length <= LABEL_LENGTH_MAX && !UNSHOWABLE.test(value);
    return isFit ? [[label, value] as const] : [];
  });
  return Object.fromEntries(stated);
}
