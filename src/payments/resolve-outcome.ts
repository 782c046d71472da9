import { idText } from '../core/id.ts';
import type { Payment } from '../store/payments.ts';
import type { Chain } from './facilitator/facilitator.ts';
import type { PaymentParts } from './parts.ts';

/**
 * Asks the chain about a payment with an unknown outcome, and books the result. A failed payment can still turn out to have arrived if a
 * facilitator was wrong. For each payment, only one call of `resolveOutcome` may run at a time.
 * @returns the payment with its new state: settled, failed or unchanged
 * @throws FacilitatorUnavailable, and StoreError if the payment arrived but could not be booked
 */
export async function resolveOutcome(parts: PaymentParts, payment: Payment, chain: Chain): Promise<Payment> {
  const { register, counts } = parts;
  // Another caller may have resolved the payment in the meantime, or a commit may have succeeded although its confirmation was lost.
  const stored = await register.table.get(payment.id);
  if (!stored || stored.state === 'captured' || stored.state === 'settled') {
    const wasOpen = register.resolved(payment);
    if (stored && wasOpen) counts.captured(stored);
    return stored ?? { ...payment, state: 'failed', error: 'never_sent' };
  }
  const outcome = await chain.outcome({ ...stored, since: stored.created });
  if (outcome.state === 'used') return bookArrival(parts, stored, outcome.transaction);
  if (stored.state === 'failed') return stored;
  if (outcome.state === 'cancelled') return bookFailure(parts, stored, 'authorization_cancelled');
  return outcome.expired ? bookFailure(parts, stored, 'authorization_expired') : stored;
}

/** No request runs on the payment any more, so all of it becomes balance and the fee is waived. */
async function bookArrival(parts: PaymentParts, payment: Payment, transaction: string): Promise<Payment> {
  const { register, now, deposit, counts, log } = parts;
  const { id, payer, paid } = payment;
  const arrived: Payment = { ...payment, state: 'captured', fee: 0, transaction, error: null, updated: now() };
  const writes = [register.table.capture(arrived), register.table.settle(id, null, 0, arrived.updated)];
  await deposit(payer, { paid, fee: 0, note: idText('pay_', id) }, writes);
  register.resolved(payment);
  counts.captured(payment);
  log.info('a payment whose outcome was not known has arrived', { ...paymentFields(payment), transaction });
  return { ...arrived, state: 'settled' };
}

async function bookFailure(parts: PaymentParts, payment: Payment, error: string): Promise<Payment> {
  const { register, now, counts, log } = parts;
  const failed: Payment = { ...payment, state: 'failed', error, updated: now() };
  // If this write is lost, the payment is resolved again, but it is counted only once.
  if (register.resolved(failed)) counts.failed(failed);
  await register.fail(failed);
  log.info('a payment whose outcome was not known has failed', { ...paymentFields(payment), reason: error });
  return failed;
}

export const paymentFields = ({ id, network, payer }: Payment) => ({
  payment: idText('pay_', id),
  network,
  wallet: payer,
});
