import { Elysia } from 'elysia';
import { iso } from '../../core/clock.ts';
import { toCredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { findPayment } from '../../operate/payments.ts';
import type { Payment } from '../../store/payments.ts';
import * as docs from './route-docs.ts';
import type { X402Services } from './services.ts';

/** `GET /v1/payments/{id}`: the state of a payment. */
export const paymentRoutes = ({ gateway, principalOf }: X402Services) =>
  new Elysia({ name: 'payments' }).get(
    '/v1/payments/:id',
    async ({ params: { id }, request }) => {
      const payment = await findPayment(principalOf(request), gateway.payments, id);
      // The answer must not reveal that another caller's payment exists.
      if (!payment) throw noPayment();
      return paymentBody(payment);
    },
    docs.PAYMENT,
  );

export const noPayment = () => new SignalboxError('not_found', 'No payment has this ID, or this key may not see it.');

/** A payment, as every answer shows it. */
export function paymentBody(payment: Payment) {
  const { id, state, purpose, network, asset, payer, payTo, amount, paid, fee, charged, decision } = payment;
  return {
    object: 'payment',
    id: idText('pay_', id),
    state,
    purpose,
    network,
    asset,
    payer,
    pay_to: payTo,
    amount_atomic: String(amount),
    paid_credits: toCredits(paid),
    fee_credits: toCredits(fee),
    charged_credits: charged === null ? null : toCredits(charged),
    balance_added_credits: state === 'settled' ? toCredits(paid - fee - (charged ?? 0)) : null,
    decision_id: decision === null ? null : idText('dec_', decision),
    transaction: payment.transaction,
    error: payment.error,
    created_at: iso(payment.created),
    updated_at: iso(payment.updated),
  };
}
