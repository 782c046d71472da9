import type { IssuedKey } from '../../access/keys.ts';
import { HOLDER_LIMITS, KeyTermsError, tooManyKeys } from '../../access/terms.ts';
import type { Microcredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Payment } from '../../store/payments.ts';
import { PaymentRefused, type PaymentSubmission, type PaymentUse } from '../payments.ts';
import type { SignedPayment } from '../read-payment.ts';
import { unsettledError } from '../refusals.ts';
import type { X402Parts } from './gateway.ts';
import { type PaymentReason, paymentRequiredError } from './payment-required.ts';

/** A request of a wallet for something else than a completion, which it pays for or proves itself by. */
export interface WalletRequest extends Pick<PaymentSubmission, 'requestHash'> {
  readonly purpose: 'topup' | 'keys';
  /** The amount to pay in; 0 for a mere proof that the wallet is held. */
  readonly amount: Microcredits;
  readonly url: string;
}

const DESCRIPTIONS: Readonly<Record<WalletRequest['purpose'], string>> = {
  topup: 'Credits, paid in advance. The whole payment becomes the balance of the wallet.',
  keys: 'A key of the wallet. Nothing is paid: the signature proves who holds the wallet.',
};

/**
 * The error that tells how to pay, or how to prove the wallet; `payment_unsettled` for a wallet that may have paid for
 * this already.
 * @throws SignalboxError `payment_unavailable` when no network can be quoted.
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
    revision: lease().snapshot.revision,
    models: [],
    url,
    description: DESCRIPTIONS[purpose],
    isFeeDue: false,
  });
  return paymentRequiredError(reason, quote);
}

/**
 * Reads a payment or a proof.
 * @throws SignalboxError, with a new quote where that would mend it; `payment_unsettled` where another payment may have
 * paid for it already; 403 for a wallet that has never paid and asks for a key, because such wallets cost nothing.
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
    const message = 'This wallet has never paid here. It can have keys once it has topped up or paid for a request.';
    throw new SignalboxError('insufficient_permissions', message);
  }
  return signed;
}

/** Runs the work of a payment. A refusal that a new payment can mend becomes an error with a quote. */
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

/** The key that a top-up asks for. */
interface TopUpKey {
  readonly name: string;
  /** Whether it is wanted beside keys that the wallet has. */
  readonly isNew: boolean;
  /** The caller's address; null where it is not known. */
  readonly from: string | null;
}

/** A settled top-up. */
interface TopUp {
  readonly payment: Payment;
  /** Null for a wallet that has one already and did not ask for another, or has as many as it may. */
  readonly made: IssuedKey | null;
}

/**
 * Has a top-up settled: all that it brings is balance, in one commit. A wallet without a key gets its first.
 * @throws PaymentRefused, KeyTermsError or SignalboxError, and then no key was made.
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
  // Before money moves.
  if (wanted.isNew && (await keys.ofHolder(wallet)).length >= HOLDER_LIMITS.unrevoked) throw tooManyKeys();
  const resolution = await payments.settle(signed, use, (payment, captured) => {
    const { id, paid, fee } = payment;
    const settled = payments.settleWrites(payment, 0, fee);
    return ledger.deposit(wallet, { paid, fee, note: idText('pay_', id) }, [...captured, ...settled]);
  });
  if (resolution.state === 'proved') throw new Error('a top-up was quoted with nothing to pay');
  // A payment that was taken before gives no second key to somebody who comes upon its signature, and later no first one.
  const isNow = resolution.state === 'captured';
  const isWanted = isNow && wanted.isNew;
  const isFirst = (isNow || gateway.now() < signed.terms.expiresAt) && (await keys.ofHolder(wallet)).length === 0;
  const made =
    isWanted || isFirst ? await keyOrNull(keys.createForHolder(wallet, wanted.name, { from: wanted.from })) : null;
  return { payment: (await payments.get(resolution.payment.id)) ?? resolution.payment, made };
}

/** A wallet at its limit of keys has paid all the same, and the error must say so. */
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
  /** As `TopUpKey.from`. */
  readonly from: string | null;
}

/** Makes a key for a wallet that has proved itself. Throws PaymentRefused, KeyTermsError and SignalboxError. */
export async function makeWalletKey(
  gateway: X402Parts,
  signed: SignedPayment,
  { name, revokeOthers: isAlone, from }: WalletKeyTerms,
): Promise<{ made: IssuedKey; revoked: number }> {
  const { payments, keys } = gateway;
  const { payer: wallet } = signed;
  const resolution = await payments.settle(signed, { decision: null, keyId: null }, () => {
    throw new Error('a proof of a wallet has moved money');
  });
  if (resolution.state !== 'proved') throw new Error('a key was quoted with something to pay');
  const revoked = isAlone ? (await keys.ofHolder(wallet)).length : 0;
  return { made: await keys.createForHolder(wallet, name, { isAlone, from }), revoked };
}

async function hasPaid({ ledger, payments }: X402Parts, payer: string): Promise<boolean> {
  if ((ledger.balanceOf(payer)?.limit ?? 0) > 0) return true;
  const [one] = await payments.list({ state: 'settled', payer, limit: 1, before: null });
  return one !== undefined;
}
