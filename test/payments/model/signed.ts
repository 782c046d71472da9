import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** An EIP-3009 authorization as JSON. */
export interface TransferAuthorization {
  from: `0x${string}`;
  to: `0x${string}`;
  value: string;
  validAfter: string;
  validBefore: string;
  nonce: `0x${string}`;
}

/** A payment whose parts a hostile client may still change. */
export interface ClientPayment {
  readonly header: string;
  readonly nonce: `0x${string}`;
  readonly payload: PaymentPayload & { payload: { signature: `0x${string}`; authorization: TransferAuthorization } };
}

export interface SignOptions {
  /** Milliseconds since 1970; the real time by default. */
  readonly now?: number;
  /** Seconds of validity; by default as in the quote. */
  readonly seconds?: number;
  /** Fields that replace the fields of the quote. */
  readonly authorize?: Partial<TransferAuthorization>;
}

/** Signs the first entry of a quote like a standard client, or with changed fields like a hostile client. */
export async function signed(
  account: PrivateKeyAccount,
  { accepts }: Pick<PaymentRequired, 'accepts'>,
  { now = Date.now(), seconds, authorize = {} }: SignOptions = {},
): Promise<ClientPayment> {
  const [accepted] = accepts;
  if (!accepted) throw new Error('nothing was offered');
  const nonce = hex(Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex'));
  const until = Math.floor(now / 1_000) + (seconds ?? accepted.maxTimeoutSeconds);
  const authorization: TransferAuthorization = {
    from: account.address,
    to: hex(accepted.payTo.slice(2)),
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(until),
    nonce,
    ...authorize,
  };
  const signature = await signatureOf(account, accepted, authorization);
  const payload = { x402Version: 2, accepted, payload: { signature, authorization } };
  return { nonce: authorization.nonce, payload, header: encoded(payload) };
}

function signatureOf(account: PrivateKeyAccount, accepted: PaymentRequirements, authorization: TransferAuthorization) {
  const { name, version } = accepted.extra as { name: string; version: string };
  return account.signTypedData({
    domain: {
      name,
      version,
      chainId: Number(accepted.network.split(':')[1]),
      verifyingContract: hex(accepted.asset.slice(2)),
    },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  });
}

export const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

const hex = (digits: string): `0x${string}` => `0x${digits}`;
