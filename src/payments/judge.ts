import { idText } from '../core/id.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../telemetry/log.ts';
import type { PaymentCounts } from './counts.ts';
import type { Fate, Network } from './facilitator/facilitator.ts';
import type { Payment } from './payment.ts';
import type { Register } from './register.ts';
import { capturePayment, settlePayment } from './table.ts';

export interface JudgeOptions {
  readonly register: Register;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly deposit: Ledger['deposit'];
  readonly counts: PaymentCounts;
  readonly log: Log;
}

/** Has the chain judge what became of a payment whose outcome is not known, and books that. */
export class Judge {
  readonly #options: JudgeOptions;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the payment as it then stands: settled, failed, or as it was. A failed one can still turn out to have
   * arrived, where a facilitator has told wrongly. Rejects with FacilitatorUnavailable, and with StoreError when it has
   * arrived and could not be booked. For one look at a payment at a time.
   */
  async judge(payment: Payment, network: Network): Promise<Payment> {
    const { register, counts } = this.#options;
    // Somebody may have been at it since, and a commit may have been done although its answer was lost.
    const stored = await register.get(payment.id);
    if (!stored || stored.state === 'captured' || stored.state === 'settled') {
      const wasOpen = register.resolved(payment);
      if (stored && wasOpen) counts.captured(stored);
      return stored ?? { ...payment, state: 'failed', error: 'never_sent' };
    }
    return this.#take(stored, await network.chain.fate(traceOf(stored)));
  }

  async #take(payment: Payment, fate: Fate): Promise<Payment> {
    if (fate.state === 'used') return this.#arrived(payment, fate.transaction);
    if (payment.state === 'failed') return payment;
    if (fate.state === 'cancelled') return this.#failed(payment, 'authorization_cancelled');
    return fate.expired ? this.#failed(payment, 'authorization_expired') : payment;
  }

  /** Nothing runs on it any more, so that all of it is balance, and the fee is waived. */
  async #arrived(payment: Payment, transaction: string): Promise<Payment> {
    const { register, now, deposit, counts, log } = this.#options;
    const { id, payer, paid } = payment;
    const arrived: Payment = { ...payment, state: 'captured', fee: 0, transaction, error: null, updated: now() };
    const writes = [capturePayment(arrived), settlePayment(id, null, 0, arrived.updated)];
    await deposit(payer, { paid, fee: 0, note: idText('pay_', id) }, writes);
    register.resolved(payment);
    counts.captured(payment);
    log.info('a payment whose outcome was not known has arrived', { ...fieldsOf(payment), transaction });
    return { ...arrived, state: 'settled' };
  }

  async #failed(payment: Payment, error: string): Promise<Payment> {
    const { register, now, counts, log } = this.#options;
    const failed: Payment = { ...payment, state: 'failed', error, updated: now() };
    // One whose failure the disk has refused is judged anew, and was counted.
    if (register.resolved(failed)) counts.failed(failed);
    await register.fail(failed);
    log.info('a payment whose outcome was not known has failed', { ...fieldsOf(payment), reason: error });
    return failed;
  }
}

const traceOf = ({ asset, payer, payTo, nonce, amount, validBefore, created }: Payment) => ({
  asset,
  payer,
  payTo,
  nonce,
  amount,
  validBefore,
  since: created,
});

/** What the log says of a payment. */
export const fieldsOf = ({ id, network, payer }: Payment) => ({ payment: idText('pay_', id), network, wallet: payer });
