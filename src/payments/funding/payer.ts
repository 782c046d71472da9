import { type Caller, holderCaller } from '../../core/caller.ts';
import { refuse, SignalboxError } from '../../core/errors.ts';
import { ADDRESS_FORM, addressOf, isAddress } from '../../core/holder-address.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { SignedPayment } from '../read-payment.ts';

/** The payer of a request, as far as it is known. A quote is made out to it. */
export interface PayerContext {
  /** The address of the wallet that is to pay, in lower case; null while unknown. */
  readonly wallet: string | null;
  /** Whether a signature or a key has proved the wallet, and not only its name. */
  readonly isProved: boolean;
  /** The key whose rules apply; null for none. */
  readonly key: Caller | null;
  /** The payment that the request came with; null for none. */
  readonly payment: SignedPayment | null;
}

/** A payer who has proved nothing. */
export const unprovedPayer = (wallet: string | null, key: Caller | null): PayerContext => ({
  wallet,
  isProved: false,
  key,
  payment: null,
});

/** A key that may pay where its funds do not suffice. */
export function keyPayer(key: Caller, { routing }: ModelRequest): PayerContext {
  const { agentWallet: named } = routing;
  if (!isAddress(key.keyId)) return unprovedPayer(named === undefined ? null : addressOf(named), key);
  return { wallet: key.keyId, isProved: true, key, payment: null };
}

/** A wallet that has signed a payment. */
export const signedPayer = (payment: SignedPayment, key: Caller | null): PayerContext => ({
  wallet: payment.payer,
  isProved: true,
  key,
  payment,
});

/** The caller whose rules apply. Without a key and a wallet they are those of a wallet without an address. */
export const callerOf = ({ key, wallet }: PayerContext): Caller => key ?? holderCaller(wallet ?? '');

/**
 * Returns `agent_wallet` in lower case; null for none. Checked whether or not payments are taken.
 * @throws SignalboxError `invalid_value` for a text that is no address, `agent_wallet_mismatch` for one that the key may not name.
 */
export function namedWallet({ routing }: ModelRequest, key: Caller | null): string | null {
  const { agentWallet: named } = routing;
  if (named === undefined) return null;
  const wallet = addressOf(named);
  if (!wallet) {
    const message = `\`agent_wallet\` must be the address of a wallet: ${ADDRESS_FORM}.`;
    refuse('agent_wallet', message);
  }
  if (key) checkMayName(key, wallet);
  return wallet;
}

/** A wallet's own key is for that wallet, and a key with a list for those in it. Throws SignalboxError 403. */
export function checkMayName({ keyId, holders }: Caller, wallet: string): void {
  if (isAddress(keyId) && keyId !== wallet) {
    refuse('agent_wallet', 'This API key belongs to a different wallet.', 'agent_wallet_mismatch');
  }
  if (holders && !holders.has(wallet)) {
    const message = 'This API key is not allowed to name that wallet.';
    throw new SignalboxError('agent_wallet_mismatch', message, { param: 'agent_wallet' });
  }
}
