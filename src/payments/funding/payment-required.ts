import { SignalboxError } from '../../core/errors.ts';
import { toCredits } from '../../core/money/credits.ts';
import type { Quote } from '../quote.ts';
import { base64Json } from './payment-headers.ts';

/** The code, text and figures of an error that a payment would fix. */
export interface PaymentReason {
  readonly code: 'payment_required' | 'payment_invalid' | 'insufficient_quota';
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The error that says how to pay: in the header `PAYMENT-REQUIRED`, and as members of the body next to `error` for clients that read no
 * headers. Caches must not store the error, and a retry without a payment is useless.
 */
export function paymentRequiredError({ code, message, details }: PaymentReason, quote: Quote): SignalboxError {
  const { required, price } = quote;
  const { x402Version, resource, accepts } = required;
  return new SignalboxError(code, message, {
    beside: { x402Version, resource, accepts },
    details: { ...details, quote: { price_credits: toCredits(price), ...quoteDetails(accepts) } },
    headers: { 'payment-required': base64Json({ ...required, error: message }), 'cache-control': 'no-store' },
    retry: false,
  });
}

/** The figures of a quote for programs that do not decode it. */
function quoteDetails(accepts: Quote['required']['accepts']) {
  return {
    expires_at: accepts[0]?.extra.expires_at,
    amounts: accepts.map(({ network, asset, amount }) => ({ network, asset, amount_atomic: amount })),
  };
}
