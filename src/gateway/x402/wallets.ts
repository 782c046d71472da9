import type { IssuedKey } from '../../access/keys.ts';
import { KeyTermsError, tooManyKeys, WALLET_KEYS_MAX } from '../../access/terms.ts';
import type { Microcredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Payment, SignedPayment } from '../../payments/payment.ts';
import { PaymentRefused, type PaymentSubmission, type PaymentUse } from '../../payments/payments.ts';
import { unsettledError } from '../../payments/refusals.ts';
import { drainingError } from '../drain.ts';
import type { Gateway } from '../gateway.ts';
import type { RequestContext } from '../request-context.ts';
import { type Demand, demandPayment } from './payment-required.ts';

/** What a wallet asks for beside completions, and pays for or proves itself by. */
export interface WalletAsk extends Pick<PaymentSubmission, 'requestHash'> {
  readonly purpose: 'topup' | 'keys';
  /** What is to be paid in; 0 for a mere proof that the wallet is held. */
  readonly amount: Microcredits;
  readonly url: string;
}

const DESCRIPTIONS: Readonly<Record<WalletAsk['purpose'], string>> = {
  topup: 'Credits, paid in advance: all of it becomes balance of the wallet.',
  keys: 'A key of the wallet: nothing is paid, the signature alone proves who holds it.',
};

/**
 * The error that tells how to pay, or how to prove the wallet. One that may have paid for this very thing already is
 * told that in its place. Throws SignalboxError `payment_unavailable` when nobody can be quoted.
 */
export function walletDemand(
  { payments, lease }: Gateway,
  { purpose, amount, requestHash, url }: WalletAsk,
  wallet: string | null,
  code: Demand,
  message: string,
  details?: Readonly<Record<string, unknown>>,
): SignalboxError {
  const open = wallet && payments.unsettled(wallet, requestHash);
  if (open) return unsettledError(open.id);
  const quote = payments.quote({
    purpose,
    requestHash,
    bound: amount,
    credit: 0,
    revision: lease().snapshot.revision,
    models: [],
    url,
    description: DESCRIPTIONS[purpose],
    isFeeDue: false,
  });
  return demandPayment(code, message, quote, details);
}

/**
 * Reads a payment or a proof. Throws SignalboxError: with a new quote where that would mend it; `payment_unsettled`
 * where another payment may have paid for it already; 403 for a wallet that has never paid and asks for a key, for of
 * those anybody has as many as he likes.
 */
export async function readOffer(gateway: Gateway, ask: WalletAsk, header: string): Promise<SignedPayment> {
  const { payments } = gateway;
  const { purpose, requestHash } = ask;
  const offer = await withQuote(gateway, ask, null, () =>
    payments.read({ header, purpose, requestHash, wallet: null }),
  );
  const other = payments.unsettled(offer.payer, requestHash);
  if (other && other.nonce !== offer.nonce) throw unsettledError(other.id);
  if (purpose === 'keys' && !(await hasPaid(gateway, offer.payer))) {
    const message = 'This wallet has never paid here: top it up, or pay for a request, and it can have keys.';
    throw new SignalboxError('insufficient_permissions', message);
  }
  return offer;
}

/** Does what a payment is for. What is refused and a new payment can mend is told with a quote. */
export async function withQuote<T>(
  gateway: Gateway,
  ask: WalletAsk,
  wallet: string | null,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (!(cause instanceof PaymentRefused)) throw cause;
    const { reason, message } = cause;
    throw walletDemand(gateway, ask, wallet, 'payment_invalid', message, { reason });
  }
}

/** How a wallet wants its key. */
export interface KeyWish {
  readonly name: string;
  /** Whether it wants one beside those that it has. */
  readonly isNew: boolean;
}

export interface TopUp {
  readonly payment: Payment;
  /** Null for a wallet that has one already and did not ask for another, or has as many as it may. */
  readonly made: IssuedKey | null;
}

/**
 * Has a top-up settled: all that it brings is balance, in one commit. A wallet without a key gets its first. Rejects
 * with PaymentRefused, KeyTermsError or SignalboxError, and then no key was made.
 */
export async function topUp(
  gateway: Gateway,
  context: RequestContext,
  offer: SignedPayment,
  wish: KeyWish,
  by: Omit<PaymentUse, 'decision'>,
): Promise<TopUp> {
  if (gateway.draining()) throw drainingError();
  context.enterFlight(gateway.inFlight);
  try {
    return await toppedUp(gateway, offer, wish, { ...by, decision: null });
  } finally {
    context.leaveFlight();
  }
}

async function toppedUp(gateway: Gateway, offer: SignedPayment, wish: KeyWish, beside: PaymentUse): Promise<TopUp> {
  const { payments, ledger, keys } = gateway;
  const { payer: wallet } = offer;
  // Before money moves.
  if (wish.isNew && (await keys.ofWallet(wallet)).length >= WALLET_KEYS_MAX) throw tooManyKeys();
  const resolution = await payments.settle(offer, beside, (payment, captured) => {
    const { id, paid, fee } = payment;
    const settled = payments.settleWrites(payment, 0, fee);
    return ledger.deposit(wallet, { paid, fee, note: idText('pay_', id) }, [...captured, ...settled]);
  });
  if (resolution.state === 'proved') throw new Error('a top-up was quoted with nothing to pay');
  // A payment that was taken before gives no second key to whoever comes upon its signature, and later on no first one,
  // either.
  const isNow = resolution.state === 'captured';
  const isWanted = isNow && wish.isNew;
  const isFirst = (isNow || gateway.now() < offer.terms.expiresAt) && (await keys.ofWallet(wallet)).length === 0;
  const made = isWanted || isFirst ? await keyOrNull(keys.createForWallet(wallet, wish.name)) : null;
  return { payment: (await payments.get(resolution.payment.id)) ?? resolution.payment, made };
}

/** A wallet that has as many keys as it may has paid all the same, and must be told so. */
async function keyOrNull(making: Promise<IssuedKey>): Promise<IssuedKey | null> {
  try {
    return await making;
  } catch (cause) {
    if (cause instanceof KeyTermsError) return null;
    throw cause;
  }
}

export interface KeyOrder {
  readonly name: string;
  /** Whether every other key of the wallet is to end. */
  readonly revokeOthers: boolean;
}

/** Makes a key for a wallet that has proved itself. Rejects with PaymentRefused, KeyTermsError and SignalboxError. */
export async function makeWalletKey(
  gateway: Gateway,
  offer: SignedPayment,
  { name, revokeOthers }: KeyOrder,
): Promise<{ made: IssuedKey; revoked: number }> {
  if (gateway.draining()) throw drainingError();
  const { payments, keys } = gateway;
  const { payer: wallet } = offer;
  const resolution = await payments.settle(offer, { decision: null, keyId: null }, () => {
    throw new Error('a proof of a wallet has moved money');
  });
  if (resolution.state !== 'proved') throw new Error('a key was quoted with something to pay');
  const revoked = revokeOthers ? (await keys.ofWallet(wallet)).length : 0;
  return { made: await keys.createForWallet(wallet, name, revokeOthers), revoked };
}

async function hasPaid({ ledger, payments }: Gateway, payer: string): Promise<boolean> {
  if ((ledger.balanceOf(payer)?.limit ?? 0) > 0) return true;
  const [one] = await payments.list({ state: 'settled', payer, limit: 1, before: null });
  return one !== undefined;
}
