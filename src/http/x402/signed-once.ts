import type { HTTPHeaders } from 'elysia';
import type { ClaimRefusal } from '../../access/idempotency/idempotency.ts';
import { type IdempotentRun, NameTaken } from '../../access/idempotency/run.ts';
import { SignalboxError } from '../../core/errors.ts';
import { isAddress } from '../../core/money/holder-address.ts';
import { holderCaller } from '../../core/people/caller.ts';
import { identityOf } from '../../payments/funding/payment-funding.ts';
import { PAYMENT_HEADERS, SIGNATURE_HEADER } from '../../payments/funding/payment-headers.ts';
import { orQuoted, readSigned, type WalletRequest, walletQuoteError } from '../../payments/funding/wallets.ts';
import type { SignedPayment } from '../../payments/read-payment.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import { stillRunning } from '../kit/replay.ts';
import { writtenResponse } from '../kit/written-answer.ts';
import type { X402Services } from './services.ts';

/** A request of a wallet, with the headers of its response. */
export interface WalletCall {
  readonly wanted: WalletRequest;
  readonly request: Request;
  readonly headers: HTTPHeaders;
}

/**
 * Answers a request of a wallet: with a quote if it has no signature, otherwise with the result of `carryOut` and status 201. For a day,
 * the same signature gets the same answer, including the key. The stored answer can be decrypted only with the signature and its quote.
 */
export async function onceSigned(
  services: X402Services,
  { wanted, request, headers }: WalletCall,
  carryOut: (signed: SignedPayment) => Promise<object>,
): Promise<Response> {
  const { gateway, contextOf, idempotency, repeats } = services;
  const context = contextOf(request);
  const signature = request.headers.get(SIGNATURE_HEADER);
  if (signature === null) {
    const known = context.keyId !== null && isAddress(context.keyId) ? context.keyId : null;
    throw await walletQuoteError(gateway, wanted, known, { code: 'payment_required', message: messageFor(wanted) });
  }
  const signed = await readSigned(gateway, wanted, signature);
  await context.acceptPayer(holderCaller(signed.payer));
  context.life.addLimitHeaders(headers);
  const identity = identityOf(signed);
  const claim = await stored(() => idempotency.claim(identity));
  if (claim.kind === 'replay') {
    const repeat = await repeats.open(claim, identity.keyId, context);
    if (repeat.answer && !('parts' in repeat.answer)) return writtenResponse(repeat.answer, repeat);
    repeat.leave();
    throw refusalError({ kind: 'unavailable', decision: claim.decision });
  }
  if (claim.kind !== 'run') throw refusalError(claim);
  const { run } = claim;
  let body: string;
  try {
    await stored(() => run.begin(gateway.nextId()));
    body = JSON.stringify(await orQuoted(gateway, wanted, signed.payer, () => stored(() => carryOut(signed))));
  } catch (cause) {
    await run.drop();
    throw cause instanceof NameTaken ? stillRunning('signature', false) : cause;
  }
  return answered(run, body, headers);
}

/** The answer is stored before it is sent, so that a caller who does not receive the answer can request it again. */
async function answered(run: IdempotentRun, body: string, headers: HTTPHeaders): Promise<Response> {
  const own = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  const payment = Object.fromEntries(
    PAYMENT_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
  const all = { ...own, ...payment };
  await run.keep({ status: 201, headers: all, body });
  return new Response(body, { status: 201, headers: all });
}

const messageFor = ({ purpose }: WalletRequest): string =>
  purpose === 'topup'
    ? 'This request needs a payment through x402. Sign the terms in the header PAYMENT-REQUIRED, and send the request again with the header PAYMENT-SIGNATURE.'
    : 'This request needs a proof that you hold the wallet. Sign the terms in the header PAYMENT-REQUIRED, whose amount is 0, and send the request again with the header PAYMENT-SIGNATURE.';

function refusalError({ kind }: ClaimRefusal): SignalboxError {
  if (kind === 'in-flight') return stillRunning('signature', false);
  const message =
    'This authorization was already used with a different signature. Only that signature gets the answer again.';
  return new SignalboxError('idempotency_answer_unavailable', message, { param: 'PAYMENT-SIGNATURE' });
}

/** Maps a StoreError to an error that clients do not retry automatically, because a retry with a new signature would be paid twice. */
const stored = <T>(work: () => Promise<T>): Promise<T> =>
  orOverloaded('The database cannot be read or written. Send the same request again.', work, { retry: false });
