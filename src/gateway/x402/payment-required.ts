import { toCredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Quote } from '../../payments/quote.ts';

/** The codes of errors that a payment would mend. */
export type Demand = 'payment_required' | 'payment_invalid' | 'insufficient_quota';

/**
 * An error that says how to pay: the header `PAYMENT-REQUIRED` and the same members in the body, beside `error`, for
 * those who read no headers. No cache may keep it, and repeating the request without a payment is of no use.
 */
export function demandPayment(
  code: Demand,
  message: string,
  { required, price }: Quote,
  details: Readonly<Record<string, unknown>> = {},
): SignalboxError {
  const { x402Version, resource, accepts } = required;
  return new SignalboxError(code, message, {
    beside: { x402Version, resource, accepts },
    details: { ...details, quote: { price_credits: toCredits(price), ...quoteDetails(accepts) } },
    headers: { 'payment-required': base64Json({ ...required, error: message }), 'cache-control': 'no-store' },
    retry: false,
  });
}

/** What a program wants to know of a quote without decoding it. */
function quoteDetails(accepts: Quote['required']['accepts']) {
  return {
    expires_at: accepts[0]?.extra.expires_at,
    amounts: accepts.map(({ network, asset, amount }) => ({ network, asset, amount_atomic: amount })),
  };
}

/** How x402 puts an object into a header. */
export const base64Json = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
