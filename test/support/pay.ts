import { x402Client, x402HTTPClient } from '@x402/core/client';
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '@x402/core/types';
import { authorizationTypes } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { type Hex, toHex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The standard x402 client, which pays everything that `signQuote` would sign. The client's spend controls know only the assets of real
 * chains.
 */
function clientOf(account: PrivateKeyAccount): x402Client {
  return new x402Client().register('eip155:*', new ExactEvmScheme(account)).setSpendControls({ allowedAssets: true });
}

/** A `fetch` that pays automatically when the server requests a payment, as `@x402/fetch` does. */
export function payingFetch(account: PrivateKeyAccount, options: { readonly fetch?: Fetch } = {}): Fetch {
  const inner = (options.fetch ?? fetch) as typeof fetch;
  return wrapFetchWithPayment(inner, clientOf(account));
}

export interface Authorized {
  from: Hex;
  to: Hex;
  value: string;
  validAfter: string;
  validBefore: string;
  nonce: Hex;
}

export interface SignOptions {
  /** The index of the offer; the first by default. */
  readonly which?: number;
  /** Changes the authorization before it is signed. */
  readonly authorization?: Partial<Authorized>;
  /** Changes the payment after it was signed. */
  readonly tamper?: (payload: PaymentPayload) => PaymentPayload;
}

/** Signs a payment for an offer by hand. The function can also make payments that no honest client makes. */
export async function signPayment(
  account: PrivateKeyAccount,
  required: PaymentRequired,
  { which = 0, authorization: changes, tamper = (payload) => payload }: SignOptions = {},
): Promise<PaymentPayload> {
  const accepted = required.accepts[which];
  if (accepted === undefined) throw new Error(`There is no offer ${which}.`);
  const authorization = { ...authorizationOf(account, accepted), ...changes };
  const { from, to, nonce } = authorization;
  const signature = await account.signTypedData({
    domain: domainOf(accepted),
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from,
      to,
      nonce,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  });
  return tamper({
    x402Version: 2,
    resource: required.resource,
    accepted,
    payload: { signature, authorization },
  });
}

/** Returns a signed payment as the value of `PAYMENT-SIGNATURE`. */
export async function signQuote(
  account: PrivateKeyAccount,
  required: PaymentRequired,
  options?: SignOptions,
): Promise<string> {
  return paymentHeader(await signPayment(account, required, options));
}

/** Returns a payment as the value of a header. */
export function paymentHeader(payload: PaymentPayload): string {
  const headers = new x402HTTPClient(new x402Client()).encodePaymentSignatureHeader(payload);
  const [value] = Object.values(headers);
  if (value === undefined) throw new Error('A payment has a header.');
  return value;
}

function authorizationOf(account: PrivateKeyAccount, accepted: PaymentRequirements): Authorized {
  const now = Math.floor(Date.now() / 1000);
  return {
    from: account.address,
    to: accepted.payTo as Hex,
    value: accepted.amount,
    validAfter: String(now - 600),
    validBefore: String(now + accepted.maxTimeoutSeconds),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
  };
}

function domainOf({ network, asset, extra }: PaymentRequirements) {
  return {
    name: String(extra?.name),
    version: String(extra?.version),
    chainId: Number(network.split(':')[1]),
    verifyingContract: asset as Hex,
  };
}
