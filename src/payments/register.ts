import type { Store, Write } from '../store/store.ts';
import type { Payment } from './payment.ts';
import type { PaymentQuery } from './payments.ts';
import {
  doubtPayment,
  failPayment,
  insertPayment,
  type PaymentRow,
  paymentOf,
  removePayment,
  SELECT_AUTHORIZATION,
  SELECT_LATEST,
  SELECT_LATEST_OF,
  SELECT_ONE,
  SELECT_UNDER_WAY,
} from './table.ts';

/** What names an authorization for good. */
export interface AuthorizationName {
  readonly network: string;
  readonly asset: string;
  readonly payer: string;
  readonly nonce: string;
}

/** All payments, and in memory those of which it is not known yet what became of them. */
export class Register {
  readonly #store: Store;
  readonly #unsettled = new Map<number, Payment>();

  private constructor(store: Store) {
    this.#store = store;
  }

  /** Resolves with the payments, too, whose requests an earlier run has left. */
  static async load(store: Store): Promise<{ readonly register: Register; readonly left: readonly Payment[] }> {
    const register = new Register(store);
    const rows = (await store.query<PaymentRow>(SELECT_UNDER_WAY)).map(paymentOf);
    for (const payment of rows) if (payment.state !== 'captured') register.#unsettled.set(payment.id, payment);
    return { register, left: rows.filter(({ state }) => state === 'captured') };
  }

  /** Oldest first. */
  unsettled(): Iterable<Payment> {
    return this.#unsettled.values();
  }

  async get(id: number): Promise<Payment | null> {
    const [row] = await this.#store.query<PaymentRow>(SELECT_ONE, [id]);
    return row ? paymentOf(row) : null;
  }

  async find({ network, asset, payer, nonce }: AuthorizationName): Promise<Payment | null> {
    const [row] = await this.#store.query<PaymentRow>(SELECT_AUTHORIZATION, [network, asset, payer, nonce]);
    return row ? paymentOf(row) : null;
  }

  async list({ state, payer, limit, before }: PaymentQuery): Promise<readonly Payment[]> {
    const params = [state, before ?? Number.MAX_SAFE_INTEGER, limit];
    const rows =
      payer === null
        ? await this.#store.query<PaymentRow>(SELECT_LATEST, params)
        : await this.#store.query<PaymentRow>(SELECT_LATEST_OF, [...params, payer]);
    return rows.map(paymentOf);
  }

  /** Writes a new payment down. Durable when it resolves; rejects with StoreError. */
  async begin(payment: Payment): Promise<void> {
    await this.#store.commit([insertPayment(payment)]);
    this.#unsettled.set(payment.id, payment);
  }

  /** It may have arrived, or may yet. Resolves once it is written, or the disk has refused it for now. */
  doubt(payment: Payment): Promise<void> {
    this.#unsettled.set(payment.id, payment);
    return this.#write(doubtPayment(payment));
  }

  /** It will never arrive. The chain can tell that again, so that it need not be durable. */
  fail(payment: Payment): Promise<void> {
    this.#unsettled.delete(payment.id);
    return this.#write(failPayment(payment));
  }

  /** It was never sent. */
  remove(payment: Payment): Promise<void> {
    this.#unsettled.delete(payment.id);
    return this.#write(removePayment(payment.id));
  }

  /** What became of it is written down. Returns whether that was news. */
  resolved(payment: Payment): boolean {
    return this.#unsettled.delete(payment.id);
  }

  async #write(write: Write): Promise<void> {
    this.#store.append([write]);
    await this.#store.written();
  }
}
