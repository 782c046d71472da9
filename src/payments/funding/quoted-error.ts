import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { OPERATIONS } from '../../core/kinds/operations.ts';
import { limitFromCredits, type Microcredits, toCredits } from '../../core/money/credits.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { capital } from '../../core/text/text.ts';
import type { FundingRequest } from '../../gateway/money/funding.ts';
import { isShortageCode } from '../../gateway/money/shortage.ts';
import { requestHashOf } from '../canonical.ts';
import { PaymentRefused } from '../payments.ts';
import { unsettledError } from '../refusals.ts';
import type { X402Parts } from './gateway.ts';
import { callerOf, type PayerContext } from './payer.ts';
import { base64Json } from './payment-headers.ts';
import { type PaymentReason, paymentRequiredError } from './payment-required.ts';

/** Errors of a request that come from the quote's terms. With other terms of the quote, these errors would not happen. */
const BY_THE_QUOTE: ReadonlySet<ErrorCode> = new Set([
  'budget_limit_too_low',
  'context_length_exceeded',
  'insufficient_permissions',
  'model_not_found',
  'no_eligible_model',
]);

/** The error of a request whose payment was refused or whose quote does not fit. The error has a new quote if a new quote helps. */
export async function paymentErrorOf(
  gateway: X402Parts,
  request: FundingRequest,
  payer: PayerContext,
  cause: unknown,
): Promise<unknown> {
  if (!gateway.payments.policy) return cause;
  const code = 'payment_invalid';
  if (cause instanceof PaymentRefused) {
    const { reason, message } = cause;
    return refusedError(
      await quotedError(gateway, request, payer, { code, message, details: { reason } }),
      payer,
      reason,
    );
  }
  if (!payer.payment || !(cause instanceof SignalboxError) || !BY_THE_QUOTE.has(cause.code)) return cause;
  const message = `The quoted request can no longer be served: ${cause.message}`;
  return quotedError(gateway, request, payer, { code, message, details: { reason: 'no_longer_offered' } });
}

/**
 * The error that contains the price of a request and how to pay it.
 * @throws SignalboxError if a payment would not help, or if the request must not be paid for again
 */
export async function quotedError(
  gateway: X402Parts,
  given: FundingRequest,
  payer: PayerContext,
  reason: PaymentReason,
): Promise<SignalboxError> {
  const { payments, ledger } = gateway;
  const { policy } = payments;
  if (!policy) throw new Error('A payment was requested, but the policy accepts none.');
  const { wallet, isProved } = payer;
  const requestHash = requestHashOf(given.request.original.body, given.idempotencyKey);
  const open = wallet && (await payments.unsettled(wallet, requestHash));
  if (open) throw unsettledError(open.id);
  const isShown = wallet !== null && (isProved || policy.quotesBalance);
  // The balance is negative if the operator removed more than was left. The payment then also covers the debt.
  const free = isShown ? (ledger.balanceOf(wallet)?.free ?? 0) : 0;
  const { runtime, decision, guardsNotRun } = await affordable(gateway, given, payer, free);
  const { models } = runtime.snapshot;
  const bound = Math.max(...decision.ranked.map((ranked) => ranked.bound));
  const credit = Math.min(bound, free);
  const quote = payments.quote({
    purpose: 'chat',
    requestHash,
    bound,
    credit,
    revision: decision.revision,
    models: decision.ranked.map(({ model }) => models[model]!.id),
    url: given.url,
    description: `${capital(OPERATIONS[given.request.operation].answer)}. The unused part of the payment becomes the balance of the wallet.`,
    isFeeDue: true,
  });
  const parts = {
    bound_credits: toCredits(bound),
    balance_credits: toCredits(credit),
    ...(guardsNotRun.length > 0 && { guards_not_run: guardsNotRun }),
  };
  return paymentRequiredError({ ...reason, details: { ...reason.details, ...parts } }, quote);
}

/**
 * Decides for a payer who pays now. The payment is limited to what standard clients pay, and the free part of the balance is added.
 * @throws SignalboxError
 */
async function affordable(
  gateway: X402Parts,
  { request, decide }: FundingRequest,
  payer: PayerContext,
  free: Microcredits,
) {
  const { quoteMax, settleFee } = gateway.payments.policy!;
  const caller = callerOf(payer);
  const cap = Math.max(0, quoteMax - settleFee + free);
  try {
    return await decide({ runtime: gateway.lease(), caller, cap, windowsOnly: true });
  } catch (cause) {
    if (!(cause instanceof SignalboxError)) throw cause;
    const { code, info } = cause;
    // A caller who only knows a wallet's address must not learn how much of a budget the wallet has used.
    if (isShortageCode(code) && !payer.isProved && isAddress(caller.keyId)) {
      const { budget, renews_at } = info.details ?? {};
      const message = `The budget \`${budget}\` cannot pay for this request.`;
      throw new SignalboxError(code, message, { details: { budget, renews_at } });
    }
    const { budgetCredits } = request.routing;
    const isByCap = budgetCredits === undefined || limitFromCredits(budgetCredits) > cap;
    if (code !== 'budget_limit_too_low' || !isByCap) throw cause;
    const message = `This request could cost more than ${toCredits(quoteMax)} Credits, the maximum of one payment. Top up the wallet, or lower the limit on the output.`;
    throw new SignalboxError('budget_limit_too_low', message, { ...info, param: request.names.outputTokensMax });
  }
}

/** x402 also reports a refused payment in a header. */
function refusedError(error: SignalboxError, { payment }: PayerContext, errorReason: string): SignalboxError {
  if (!payment) return error;
  const { network, payer } = payment;
  const answer = { success: false, errorReason, transaction: '', network, payer };
  const headers = { ...error.info.headers, 'payment-response': base64Json(answer) };
  return new SignalboxError(error.code, error.message, { ...error.info, headers });
}
