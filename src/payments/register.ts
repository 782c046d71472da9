import { type InstanceName, isSameInstance } from '../store/instance.ts';
import type { Payment } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';

type PaymentStore = Pick<Store, 'commit' | 'append' | 'written'> & Pick<Repositories, 'payments'>;

export type PaymentRegister = Awaited<ReturnType<typeof loadRegister>>;

/**
 * All payments in the store, and a copy in memory of the unsettled payments of all servers. The copy contains this server's changes at
 * once. State: unsettled payments.
 */
export async function loadRegister(store: PaymentStore, instance: InstanceName) {
  const table = store.payments;
  const unsettled = new Map<number, Payment>();
  /** Counts this server's changes. A read of the store is discarded if a change happened during the read. */
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
    /** The unsettled payments, oldest first. */
    unsettled: (): Iterable<Payment> => unsettled.values(),

    /**
     * Reads the unsettled payments of all servers again.
     * @throws StoreError, by rejecting
     */
    async refresh(): Promise<void> {
      const before = changes;
      const rows = await table.unresolved();
      if (changes !== before) return;
      // A payment of this server stays in the copy until this server has counted the outcome of the payment.
      const isOwn = ({ owner }: Payment) => owner !== null && isSameInstance(owner, instance);
      for (const payment of [...unsettled.values()]) if (!isOwn(payment)) unsettled.delete(payment.id);
      for (const payment of rows) if (payment.state !== 'captured') unsettled.set(payment.id, payment);
    },

    /**
     * Inserts a new payment. The payment is durable when the promise resolves.
     * @throws StoreError, by rejecting, with the reason `refused` if the authorization already has a payment
     */
    async begin(payment: Payment): Promise<void> {
      await store.commit([table.insert(payment)]);
      note(payment);
    },

    /**
     * Gives a payment another owner. The change is durable when the promise resolves.
     * @throws StoreError, by rejecting, with the reason `unmet` if the payment has changed since it was read
     */
    async take(seen: Payment, owner: InstanceName | null): Promise<Payment> {
      await store.commit([table.take(seen, owner)]);
      const taken = { ...seen, owner };
      note(taken);
      return taken;
    },

    /**
     * Marks a payment as unknown, because it may still have arrived. The promise resolves when the mark is written, or when the disk
     * refuses the mark.
     */
    doubt(payment: Payment): Promise<void> {
      note(payment);
      return written(table.doubt(payment));
    },

    /** Marks a payment as failed. The mark of a failed payment need not be durable, because the chain can show the result again. */
    fail(payment: Payment): Promise<void> {
      forget(payment);
      return written(table.fail(payment));
    },

    /** Removes a payment that was never sent. */
    remove(payment: Payment): Promise<void> {
      forget(payment);
      return written(table.remove(payment.id));
    },

    /**
     * Forgets a payment whose outcome is stored.
     * @returns whether the payment was unsettled until now
     */
    resolved: forget,
  };
  await register.refresh();
  return register;
}
