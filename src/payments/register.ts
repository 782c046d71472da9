import { type InstanceName, isSameInstance } from '../store/instance.ts';
import type { Payment } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';

type PaymentStore = Pick<Store, 'commit' | 'append' | 'written'> & Pick<Repositories, 'payments'>;

export type PaymentRegister = Awaited<ReturnType<typeof loadRegister>>;

/**
 * All payments in the store, and a copy of the unsettled ones, of all instances. Changes of this instance are in it at once.
 * State: unsettled payments.
 */
export async function loadRegister(store: PaymentStore, instance: InstanceName) {
  const table = store.payments;
  const unsettled = new Map<number, Payment>();
  /** Counts the changes of this instance: a reading that one overtook is not taken over. */
  let changes = 0;
  const written = async (write: Write): Promise<void> => {
    store.append([write]);
    await store.written();
  };
  const note = (payment: Payment): void => {
    changes++;
    unsettled.set(payment.id, payment);
  };
  const forget = ({ id }: Payment): boolean => {
    changes++;
    return unsettled.delete(id);
  };
  const register = {
    table,
    /** Oldest first. */
    unsettled: (): Iterable<Payment> => unsettled.values(),

    /** Reads those of other instances, too. Rejects with StoreError. */
    async refresh(): Promise<void> {
      const before = changes;
      const rows = await table.unresolved();
      if (changes !== before) return;
      // A payment of this instance stays until its outcome is counted here.
      const isOwn = ({ owner }: Payment) => owner !== null && isSameInstance(owner, instance);
      for (const payment of [...unsettled.values()]) if (!isOwn(payment)) unsettled.delete(payment.id);
      for (const payment of rows) if (payment.state !== 'captured') unsettled.set(payment.id, payment);
    },

    /** Inserts a new payment. Durable when it resolves. Throws StoreError, with the reason `refused` where the authorization has one. */
    async begin(payment: Payment): Promise<void> {
      await store.commit([table.insert(payment)]);
      note(payment);
    },

    /**
     * Gives a payment another owner. Durable when it resolves. Throws StoreError, with the reason `unmet` where it is not as it
     * was seen.
     */
    async take(seen: Payment, owner: InstanceName | null): Promise<Payment> {
      await store.commit([table.take(seen, owner)]);
      const taken = { ...seen, owner };
      note(taken);
      return taken;
    },

    /** Marks a payment unknown: it may still have arrived. Resolves once written, or refused by the disk. */
    doubt(payment: Payment): Promise<void> {
      note(payment);
      return written(table.doubt(payment));
    },

    /** Marks a payment failed. Need not be durable: the chain can tell again. */
    fail(payment: Payment): Promise<void> {
      forget(payment);
      return written(table.fail(payment));
    },

    /** Removes a payment that was never sent. */
    remove(payment: Payment): Promise<void> {
      forget(payment);
      return written(table.remove(payment.id));
    },

    /** Forgets a payment whose outcome is stored. Returns whether it was unsettled until now. */
    resolved: forget,
  };
  await register.refresh();
  return register;
}
