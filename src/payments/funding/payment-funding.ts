import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { type Caller, holderCaller } from '../../core/people/caller.ts';
import type {
  FundedHold,
  Funding,
  FundingRequest,
  FundingTerms,
  RepeatIdentity,
  RequestClaim,
} from '../../gateway/money/funding.ts';
import { holdOf, orUnwritten, recordedWallet } from '../../gateway/money/key-funding.ts';
import { shortageError } from '../../gateway/money/shortage.ts';
import { type FundShortage, isShortage } from '../../ledger/available-funds.ts';
import type { Earmark } from '../../ledger/hold.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import { runtimeFor } from '../../policy/runtime/wildcard-runtime.ts';
import { mayUse } from '../../routing/model-name.ts';
import type { Payment } from '../../store/payments.ts';
import { PaymentRefused } from '../payments.ts';
import type { SignedPayment } from '../read-payment.ts';
import type { X402Parts } from './gateway.ts';
import { signedPayer } from './payer.ts';
import { errorOfPayment, PaymentHold } from './payment-hold.ts';
import { paymentErrorOf } from './quoted-error.ts';

/** A wallet pays with the payment that it has signed, or with the balance that this payment became earlier. */
export class PaymentFunding implements Funding {
  readonly caller: Caller;
  readonly provedCaller: Caller | null;
  readonly identity: RepeatIdentity;
  readonly #gateway: X402Parts;
  readonly #request: FundingRequest;
  readonly #payment: SignedPayment;
  readonly #runtime: Runtime | null;

  /**
   * @param request the rules of its key apply, but the funds of its key are not used
   * @param runtime the runtime for which the payment was quoted; null if that runtime no longer exists
   */
  constructor(gateway: X402Parts, request: FundingRequest, payment: SignedPayment, runtime: Runtime | null = null) {
    const { key } = request;
    const wallet = holderCaller(payment.payer);
    this.caller = key ?? wallet;
    this.provedCaller = key ? null : wallet;
    this.identity = identityOf(payment);
    this.#gateway = gateway;
    this.#request = request;
    this.#payment = payment;
    this.#runtime = runtime;
  }

  terms(): FundingTerms {
    const { caller } = this;
    const { payer, terms } = this.#payment;
    const runtime = this.#runtime;
    if (!runtime)
      throw new PaymentRefused(
        'quote_outdated',
        'The policy has changed since the quote was made. Sign the new quote.',
      );
    return {
      runtime,
      // Only the models of the quote may answer.
      caller: { ...caller, models: new Set(terms.models.filter((id) => mayUse(caller, modelOf(id, runtime)))) },
      cap: terms.bound,
      windowsOnly: true,
      holder: caller.keyId === payer ? null : payer,
      agentWallet: recordedWallet(this.#request.request),
    };
  }

  async reserve(request: HoldRequest, claim: RequestClaim | null): Promise<FundedHold> {
    // The hold is made after the settlement on the chain. Money may move from here on.
    if (claim) await orUnwritten(() => claim.begin(request.id));
    const { payments, ledger } = this.#gateway;
    const { amount, terms } = this.#payment;
    const isPaid = amount === 0n || hasArrived(await orUnwritten(() => payments.find(this.#payment)));
    const earmark = isPaid ? null : await orUnwritten(() => ledger.earmark(request, terms.bound - terms.credit));
    if (earmark && isShortage(earmark)) throw balanceError(this.#gateway, earmark, request);
    try {
      return await this.#settled(request, earmark);
    } catch (cause) {
      earmark?.release();
      throw cause;
    }
  }

  mend(cause: unknown): Promise<unknown> {
    const payer = signedPayer(this.#payment, this.#request.key);
    return paymentErrorOf(this.#gateway, this.#request, payer, cause);
  }

  /** Settles the payment and makes a hold on it. If the payment had arrived before, the hold is made on the balance. */
  async #settled(request: HoldRequest, earmark: Earmark | null): Promise<FundedHold> {
    const { payments, now } = this.#gateway;
    const use = { decision: request.id, keyId: this.#request.key?.keyId ?? null, signal: request.signal };
    const resolution = await payments.settle(this.#payment, use, (payment, writes) => {
      if (!earmark) throw new Error('A payment arrived, but no money was earmarked for it.');
      const { id, paid, fee } = payment;
      return earmark.capture({ paid, fee, note: idText('pay_', id) }, writes);
    });
    if (resolution.state !== 'captured') {
      earmark?.release();
      // An expired quote is refused, because a person who finds its signature later must not be able to spend with it.
      if (this.#payment.terms.expiresAt <= now()) throw expiredError();
      return onPayment(resolution.state === 'known' ? resolution.payment : null, this.#fromBalance(request));
    }
    const { booked: hold, payment } = resolution;
    if (hold) return new PaymentHold(this.#gateway, hold, payment);
    await onPayment(
      payment,
      orUnwritten(() => depositAll(this.#gateway, payment)),
    );
    throw new PaymentRefused(
      'balance_lowered',
      'The balance of the wallet was reduced in the meantime. The payment was added to the balance.',
    );
  }

  async #fromBalance(request: HoldRequest): Promise<FundedHold> {
    const hold = await orUnwritten(() => this.#gateway.ledger.reserve(request));
    if (isShortage(hold)) throw balanceError(this.#gateway, hold, request);
    return holdOf(hold, request);
  }
}

/** An answer is stored once for each authorization. The stored answer can be decrypted only with the signature and its quote. */
export const identityOf = (signed: SignedPayment): RepeatIdentity => ({
  keyId: signed.payer,
  secret: signed.secret,
  idempotencyKey: `x402 ${signed.network} ${signed.requirements.asset} ${signed.nonce}`,
  body: Buffer.from(signed.terms.requestHash, 'hex'),
  label: 'payment',
  param: 'PAYMENT-SIGNATURE',
});

/** After the money has arrived, a failure names the payment, because the caller must not repeat the request as if nothing had been paid. */
async function onPayment<T>(payment: Payment | null, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw payment && cause instanceof SignalboxError ? errorOfPayment(cause, payment) : cause;
  }
}

/** Adds the whole payment to the balance, because the payment pays for no request. */
function depositAll({ payments, ledger }: X402Parts, payment: Payment): Promise<void> {
  const { id, payer, fee } = payment;
  const waived = { paid: 0, fee: -fee, note: idText('pay_', id) };
  return ledger.deposit(payer, waived, payments.settleWrites(payment, 0, 0));
}

/**
 * If a balance was spent since the quote, the caller needs a new quote. If budgets are exhausted or other requests hold the money, a new
 * quote does not help.
 */
function balanceError(gateway: X402Parts, shortage: FundShortage, { caller }: HoldRequest): Error {
  if (shortage.kind === 'balance' && shortage.why === 'exhausted') {
    return new PaymentRefused('balance_spent', 'The balance of the wallet no longer covers its part of the price.');
  }
  return shortageError(shortage, caller, gateway);
}

const hasArrived = (payment: Payment | null): boolean => payment?.state === 'captured' || payment?.state === 'settled';

const expiredError = () =>
  new PaymentRefused('quote_expired', 'The quote has expired. The payment is in the balance of the wallet.');

/** The model of an ID, which may belong to a wildcard; only the ID if the model is no longer served. */
function modelOf(id: string, runtime: Runtime): Parameters<typeof mayUse>[1] {
  const { models, modelIndex } = runtimeFor(runtime, id).snapshot;
  return models[modelIndex.get(id) ?? -1] ?? { id };
}
