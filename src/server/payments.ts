import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { messageOf } from '../core/thrown.ts';
import { UsageError } from '../core/usage-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { openPayments, type Payments } from '../payments/service.ts';
import type { Lead } from '../store/leaders.ts';
import type { ServerResources } from './resources.ts';

/**
 * Opens payments, and turns them on as the first policy says.
 * @throws UsageError if payments cannot be turned on
 */
export async function openServerPayments(
  first: PolicySnapshot,
  ledger: Ledger,
  nextId: () => number,
  { store, log, host: { env, timers } }: ServerResources,
  lead: Lead,
): Promise<Payments> {
  const payments = await openPayments({
    ...{ store, instance: store.instance, now: store.instance.now, nextId, env, log, timers, lead },
    deposit: (holder, deposit, also) => ledger.deposit(holder, deposit, also),
  });
  try {
    (await payments.prepare(first.payments))();
  } catch (cause) {
    throw new UsageError(`Cannot accept payments: ${messageOf(cause)}`);
  }
  return payments;
}
