import { refuse, SignalboxError } from '../../core/errors.ts';
import { ADDRESS_FORM, addressOf, isAddress } from '../../core/money/holder-address.ts';
import { type Caller, holderCaller } from '../../core/people/caller.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { SignedPayment } from '../read-payment.ts';

/** The known facts about the payer of a request. Quotes are made for this payer. */
export interface PayerContext {
  /** The address of the wallet that will pay, in lower case; null while unknown. */
  readonly wallet: string | null;
  /** Whether a signature or a key has proved who holds the wallet. Without a proof, the request only names the wallet. */
  readonly isProved: boolean;
  /** The key whose rules apply; null for none. */
  readonly key: Caller | null;
  /** The payment in the request; null for none. */
  readonly payment: SignedPayment | null;
}

/** A payer who has proved nothing. */
export const unprovedPayer = (wallet: string | null, key: Caller | null): PayerContext => ({
  wallet,
  isProved: false,
  key,
  payment: null,
});

/** A key whose caller may pay if its funds are too low. */
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

/** The caller whose rules apply. Without a key and a wallet, the rules of a wallet without an address apply. */
export const callerOf = ({ key, wallet }: PayerContext): Caller => key ?? holderCaller(wallet ?? '');

/**
 * Returns `agent_wallet` in lower case; null for none. The check runs even if payments are off.
 * @throws SignalboxError `invalid_value` if the value is not an address, `agent_wallet_mismatch` if the key may not name it
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

/**
 * Checks that a key may name a wallet: a wallet's own key may name only that wallet, and a key with a list only wallets of the list.
 * @throws SignalboxError 403
 */
export function checkMayName({ keyId, holders }: Caller, wallet: string): void {
  if (isAddress(keyId) && keyId !== wallet) {
    refuse('agent_wallet', 'This API key belongs to a different wallet.', 'agent_wallet_mismatch');
  }
  if (holders && !holders.has(wallet)) {
    const message = 'This API key is not allowed to name that wallet.';
    throw new SignalboxError('agent_wallet_mismatch', message, { param: 'agent_wallet' });
  }
}
