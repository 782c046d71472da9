import type { HTTPHeaders } from 'elysia';
import type { KeyedRequest } from '../../access/idempotency/idempotency.ts';
import { walletCaller } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { RequestContext } from '../../gateway/request-context.ts';
import type { Asked, Payer } from '../../gateway/x402/payer.ts';
import { base64Json } from '../../gateway/x402/payment-required.ts';
import { ofPayment } from '../../gateway/x402/platform-payment.ts';
import { identify } from '../../gateway/x402/quote-request.ts';
import type { Payment, SignedPayment } from '../../payments/payment.ts';
import type { RouteContext } from '../context.ts';

/** A chat request with the headers of its response. */
export interface Arrived {
  readonly asked: Asked;
  readonly request: Request;
  /** Of the response. */
  readonly headers: HTTPHeaders;
}

/** A chat request as it has come. */
export const arrivedAs = (
  read: ModelRequest,
  request: Request,
  headers: HTTPHeaders,
  context: RequestContext,
): Arrived => ({
  asked: { request: read, named: request.headers.get('idempotency-key'), url: request.url, context },
  request,
  headers,
});

/** Who pays for a request. A wallet that has just proved itself is counted against the limits of rate from here on. */
export async function payerFor({ gateway }: RouteContext, { asked, request }: Arrived): Promise<Payer> {
  const { context } = asked;
  const payer = await identify(gateway, asked, request.headers.get('payment-signature'), context.caller);
  if (payer.kind === 'offer' && payer.key === null) context.acceptPayer(walletCaller(payer.offer.payer));
  return payer;
}

/** What is known by its payment is kept as by an `Idempotency-Key`: one for each authorization, for who has its quote. */
export const askByPayment = ({
  payer: keyId,
  secret,
  network,
  requirements,
  nonce,
  terms,
}: SignedPayment): KeyedRequest => ({
  keyId,
  secret,
  idempotencyKey: `x402 ${network} ${requirements.asset} ${nonce}`,
  body: Buffer.from(terms.requestHash, 'hex'),
});

/** The headers that tell of a payment: errors and repeats have them, too. */
export const PAYMENT_HEADERS = ['payment-response', 'x-payment-id'] as const;

/** Tells of a payment that has been settled: x402's own header, and the ID under which it can be looked up. */
export function tellPayment(payment: Payment | null, headers: HTTPHeaders): void {
  if (!payment) return;
  const { id, network, payer, amount, transaction } = payment;
  const settled = { success: true, transaction: transaction ?? '', network, payer, amount: String(amount) };
  headers['payment-response'] = base64Json(settled);
  headers['x-payment-id'] = idText('pay_', id);
}

/** An error of a request that was paid for and of which nothing is kept: it can be had for what was paid. */
export function afterPayment(error: SignalboxError, payment: Payment | null): SignalboxError {
  const { code, message, info } = ofPayment(error, payment);
  const rest =
    'What was paid and not charged is balance of the wallet: while its quote lasts the same PAYMENT-SIGNATURE may be sent again.';
  return new SignalboxError(code, payment ? `${message} ${rest}` : message, info);
}
