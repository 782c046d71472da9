import { type Caller, walletCaller } from '../../core/caller.ts';
import { limitFromCredits, type Microcredits, toCredits } from '../../core/credits.ts';
import { type ErrorCode, SignalboxError } from '../../core/errors.ts';
import { isWallet, walletOf } from '../../core/wallet.ts';
import { requestHashOf } from '../../payments/canonical.ts';
import { PaymentRefused } from '../../payments/payments.ts';
import { unsettledError } from '../../payments/refusals.ts';
import { decideChat } from '../decide-chat.ts';
import type { Gateway } from '../gateway.ts';
import { lacksBalance } from '../shortage.ts';
import { type Asked, type Payer, payerOf } from './payer.ts';
import { base64Json, type Demand, demandPayment } from './payment-required.ts';

/** Reads who pays. Throws SignalboxError, with a quote where a payment was refused that a new one would mend. */
export async function identify(
  gateway: Gateway,
  asked: Asked,
  header: string | null,
  key: Caller | null,
): Promise<Payer> {
  try {
    return await payerOf(gateway, asked, header, key);
  } catch (cause) {
    const { agentWallet: named } = asked.request.routing;
    throw await mendable(
      gateway,
      asked,
      { kind: 'nobody', wallet: named == null ? null : walletOf(named), key },
      cause,
    );
  }
}

/** Errors of a request under a quote's terms that other terms would not have. */
const BY_THE_QUOTE: ReadonlySet<ErrorCode> = new Set([
  'budget_limit_too_low',
  'context_length_exceeded',
  'insufficient_permissions',
  'model_not_found',
  'no_eligible_model',
]);

/** What a request ended with before it began; with a quote, where a payment would mend it. */
export async function mendable(gateway: Gateway, asked: Asked, payer: Payer, cause: unknown): Promise<unknown> {
  if (!gateway.payments.policy) return cause;
  if (cause instanceof PaymentRefused) {
    const { reason, message } = cause;
    return refusedBy(await demandFor(gateway, asked, payer, 'payment_invalid', message, { reason }), payer, reason);
  }
  if (!(cause instanceof SignalboxError)) return cause;
  if (payer.kind === 'key' && lacksBalance(cause)) {
    // Whoever cannot be quoted for is told what is missing all the same.
    return demandFor(gateway, asked, payer, 'insufficient_quota', cause.message, cause.info.details).catch(() => cause);
  }
  if (payer.kind === 'offer' && BY_THE_QUOTE.has(cause.code)) {
    const message = `What was quoted for cannot be had any more: ${cause.message}`;
    return demandFor(gateway, asked, payer, 'payment_invalid', message, { reason: 'no_longer_offered' });
  }
  return cause;
}

/**
 * The error that tells what a request costs, and how it is paid. Throws SignalboxError where it could not be carried
 * out whoever paid, or must not be paid for anew.
 */
export async function demandFor(
  gateway: Gateway,
  asked: Asked,
  payer: Payer,
  code: Demand,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): Promise<SignalboxError> {
  const { payments, ledger } = gateway;
  const { policy } = payments;
  if (!policy) throw new Error('a payment was demanded where none is taken');
  const { request, named, url } = asked;
  const { wallet, isProved } = walletFor(payer, request.routing.agentWallet);
  const requestHash = requestHashOf(request.original.body, named);
  const open = wallet && payments.unsettled(wallet, requestHash);
  if (open) throw unsettledError(open.id);
  const isShown = wallet !== null && (isProved || policy.quotesBalance);
  // Below 0 where the operator took back what was spent: then that is paid, too.
  const free = isShown ? (ledger.balanceOf(wallet)?.free ?? 0) : 0;
  const { runtime, decision } = await affordable(gateway, asked, { caller: callerFor(payer, wallet), isProved }, free);
  const { models, revision } = runtime.snapshot;
  const bound = Math.max(...decision.ranked.map((ranked) => ranked.bound));
  const credit = Math.min(bound, free);
  const quote = payments.quote({
    purpose: 'chat',
    requestHash,
    bound,
    credit,
    revision,
    models: decision.ranked.map(({ model }) => models[model]!.id),
    url,
    description: 'A chat completion; what is not used stays as balance of the wallet.',
    isFeeDue: true,
  });
  const parts = { bound_credits: toCredits(bound), balance_credits: toCredits(credit) };
  return demandPayment(code, message, quote, { ...details, ...parts });
}

/**
 * Decides for whoever pays at once, at most so much as stock clients do, beside the free part of a balance. Throws
 * SignalboxError.
 */
async function affordable(
  gateway: Gateway,
  { request, context }: Asked,
  { caller, isProved }: { readonly caller: Caller; readonly isProved: boolean },
  free: Microcredits,
) {
  const { quoteMax, settleFee } = gateway.payments.policy!;
  const runtime = gateway.lease();
  const cap = Math.max(0, quoteMax - settleFee + free);
  try {
    return {
      runtime,
      ...(await decideChat(gateway, request, { runtime, caller, cap, windowsOnly: true }, false, context)),
    };
  } catch (cause) {
    // What a wallet has used of a budget is nobody's business who only knows its address.
    if (cause instanceof SignalboxError && cause.code === 'insufficient_quota' && !isProved && isWallet(caller.keyId)) {
      const { budget, renews_at } = cause.info.details ?? {};
      const message = `The budget \`${budget}\` cannot pay for this request.`;
      throw new SignalboxError('insufficient_quota', message, { details: { budget, renews_at } });
    }
    const { budgetCredits } = request.routing;
    const isByCap = budgetCredits === undefined || limitFromCredits(budgetCredits) > cap;
    if (!(cause instanceof SignalboxError && cause.code === 'budget_limit_too_low' && isByCap)) throw cause;
    const message = `One payment is at most ${toCredits(quoteMax)} Credits, and this request could cost more. Top the wallet up, or ask for less.`;
    throw new SignalboxError('budget_limit_too_low', message, { ...cause.info, param: 'max_tokens' });
  }
}

/** x402 tells of a refused payment in a header, too. */
function refusedBy(error: SignalboxError, payer: Payer, errorReason: string): SignalboxError {
  if (payer.kind !== 'offer') return error;
  const { network, payer: wallet } = payer.offer;
  const answer = { success: false, errorReason, transaction: '', network, payer: wallet };
  const headers = { ...error.info.headers, 'payment-response': base64Json(answer) };
  return new SignalboxError(error.code, error.message, { ...error.info, headers });
}

/** The wallet that is to pay, as far as it is known, and whether it has proved itself. */
function walletFor(payer: Payer, named: string | null | undefined): { wallet: string | null; isProved: boolean } {
  if (payer.kind === 'offer') return { wallet: payer.offer.payer, isProved: true };
  if (payer.kind === 'nobody') return { wallet: payer.wallet, isProved: false };
  const { keyId } = payer.caller;
  if (isWallet(keyId)) return { wallet: keyId, isProved: true };
  return { wallet: named == null ? null : walletOf(named), isProved: false };
}

/** Whose policies apply. Of nobody in particular they are those of a wallet without an address. */
function callerFor(payer: Payer, wallet: string | null) {
  const key = payer.kind === 'key' ? payer.caller : payer.key;
  return key ?? walletCaller(wallet ?? '');
}
