import { idText } from '../../core/id.ts';
import type { Payment } from '../../store/payments.ts';

/** The request header that contains the payment. */
export const SIGNATURE_HEADER = 'payment-signature';

/** The response headers about a payment. Errors and repeated answers have these headers, too. */
export const PAYMENT_HEADERS = ['payment-response', 'x-payment-id'] as const;

/** The headers of a settled payment: x402's own header, and the ID with which the payment can be looked up. */
export function paymentHeaders({ id, network, payer, amount, transaction }: Payment): Record<string, string> {
  const settled = { success: true, transaction: transaction ?? '', network, payer, amount: String(amount) };
  return { 'payment-response': base64Json(settled), 'x-payment-id': idText('pay_', id) };
}

/** Encodes an object as x402 writes it in headers. */
export const base64Json = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
