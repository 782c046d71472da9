import { createHmac, hash } from 'node:crypto';
import { type Caller, permissionsOf } from '../../core/caller.ts';
import { orElse } from '../../core/thrown.ts';
import type { Claims, TokenIssuer } from '../../core/token-issuer.ts';

/** Characters of a label's value, as of a key's. */
const LABEL_LENGTH_MAX = 200;
/** Controls, direction marks, line breaks and lone surrogates: labels are shown. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** The ID of a subject, which is the same whatever its tokens say beside. */
function subjectId(issuer: string, sub: string): string {
  // A JSON text tells where one ends and the other begins.
  return `subject_${hash('sha256', JSON.stringify([issuer, sub]), 'hex').slice(0, 32)}`;
}

/** Separates this use of the store's secret from others. */
const ANSWERS = 'signalbox answers of subjects 1\n';

/**
 * The secret that the kept answers of a subject are sealed with: its tokens change each hour, so that none of them can be.
 * @param secret of the store
 */
export const answerSecretOf = (secret: Uint8Array, id: string): string =>
  createHmac('sha256', secret).update(ANSWERS).update(id).digest('base64url');

/** The caller that a checked token stands for. @param team the ID of its team; null for none */
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
    // Never the owner, who may make keys that outlive the token.
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
