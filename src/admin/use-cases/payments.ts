import { roleOf } from '../../core/caller.ts';
import { parseId } from '../../core/id.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { inBatches } from '../../store/batches.ts';
import type { Payment, PaymentQuery, PaymentTable } from '../../store/payments.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import { type Page, pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction, mayTake } from './roles.ts';

/** Returns a page of the payments, the newest first. @param bodyOf how the answer shows a payment. Rejects with StoreError. */
export async function listPayments<Body>(
  by: Principal,
  payments: Pick<PaymentTable, 'list'>,
  query: PaymentQuery,
  bodyOf: (payment: Payment) => Body,
): Promise<Page<Payment, Body>> {
  checkAction(by.caller, 'payments.read');
  const all = inBatches<Payment>((last, limit) => payments.list({ ...query, ...(last && { before: last.id }), limit }));
  return await pageOf(all, query.limit, bodyOf);
}

/**
 * Returns a payment to its payer, to the key that came with it, and to those who see all.
 * @param id `pay_…`
 * @returns null where there is none that the principal may see. Rejects with StoreError.
 */
export async function findPayment(
  { caller }: Principal,
  payments: Pick<PaymentTable, 'get'>,
  id: string,
): Promise<Payment | null> {
  checkAction(caller, 'payments.own');
  const number = parseId('pay_', id);
  const payment = number === null ? null : await payments.get(number);
  const isOwn = payment && (caller.keyId === payment.payer || caller.keyId === payment.keyId);
  return isOwn || mayTake(roleOf(caller), 'payments.read') ? payment : null;
}

/** What the state of a payment is asked with. */
export interface ReconcilingSource {
  readonly payments: Pick<PaymentTable, 'get'> & {
    /** Asks the chain about a payment now. @returns null for an unknown one. @throws SignalboxError `payment_unavailable` */
    reconcile(id: number): Promise<Payment | null>;
  };
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'trail'>;
  readonly log: Pick<Log, 'info'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Asks the chain how a payment ended, and notes in the trail that somebody asked. The chain decides, so the note comes after its answer.
 * @param id `pay_…`
 * @returns null for an unknown payment. Rejects with StoreError, or SignalboxError where the chain does not answer.
 */
export async function reconcilePayment(
  by: Principal,
  { payments, store, log, now }: ReconcilingSource,
  id: string,
): Promise<Payment | null> {
  checkAction(by.caller, 'payments.change');
  const number = parseId('pay_', id);
  const before = number === null ? null : await payments.get(number);
  const payment = number === null ? null : await payments.reconcile(number);
  if (!before || !payment) return null;
  const details = { before: { state: before.state }, after: { state: payment.state } };
  const event = { time: now(), actor: by.actor, action: 'reconcile', subject: { kind: 'payment', id } } as const;
  await store.commit([store.trail.add({ ...event, details })]);
  log.info('a payment was reconciled', { payment: id, state: payment.state, key: by.caller.keyId });
  return payment;
}
