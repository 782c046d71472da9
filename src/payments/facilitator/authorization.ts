import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Authorization, AuthorizationQuery } from './facilitator.ts';

/** Returns a reason that has the form of an x402 code. Any other text may contain addresses. */
export const reasonCode = (reason: string | null | undefined): string =>
  typeof reason === 'string' && /^[a-z0-9_]{1,80}$/.test(reason) ? reason : 'unexpected_error';

/** The fields of an EIP-3009 payload that the chain is asked about. Checked when the payment was read. */
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
