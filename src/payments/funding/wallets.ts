import type { IssuedKey } from '../../access/keys.ts';
import { HOLDER_LIMITS, KeyTermsError, tooManyKeys } from '../../access/terms.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { buildOf } from '../../core/policy/build.ts';
import type { Payment } from '../../store/payments.ts';
import { PaymentRefused, type PaymentSubmission, type PaymentUse } from '../payments.ts';
import type { SignedPayment } from '../read-payment.ts';
import { unsettledError } from '../refusals.ts';
import type { X402Parts } from './gateway.ts';
import { type PaymentReason, paymentRequiredError } from './payment-required.ts';

/** A wallet's request for something other than a model answer. The wallet pays in advance, or proves that the caller holds the wallet. */
export interface WalletRequest extends Pick<PaymentSubmission, 'requestHash'> {
  readonly purpose: 'topup' | 'keys';
  /** The amount to pay in; 0 for a proof that the caller holds the wallet. */
  readonly amount: Microcredits;
  readonly url: string;
}

const DESCRIPTIONS: Readonly<Record<WalletRequest['purpose'], string>> = {
  topup: 'Credits that are paid in advance. The whole payment becomes the balance of the wallet.',
  keys: 'A key of the wallet. Nothing is paid: the signature proves who holds the wallet.',
};

/**
 * The error that says how to pay, or how to prove the wallet; `payment_unsettled` if the wallet may already have paid for this.
 * @throws SignalboxError `payment_unavailable` if no network can be quoted
 */
export async function walletQuoteError(
  { payments, lease }: X402Parts,
  { purpose, amount, requestHash, url }: WalletRequest,
  wallet: string | null,
  reason: PaymentReason,
): Promise<SignalboxError> {
  const open = wallet && (await payments.unsettled(wallet, requestHash));
  if (open) return unsettledError(open.id);
  const quote = payments.quote({
    purpose,
    requestHash,
    bound: amount,
    credit: 0,
    revision: buildOf(lease().snapshot),
    models: [],
    url,
    description: DESCRIPTIONS[purpose],
    isFeeDue: false,
  });
  return paymentRequiredError(reason, quote);
}

/**
 * Reads a payment or a proof.
 * @throws SignalboxError with a new quote if that helps; `payment_unsettled` if another payment may already have paid for it; 403 for a
 * wallet that has never paid and requests a key, because anyone can create such wallets for free
 */
export async function readSigned(gateway: X402Parts, request: WalletRequest, header: string): Promise<SignedPayment> {
  const { payments } = gateway;
  const { purpose, requestHash } = request;
  const signed = await orQuoted(gateway, request, null, () =>
    payments.read({ header, purpose, requestHash, wallet: null }),
  );
  const other = await payments.unsettled(signed.payer, requestHash);
  if (other && other.nonce !== signed.nonce) throw unsettledError(other.id);
  if (purpose === 'keys' && !(await hasPaid(gateway, signed.payer))) {
    const message = 'This wallet has never paid here. It can have keys after it has topped up or paid for a request.';
    throw new SignalboxError('insufficient_permissions', message);
  }
  return signed;
}

/** Runs work that involves a payment. If the payment is refused for a reason that a new payment can fix, the error contains a quote. */
export async function orQuoted<T>(
  gateway: X402Parts,
  request: WalletRequest,
  wallet: string | null,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    if (!(cause instanceof PaymentRefused)) throw cause;
    const { reason, message } = cause;
    throw await walletQuoteError(gateway, request, wallet, { code: 'payment_invalid', message, details: { reason } });
  }
}

/** The key that a top-up requests. */
interface TopUpKey {
  readonly name: string;
  /** Whether to create another key even if the wallet has keys. */
  readonly isNew: boolean;
  /** The caller's address; null if it is not known. */
  readonly from: string | null;
}

/** A settled top-up. */
interface TopUp {
  readonly payment: Payment;
  /** The key is null if the wallet already has a key and requested no other key, or if it has the maximum number of keys. */
  readonly made: IssuedKey | null;
}

/**
 * Settles a top-up. The whole amount becomes balance in one commit. A wallet without a key gets its first key.
 * @throws PaymentRefused, KeyTermsError or SignalboxError; then no key was created
 */
export async function topUp(
  gateway: X402Parts,
  signed: SignedPayment,
  wanted: TopUpKey,
  by: Omit<PaymentUse, 'decision'>,
): Promise<TopUp> {
  const use = { ...by, decision: null };
  const { payments, ledger, keys } = gateway;
  const { payer: wallet } = signed;
  // The key is checked before any money moves.
  if (wanted.isNew && (await keys.ofHolder(wallet)).length >= HOLDER_LIMITS.unrevoked) throw tooManyKeys();
  const resolution = await payments.settle(signed, use, (payment, captured) => {
    const { id, paid, fee } = payment;
    const settled = payments.settleWrites(payment, 0, fee);
    return ledger.deposit(wallet, { paid, fee, note: idText('pay_', id) }, [...captured, ...settled]);
  });
  if (resolution.state === 'proved') throw new Error('A top-up was quoted with nothing to pay.');
  // If the payment had arrived earlier, it creates no key now: a person who finds its signature must not get a key.
  const isNow = resolution.state === 'captured';
  const isWanted = isNow && wanted.isNew;
  const isFirst = (isNow || gateway.now() < signed.terms.expiresAt) && (await keys.ofHolder(wallet)).length === 0;
  const made =
    isWanted || isFirst ? await keyOrNull(keys.createForHolder(wallet, wanted.name, { from: wanted.from })) : null;
  return { payment: (await payments.get(resolution.payment.id)) ?? resolution.payment, made };
}

/** A wallet with the maximum number of keys has paid anyway, and the error must say so. */
async function keyOrNull(making: Promise<IssuedKey>): Promise<IssuedKey | null> {
  try {
    return await making;
  } catch (cause) {
    if (cause instanceof KeyTermsError) return null;
    throw cause;
  }
}

interface WalletKeyTerms {
  readonly name: string;
  /** Whether every other key of the wallet is revoked. */
  readonly revokeOthers: boolean;
  /** See `TopUpKey.from`. */
  readonly from: string | null;
}

/**
 * Creates a key for a wallet whose holder has proved to hold it.
 * @throws PaymentRefused, KeyTermsError and SignalboxError
 */
export async function makeWalletKey(
  gateway: X402Parts,
  signed: SignedPayment,
  { name, revokeOthers: isAlone, from }: WalletKeyTerms,
): Promise<{ made: IssuedKey; revoked: number }> {
  const { payments, keys } = gateway;
  const { payer: wallet } = signed;
  const resolution = await payments.settle(signed, { decision: null, keyId: null }, () => {
    throw new Error('A proof of a wallet has moved money.');
  });
  if (resolution.state !== 'proved') throw new Error('A key was quoted with something to pay.');
  const revoked = isAlone ? (await keys.ofHolder(wallet)).length : 0;
  return { made: await keys.createForHolder(wallet, name, { isAlone, from }), revoked };
}

async function hasPaid({ ledger, payments }: X402Parts, payer: string): Promise<boolean> {
  if ((ledger.balanceOf(payer)?.limit ?? 0) > 0) return true;
  const [one] = await payments.list({ state: 'settled', payer, limit: 1, before: null });
  return one !== undefined;
}
