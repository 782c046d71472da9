import { idText } from '../../core/id.ts';
import type { Payment } from '../../store/payments.ts';

/** The header by which a request brings its payment. */
export const SIGNATURE_HEADER = 'payment-signature';

/** The headers that tell of a payment: errors and repeats have them, too. */
export const PAYMENT_HEADERS = ['payment-response', 'x-payment-id'] as const;

/** The headers of a settled payment: x402's own, and the ID under which it can be looked up. */
export function paymentHeaders({ id, network, payer, amount, transaction }: Payment): Record<string, string> {
  const settled = { success: true, transaction: transaction ?? '', network, payer, amount: String(amount) };
  return { 'payment-response': base64Json(settled), 'x-payment-id': idText('pay_', id) };
}

/** Returns an object as x402 puts it into a header. */
export const base64Json = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
