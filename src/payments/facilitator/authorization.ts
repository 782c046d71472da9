import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Authorization, AuthorizationQuery } from './facilitator.ts';

/** A reason in x402's own form. Anything else may be a text with addresses in it. */
export const reasonCode = (reason: string | null | undefined): string =>
  typeof reason === 'string' && /^[a-z0-9_]{1,80}$/.test(reason) ? reason : 'unexpected_error';

/** What a payload of EIP-3009 carries, as far as the chain is asked for it. Its form was checked where it came in. */
const PayloadForm = Type.Object({ authorization: Type.Object({ value: Type.String(), validBefore: Type.String() }) });

export function queryOf({ payload, requirements, payer, nonce }: Authorization, since: number): AuthorizationQuery {
  const { authorization } = Value.Parse(PayloadForm, payload.payload);
  return {
    asset: requirements.asset,
    payTo: requirements.payTo,
    payer,
    nonce,
    amount: BigInt(authorization.value),
    validBefore: Number(authorization.validBefore),
    since,
  };
}
