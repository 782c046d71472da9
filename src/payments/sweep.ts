import { idText } from '../core/id.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Instance } from '../store/instance.ts';
import type { Payment } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import { isMet, type Store, type Write } from '../store/store.ts';

interface SweepParts {
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'payments'>;
  readonly instance: Pick<Instance, 'lives'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly deposit: Ledger['deposit'];
  readonly log: Log;
}

/**
 * Resolves the payments of servers that have ended, each on condition that its owner has not changed.
 * @throws StoreError, by rejecting
 */
export async function sweep(parts: SweepParts): Promise<void> {
  const { store, instance, log } = parts;
  const abandoned: Payment[] = [];
  for (const payment of await store.payments.unresolved()) {
    const { state, owner } = payment;
    if (owner && (await instance.lives(owner))) continue;
    // The condition is not satisfied if another server has resolved the payment.
    if (state !== 'captured') {
      if (owner) await isMet(store.commit([store.payments.take(payment, null)]));
    } else if (await isMet(abandon(payment, parts))) abandoned.push(payment);
  }
  const [first] = abandoned;
  if (!first) return;
  log.warn('payments for requests that an earlier run left open were added to balances', {
    count: abandoned.length,
    first: idText('pay_', first.id),
  });
}

/** A payer without a complete answer pays no fee. The ledger has already released the hold. */
async function abandon(payment: Payment, { store, now, deposit }: SweepParts): Promise<void> {
  const { id, payer, fee } = payment;
  const writes: readonly Write[] = [store.payments.abandon(payment, now())];
  await deposit(payer, { paid: 0, fee: -fee, note: idText('pay_', id) }, writes);
}
