import type { PlatformPayment } from '../../core/decision/answer.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import { FundedHold } from '../../gateway/money/funding.ts';
import type { Hold } from '../../ledger/hold.ts';
import type { Payment } from '../../store/payments.ts';
import type { Write } from '../../store/store.ts';
import type { X402Parts } from './gateway.ts';
import { paymentHeaders } from './payment-headers.ts';

/** A hold on the money of a payment that has just arrived. */
export class PaymentHold extends FundedHold {
  readonly #gateway: Pick<X402Parts, 'payments' | 'ledger'>;
  readonly #payment: Payment;

  constructor(gateway: Pick<X402Parts, 'payments' | 'ledger'>, hold: Hold, payment: Payment) {
    super(hold, paymentHeaders(payment));
    this.#gateway = gateway;
    this.#payment = payment;
  }

  override settlementWrites(charged: Microcredits): readonly Write[] {
    const { payments, ledger } = this.#gateway;
    const { id, payer, fee } = this.#payment;
    if (charged === 0) ledger.waiveFee(payer, fee, idText('pay_', id));
    return payments.settleWrites(this.#payment, charged, this.#feeFor(charged));
  }

  override shown(charged: Microcredits): PlatformPayment {
    return paymentShown(this.#payment, charged, this.#feeFor(charged));
  }

  override errorOf(error: SignalboxError, isKept: boolean): SignalboxError {
    const withPayment = errorOfPayment(error, this.#payment);
    if (isKept) return withPayment;
    const rest =
      'The uncharged part of the payment is in the balance of the wallet. You can send the same PAYMENT-SIGNATURE again until the quote expires.';
    return new SignalboxError(withPayment.code, `${withPayment.message} ${rest}`, withPayment.info);
  }

  /** A caller who gets no answer pays nothing, not even for the settlement. */
  #feeFor(charged: Microcredits): Microcredits {
    return charged > 0 ? this.#payment.fee : 0;
  }
}

/**
 * Makes `platform.payment` of a payment.
 * @param charged what the request was charged
 * @param fee the part of the settlement fee that is kept
 */
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

/** The error of a paid request. The error names the payment. */
export function errorOfPayment({ code, message, info }: SignalboxError, { id }: Payment): SignalboxError {
  const details = { ...info.details, payment_id: idText('pay_', id) };
  // The error tells clients not to retry, because a client that retries automatically would send no signature, and then sign another
  // payment.
  return new SignalboxError(code, message, { ...info, details, retry: false });
}
