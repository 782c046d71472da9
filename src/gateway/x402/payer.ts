import { type Caller, walletCaller } from '../../core/caller.ts';
import type { Microcredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { isWallet, WALLET_FORM, walletOf } from '../../core/wallet.ts';
import { requestHashOf } from '../../payments/canonical.ts';
import type { SignedPayment } from '../../payments/payment.ts';
import { PaymentRefused } from '../../payments/payments.ts';
import { blockedError, unsettledError } from '../../payments/refusals.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Gateway } from '../gateway.ts';
import type { RequestContext } from '../request-context.ts';

/** A chat request, and the URL that it was sent to. */
export interface Asked {
  readonly request: ModelRequest;
  /** Its `Idempotency-Key`; null for none. A payment is for the request of that name, and for no other. */
  readonly named: string | null;
  readonly url: string;
  readonly context: RequestContext;
}

/** Who pays for a request. */
export type Payer =
  /** A key, of a wallet or not, from its own funds. */
  | { readonly kind: 'key'; readonly caller: Caller }
  /** Nobody yet, who is to be told the price. `wallet` is named and not proved; `key` has policies that apply. */
  | { readonly kind: 'nobody'; readonly wallet: string | null; readonly key: Caller | null }
  /** A wallet, by its signature. The policies of a key that came with it apply, and its funds are left alone. */
  | { readonly kind: 'offer'; readonly offer: SignedPayment; readonly key: Caller | null };

/** How a request is carried out for whoever pays. */
export interface Way {
  readonly runtime: Runtime;
  readonly caller: Caller;
  /** The most that it may cost beside its own `budget_limit`; null for no more than that. */
  readonly cap: Microcredits | null;
  /** The balance is yet to be paid in. */
  readonly windowsOnly: boolean;
  /** The wallet whose balance pays in place of the caller's own. */
  readonly payer: string | null;
  readonly offer: SignedPayment | null;
  /** Of the key that came with an offer. */
  readonly keyId: string | null;
}

/**
 * Reads who pays: a key, a payment, or nobody yet. Throws SignalboxError for what contradicts itself, and
 * PaymentRefused for a payment that a new one would mend.
 */
export async function payerOf(
  { payments }: Gateway,
  { request, named }: Asked,
  header: string | null,
  key: Caller | null,
): Promise<Payer> {
  const wallet = namedWallet(request, key);
  if (header === null) {
    if (key) return { kind: 'key', caller: key };
    if (wallet && payments.isBlocked(wallet)) throw blockedError();
    if (!wallet && payments.policy?.walletRequired) throw namelessError();
    return { kind: 'nobody', wallet, key: null };
  }
  if (!payments.policy) {
    const message = 'This gateway takes no payments: send the request without PAYMENT-SIGNATURE.';
    throw new SignalboxError('unsupported_parameter', message, { param: 'PAYMENT-SIGNATURE' });
  }
  if (!wallet && !key && payments.policy.walletRequired) throw namelessError();
  const requestHash = requestHashOf(request.original.body, named);
  const offer = await payments.read({ header, purpose: 'chat', requestHash, wallet });
  if (key) checkMayName(key, offer.payer);
  if (payments.isBlocked(offer.payer)) throw blockedError();
  const other = payments.unsettled(offer.payer, requestHash);
  if (other && other.nonce !== offer.nonce) throw unsettledError(other.id);
  return { kind: 'offer', offer, key };
}

/** How a request goes its way for whoever pays. Throws PaymentRefused when its quote is of a policy that is gone. */
export function wayOf(gateway: Gateway, payer: Exclude<Payer, { kind: 'nobody' }>): Way {
  if (payer.kind === 'key') {
    const { caller } = payer;
    return { runtime: gateway.lease(), caller, cap: null, windowsOnly: false, payer: null, offer: null, keyId: null };
  }
  const { offer, key } = payer;
  const { revision, models, bound } = offer.terms;
  const runtime = gateway.leaseOf(revision);
  if (!runtime) throw new PaymentRefused('quote_outdated', 'The quote is of a policy that is no longer in force.');
  const caller = key ?? walletCaller(offer.payer);
  const offered = models.filter((model) => caller.models?.has(model) ?? true);
  return {
    runtime,
    // What was quoted for is what may answer.
    caller: { ...caller, models: new Set(offered) },
    cap: bound,
    windowsOnly: true,
    payer: caller.keyId === offer.payer ? null : offer.payer,
    offer,
    keyId: key?.keyId ?? null,
  };
}

/** `agent_wallet` in lower case, with a key or without. Throws SignalboxError for what is no address. */
export function namedWallet({ routing }: ModelRequest, key: Caller | null): string | null {
  const { agentWallet: named } = routing;
  if (named === undefined) return null;
  const wallet = walletOf(named);
  if (!wallet) {
    const message = `\`agent_wallet\` must be the address of a wallet: ${WALLET_FORM}.`;
    throw new SignalboxError('invalid_value', message, { param: 'agent_wallet' });
  }
  if (key) checkMayName(key, wallet);
  return wallet;
}

/** A wallet's own key is for that wallet, and a key with a list for those in it. Throws SignalboxError 403. */
function checkMayName({ keyId, wallets }: Caller, wallet: string): void {
  if (isWallet(keyId) && keyId !== wallet) {
    throw new SignalboxError('agent_wallet_mismatch', 'This key is of another wallet.', { param: 'agent_wallet' });
  }
  if (wallets && !wallets.has(wallet)) {
    const message = 'This API key may not name that wallet.';
    throw new SignalboxError('agent_wallet_mismatch', message, { param: 'agent_wallet' });
  }
}

const namelessError = () =>
  new SignalboxError('invalid_api_key', 'Name your wallet in `agent_wallet` to pay by x402, or send an API key.');
