import { parseId } from '../../core/id.ts';
import { roleOf } from '../../core/people/caller.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { inBatches } from '../../store/batches.ts';
import type { Payment, PaymentQuery, PaymentTable } from '../../store/payments.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store } from '../../store/store.ts';
import { type Page, pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction, mayTake } from './roles.ts';

/** Returns a page of payments, newest first. @param bodyOf returns the JSON of a payment. Rejects with StoreError. */
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
 * Returns a payment if the principal is its payer, uses the key that was sent with the payment, or may see all payments.
 * @param id `pay_…`
 * @returns null if there is no payment that the principal may see. Rejects with StoreError.
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

/** The services that check the state of a payment. */
export interface ReconcilingSource {
  readonly payments: Pick<PaymentTable, 'get'> & {
    /**
     * Checks a payment on the chain now.
     * @returns null if the payment is unknown
     * @throws SignalboxError `payment_unavailable`
     */
    reconcile(id: number): Promise<Payment | null>;
  };
  readonly store: Pick<Store, 'commit'> & Pick<Repositories, 'trail'>;
  readonly log: Pick<Log, 'info'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Checks on the chain how a payment ended, and records the check in the audit trail. The result decides about money, so it comes before the
 * record.
 * @param id `pay_…`
 * @returns null if the payment is unknown. Rejects with StoreError, or with SignalboxError if the chain does not answer.
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
