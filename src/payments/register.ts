import type { Store, Write } from '../store/store.ts';
import type { Payment } from './payment.ts';
import type { PaymentQuery } from './payments.ts';
import {
  doubtPayment,
  failPayment,
  insertPayment,
  type PaymentTableRow,
  paymentOf,
  removePayment,
  SELECT_AUTHORIZATION,
  SELECT_LATEST,
  SELECT_LATEST_OF,
  SELECT_ONE,
  SELECT_UNDER_WAY,
} from './table.ts';

/** Identifies an authorization permanently. */
export interface AuthorizationId {
  readonly network: string;
  readonly asset: string;
  readonly payer: string;
  readonly nonce: string;
}

/** All payments in the store, and the unsettled ones in memory. */
export class PaymentRegister {
  readonly #store: Store;
  readonly #unsettled = new Map<number, Payment>();

  private constructor(store: Store) {
    this.#store = store;
  }

  /** @returns the register, and the captured payments whose requests an earlier run abandoned. */
  static async load(store: Store): Promise<{ readonly register: PaymentRegister; readonly abandoned: Payment[] }> {
    const register = new PaymentRegister(store);
    const rows = (await store.query<PaymentTableRow>(SELECT_UNDER_WAY)).map(paymentOf);
    for (const payment of rows) if (payment.state !== 'captured') register.#unsettled.set(payment.id, payment);
    return { register, abandoned: rows.filter(({ state }) => state === 'captured') };
  }

  /** Oldest first. */
  unsettled(): Iterable<Payment> {
    return this.#unsettled.values();
  }

  async get(id: number): Promise<Payment | null> {
    const [row] = await this.#store.query<PaymentTableRow>(SELECT_ONE, [id]);
    return row ? paymentOf(row) : null;
  }

  async find({ network, asset, payer, nonce }: AuthorizationId): Promise<Payment | null> {
    const [row] = await this.#store.query<PaymentTableRow>(SELECT_AUTHORIZATION, [network, asset, payer, nonce]);
    return row ? paymentOf(row) : null;
  }

  async list({ state, payer, limit, before }: PaymentQuery): Promise<readonly Payment[]> {
    const params = [state, before ?? Number.MAX_SAFE_INTEGER, limit];
    const rows =
      payer === null
        ? await this.#store.query<PaymentTableRow>(SELECT_LATEST, params)
        : await this.#store.query<PaymentTableRow>(SELECT_LATEST_OF, [...params, payer]);
    return rows.map(paymentOf);
  }

  /** Inserts a new payment. Durable when it resolves. Throws StoreError. */
  async begin(payment: Payment): Promise<void> {
    await this.#store.commit([insertPayment(payment)]);
    this.#unsettled.set(payment.id, payment);
  }

  /** Marks a payment unknown: it may still have arrived. Resolves once written, or refused by the disk. */
  doubt(payment: Payment): Promise<void> {
    this.#unsettled.set(payment.id, payment);
    return this.#write(doubtPayment(payment));
  }

  /** Marks a payment failed. Need not be durable: the chain can tell again. */
  fail(payment: Payment): Promise<void> {
    this.#unsettled.delete(payment.id);
    return this.#write(failPayment(payment));
  }

  /** Removes a payment that was never sent. */
  remove(payment: Payment): Promise<void> {
    this.#unsettled.delete(payment.id);
    return this.#write(removePayment(payment.id));
  }

  /** Forgets a payment whose outcome is stored. Returns whether it was unsettled until now. */
  resolved(payment: Payment): boolean {
    return this.#unsettled.delete(payment.id);
  }

  async #write(write: Write): Promise<void> {
    this.#store.append([write]);
    await this.#store.written();
  }
}
