import { MICROCREDITS } from '../core/money/credits.ts';
import { counter } from '../host/telemetry/counts.ts';
import type { Family } from '../host/telemetry/families.ts';
import { PAYMENT_PURPOSES, type Payment, type PaymentPurpose } from '../store/payments.ts';

/** Counts quotes, captured payments and failed payments since the process started. State: payment counts. */
export class PaymentCounts {
  readonly #quotes = counter({
    name: 'signalbox_payment_quotes_total',
    help: 'Quotes given, by purpose.',
    labels: ['purpose'],
  });
  readonly #payments = counter({
    name: 'signalbox_payments_total',
    help: 'Payments that arrived or failed.',
    labels: ['network', 'state'],
  });
  readonly #credits = counter({
    name: 'signalbox_payments_credits_total',
    help: 'Value of arrived payments in Credits, including fees.',
    labels: ['network'],
    per: MICROCREDITS,
  });

  get families(): readonly Family[] {
    return [this.#quotes.family, this.#payments.family, this.#credits.family];
  }

  /** Makes the counters of these networks start at 0, so that their first increase is visible. */
  expect(networks: readonly string[]): void {
    if (networks.length > 0) for (const purpose of PAYMENT_PURPOSES) this.#quotes.at(purpose);
    for (const network of networks) {
      this.#payments.at(network, 'captured');
      this.#payments.at(network, 'failed');
      this.#credits.at(network);
    }
  }

  quoted(purpose: PaymentPurpose): void {
    this.#quotes.at(purpose).value++;
  }

  captured({ network, paid }: Payment): void {
    this.#payments.at(network, 'captured').value++;
    this.#credits.at(network).value += paid;
  }

  failed({ network }: Payment): void {
    this.#payments.at(network, 'failed').value++;
  }
}
