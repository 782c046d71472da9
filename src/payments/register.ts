import type { Payment } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';

type PaymentStore = Pick<Store, 'commit' | 'append' | 'written'> & Pick<Repositories, 'payments'>;

export type PaymentRegister = Awaited<ReturnType<typeof loadRegister>>['register'];

/**
 * All payments in the store, and the unsettled ones in memory.
 * @returns the register, and the captured payments whose requests an earlier run abandoned.
 */
export async function loadRegister(store: PaymentStore) {
  const table = store.payments;
  const rows = await table.unresolved();
  const abandoned = rows.filter(({ state }) => state === 'captured');
  const open = rows.filter(({ state }) => state !== 'captured');
  const unsettled = new Map(open.map((payment) => [payment.id, payment]));
  const written = async (write: Write): Promise<void> => {
    store.append([write]);
    await store.written();
  };
  const register = {
    table,
    /** Oldest first. */
    unsettled: (): Iterable<Payment> => unsettled.values(),

    /** Inserts a new payment. Durable when it resolves. Throws StoreError. */
    async begin(payment: Payment): Promise<void> {
      await store.commit([table.insert(payment)]);
      unsettled.set(payment.id, payment);
    },

    /** Marks a payment unknown: it may still have arrived. Resolves once written, or refused by the disk. */
    doubt(payment: Payment): Promise<void> {
      unsettled.set(payment.id, payment);
      return written(table.doubt(payment));
    },

    /** Marks a payment failed. Need not be durable: the chain can tell again. */
    fail(payment: Payment): Promise<void> {
      unsettled.delete(payment.id);
      return written(table.fail(payment));
    },

    /** Removes a payment that was never sent. */
    remove(payment: Payment): Promise<void> {
      unsettled.delete(payment.id);
      return written(table.remove(payment.id));
    },

    /** Forgets a payment whose outcome is stored. Returns whether it was unsettled until now. */
    resolved: (payment: Payment) => unsettled.delete(payment.id),
  };
  return { register, abandoned };
}
