import type { Payment, PaymentTable } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';

type PaymentStore = Pick<Store, 'commit' | 'append' | 'written'> & Pick<Repositories, 'payments'>;

/** All payments in the store, and the unsettled ones in memory. */
export class PaymentRegister {
  readonly table: PaymentTable;
  readonly #store: PaymentStore;
  readonly #unsettled = new Map<number, Payment>();

  private constructor(store: PaymentStore) {
    this.#store = store;
    this.table = store.payments;
  }

  /** @returns the register, and the captured payments whose requests an earlier run abandoned. */
  static async load(
    store: PaymentStore,
  ): Promise<{ readonly register: PaymentRegister; readonly abandoned: Payment[] }> {
    const register = new PaymentRegister(store);
    const rows = await store.payments.unresolved();
    for (const payment of rows) if (payment.state !== 'captured') register.#unsettled.set(payment.id, payment);
    return { register, abandoned: rows.filter(({ state }) => state === 'captured') };
  }

  /** Oldest first. */
  unsettled(): Iterable<Payment> {
    return this.#unsettled.values();
  }

  /** Inserts a new payment. Durable when it resolves. Throws StoreError. */
  async begin(payment: Payment): Promise<void> {
    await this.#store.commit([this.table.insert(payment)]);
    this.#unsettled.set(payment.id, payment);
  }

  /** Marks a payment unknown: it may still have arrived. Resolves once written, or refused by the disk. */
  doubt(payment: Payment): Promise<void> {
    this.#unsettled.set(payment.id, payment);
    return this.#write(this.table.doubt(payment));
  }

  /** Marks a payment failed. Need not be durable: the chain can tell again. */
  fail(payment: Payment): Promise<void> {
    this.#unsettled.delete(payment.id);
    return this.#write(this.table.fail(payment));
  }

  /** Removes a payment that was never sent. */
  remove(payment: Payment): Promise<void> {
    this.#unsettled.delete(payment.id);
    return this.#write(this.table.remove(payment.id));
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
