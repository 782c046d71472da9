import { type Microcredits, toCredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { Payment } from '../../payments/payment.ts';

/** How a wallet paid for an answer. */
export type PlatformPayment = {
  /** Of the payment; null where the request ran on balance. */
  readonly id: string | null;
  readonly source: 'x402' | 'wallet_credits';
  readonly payer: string;
  /** As it stands with the answer; `GET /v1/payments/{id}` tells later ones. Null for balance. */
  readonly state: string | null;
  readonly scheme: 'exact' | null;
  readonly network: string | null;
  readonly asset: string | null;
  /** What was paid, in atomic units of the asset. */
  readonly paid_atomic: string | null;
  readonly transaction: string | null;
  readonly paid_credits: number;
  /** What of it the settlement cost; 0 where nothing was charged. */
  readonly fee_credits: number;
  /** What the request adds to the balance of the wallet, or (negative) takes from it. */
  readonly balance_added_credits: number;
};

/** A payment once its request was charged so much, and so much of its fee is kept. */
export function paymentShown(payment: Payment, charged: Microcredits, fee: Microcredits): PlatformPayment {
  const { id, payer, state, network, asset, amount, transaction, paid } = payment;
  return {
    id: idText('pay_', id),
    source: 'x402',
    payer,
    state,
    scheme: 'exact',
    network,
    asset,
    paid_atomic: String(amount),
    transaction,
    paid_credits: toCredits(paid),
    fee_credits: toCredits(fee),
    balance_added_credits: toCredits(paid - fee - charged),
  };
}

export function balanceShown(payer: string, charged: Microcredits): PlatformPayment {
  return {
    id: null,
    source: 'wallet_credits',
    payer,
    state: null,
    scheme: null,
    network: null,
    asset: null,
    paid_atomic: null,
    transaction: null,
    paid_credits: 0,
    fee_credits: 0,
    balance_added_credits: toCredits(0 - charged),
  };
}

/** An error of a request that was paid for names the payment. */
export function ofPayment(error: SignalboxError, payment: Payment | null): SignalboxError {
  if (!payment) return error;
  const { code, message, info } = error;
  const details = { ...info.details, payment_id: idText('pay_', payment.id) };
  // A client that repeats the request by itself would come without the signature, and sign another payment.
  return new SignalboxError(code, message, { ...info, details, retry: false });
}
