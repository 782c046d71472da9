import { idText } from '../core/id.ts';
import type { Payment } from '../store/payments.ts';
import type { AuthorizationOutcome, NetworkClients } from './facilitator/facilitator.ts';
import type { PaymentParts } from './parts.ts';

/** Resolves payments of unknown outcome by the chain, and books the result. */
export class OutcomeResolver {
  readonly #parts: PaymentParts;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
  }

  /**
   * Returns the payment as it now is: settled, failed or unchanged. A failed payment can still turn out to have
   * arrived, where a facilitator was wrong. One call at a time for each payment.
   * @throws FacilitatorUnavailable, and StoreError when the payment arrived and could not be booked.
   */
  async resolve(payment: Payment, network: NetworkClients): Promise<Payment> {
    const { register, counts } = this.#parts;
    // Another caller may have resolved it since, or a commit may have succeeded although its confirmation was lost.
    const stored = await register.table.get(payment.id);
    if (!stored || stored.state === 'captured' || stored.state === 'settled') {
      const wasOpen = register.resolved(payment);
      if (stored && wasOpen) counts.captured(stored);
      return stored ?? { ...payment, state: 'failed', error: 'never_sent' };
    }
    return this.#apply(stored, await network.chain.outcome(queryOf(stored)));
  }

  async #apply(payment: Payment, outcome: AuthorizationOutcome): Promise<Payment> {
    if (outcome.state === 'used') return this.#arrived(payment, outcome.transaction);
    if (payment.state === 'failed') return payment;
    if (outcome.state === 'cancelled') return this.#failed(payment, 'authorization_cancelled');
    return outcome.expired ? this.#failed(payment, 'authorization_expired') : payment;
  }

  /** No request runs on it any more: all of it becomes balance, and the fee is waived. */
  async #arrived(payment: Payment, transaction: string): Promise<Payment> {
    const { register, now, deposit, counts, log } = this.#parts;
    const { id, payer, paid } = payment;
    const arrived: Payment = { ...payment, state: 'captured', fee: 0, transaction, error: null, updated: now() };
    const writes = [register.table.capture(arrived), register.table.settle(id, null, 0, arrived.updated)];
    await deposit(payer, { paid, fee: 0, note: idText('pay_', id) }, writes);
    register.resolved(payment);
    counts.captured(payment);
    log.info('a payment whose outcome was not known has arrived', { ...paymentFields(payment), transaction });
    return { ...arrived, state: 'settled' };
  }

  async #failed(payment: Payment, error: string): Promise<Payment> {
    const { register, now, counts, log } = this.#parts;
    const failed: Payment = { ...payment, state: 'failed', error, updated: now() };
    // If the write is lost, the payment is resolved again, but counted once.
    if (register.resolved(failed)) counts.failed(failed);
    await register.fail(failed);
    log.info('a payment whose outcome was not known has failed', { ...paymentFields(payment), reason: error });
    return failed;
  }
}

const queryOf = ({ asset, payer, payTo, nonce, amount, validBefore, created }: Payment) => ({
  asset,
  payer,
  payTo,
  nonce,
  amount,
  validBefore,
  since: created,
});

export const paymentFields = ({ id, network, payer }: Payment) => ({
  payment: idText('pay_', id),
  network,
  wallet: payer,
});
