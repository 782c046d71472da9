import type { HTTPHeaders } from 'elysia';
import type { Claim } from '../../access/idempotency/idempotency.ts';
import type { IdempotentRun } from '../../access/idempotency/run.ts';
import { walletCaller } from '../../core/caller.ts';
import { SignalboxError } from '../../core/errors.ts';
import { isWallet } from '../../core/wallet.ts';
import { readOffer, type WalletAsk, walletDemand, withQuote } from '../../gateway/x402/wallets.ts';
import type { SignedPayment } from '../../payments/payment.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import type { RouteContext } from '../context.ts';
import { askByPayment, PAYMENT_HEADERS } from './payer.ts';

/** When to ask again for an answer that is being made, ms. */
const RETRY_MS = 1_000;

/** A request of a wallet, with the headers of its response. */
export interface FromWallet {
  readonly ask: WalletAsk;
  readonly request: Request;
  readonly headers: HTTPHeaders;
}

/**
 * Answers a request of a wallet: with a quote where it brings no signature; else with what `carryOut` makes of it,
 * status 201. The same signature gets the same answer, key and all, for a day: that is kept so that nothing but the
 * signature with its quote opens it.
 */
export async function onceSigned(
  services: RouteContext,
  { ask, request, headers }: FromWallet,
  carryOut: (offer: SignedPayment) => Promise<object>,
): Promise<Response> {
  const { gateway, contextOf, idempotency } = services;
  const context = contextOf(request);
  const signature = request.headers.get('payment-signature');
  if (signature === null) {
    const known = context.keyId !== null && isWallet(context.keyId) ? context.keyId : null;
    throw walletDemand(gateway, ask, known, 'payment_required', messageFor(ask));
  }
  const offer = await readOffer(gateway, ask, signature);
  context.acceptPayer(walletCaller(offer.payer));
  context.addLimitHeaders(headers);
  const claim = await stored(() => idempotency.claim(askByPayment(offer)));
  if (claim.kind === 'replay') {
    const { status, headers: kept, body } = claim.answer;
    return new Response(body, { status, headers: { ...kept, 'x-signalbox-replayed': 'true' } });
  }
  if (claim.kind !== 'run') throw refusalError(claim);
  const { run } = claim;
  let body: string;
  try {
    await stored(() => run.begin(gateway.nextId()));
    body = JSON.stringify(await withQuote(gateway, ask, offer.payer, () => stored(() => carryOut(offer))));
  } catch (cause) {
    await run.drop();
    throw cause;
  }
  return answered(run, body, headers);
}

/** Durable before anybody has it: whoever gets no answer can ask for it again. */
async function answered(run: IdempotentRun, body: string, headers: HTTPHeaders): Promise<Response> {
  const own = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  const told = Object.fromEntries(
    PAYMENT_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
  const kept = { ...own, ...told };
  await run.keep({ status: 201, headers: kept, frame: '', body });
  return new Response(body, { status: 201, headers: kept });
}

const messageFor = ({ purpose }: WalletAsk): string =>
  purpose === 'topup'
    ? 'Pay by x402: sign what the header PAYMENT-REQUIRED asks for, and send this request again with PAYMENT-SIGNATURE.'
    : 'Prove that you hold the wallet: sign what the header PAYMENT-REQUIRED asks for, an amount of 0, and send this request again with PAYMENT-SIGNATURE.';

function refusalError({ kind }: Exclude<Claim, { kind: 'run' | 'replay' }>): SignalboxError {
  const param = 'PAYMENT-SIGNATURE';
  if (kind === 'in-flight') {
    return new SignalboxError('in_flight', 'The request with this signature is still running.', {
      retryAfterMs: RETRY_MS,
      // A client that repeats it by itself would sign another payment.
      retry: false,
    });
  }
  return new SignalboxError(
    'idempotency_answer_unavailable',
    'This authorization came with another signature before: only that one gets the answer again.',
    { param },
  );
}

/** What cannot be written down is not begun. Nor is it repeated by itself: signed anew it would be paid twice. */
const stored = <T>(work: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be written or read; send the same request again.', work, { retry: false });
