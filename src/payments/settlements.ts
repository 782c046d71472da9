import { toCredits } from '../core/credits.ts';
import { type PaymentPolicy, worthOf } from '../core/payment-policy.ts';
import type { Log } from '../telemetry/log.ts';
import type { Blocklist } from './blocklist.ts';
import type { PaymentCounts } from './counts.ts';
import { FacilitatorUnavailable, type Settlement } from './facilitator/facilitator.ts';
import { fieldsOf, type Judge } from './judge.ts';
import type { Networks, Place } from './networks.ts';
import type { Offer, Payment } from './payment.ts';
import { type Beside, type Book, PaymentRefused, type Resolution } from './payments.ts';
import {
  blockedError,
  inFlightError,
  isPassing,
  reasonWord,
  refusedBy,
  unavailableError,
  unsettledError,
  written,
} from './refusals.ts';
import type { AuthorizationName, Register } from './register.ts';
import { capturePayment } from './table.ts';

export interface SettlementsOptions {
  readonly register: Register;
  readonly networks: Networks;
  readonly judge: Judge;
  readonly blocklist: Blocklist;
  readonly policy: () => PaymentPolicy | null;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly nextId: () => number;
  /** What is kept of the hash of a request. */
  readonly mark: (requestHash: string) => string;
  readonly counts: PaymentCounts;
  readonly log: Log;
}

/** What is being done about one authorization. */
interface Work {
  /** Of the payment. */
  id: number;
  /** Ends when the chain has been asked; null while a settlement is under way, which nobody waits for. */
  readonly look: Promise<unknown> | null;
  /** Of whoever has it settled. */
  readonly signal?: AbortSignal | undefined;
}

/** An offer whose settlement has its row. */
interface Sent<T> {
  readonly offer: Offer;
  readonly payment: Payment;
  readonly book: Book<T>;
  /** Whether nothing was ever sent for it before. */
  readonly isFirst: boolean;
}

/** Has payments settled, each authorization by one at a time. */
export class Settlements {
  readonly #options: SettlementsOptions;
  readonly #work = new Map<string, Work>();

  constructor(options: SettlementsOptions) {
    this.#options = options;
  }

  /** As `Payments.settle`. */
  async settle<T>(offer: Offer, beside: Beside, book: Book<T>): Promise<Resolution<T>> {
    const { blocklist, register, nextId } = this.#options;
    if (blocklist.has(offer.payer)) throw blockedError();
    if (offer.amount === 0n) {
      this.#checkExpiry(offer);
      this.#checkStillValid(offer);
      return { state: 'proved' };
    }
    const name = nameOf(offer);
    const key = keyOf(name);
    for (let work = this.#work.get(key); work; work = this.#work.get(key)) {
      if (!work.look) throw inFlightError(work.id);
      await work.look;
    }
    const work: Work = { id: nextId(), look: null, signal: beside.signal };
    this.#work.set(key, work);
    try {
      const known = await written(() => register.find(name));
      checkQuote(known, offer);
      if (!known) return await this.#fresh(work.id, offer, beside, book);
      work.id = known.id;
      return await this.#again(known, offer, beside, book);
    } finally {
      this.#work.delete(key);
    }
  }

  /**
   * A payment of this wallet for this very request of which it is not known what became. One that is being settled just
   * now is none, unless its sender has left: whoever sends the same request twice at once means both, and who comes
   * again means one.
   */
  unsettled(wallet: string, requestHash: string): Payment | null {
    const requestMark = this.#options.mark(requestHash);
    for (const payment of this.#options.register.unsettled()) {
      const isIt = payment.payer === wallet && payment.requestMark === requestMark;
      if (!isIt) continue;
      const work = this.#work.get(keyOf(payment));
      if (work?.look !== null || work.signal?.aborted) return payment;
    }
    return null;
  }

  /**
   * Asks the chain about a payment; null while somebody is at it. Resolves with it as it then stands; rejects as
   * `Judge.judge`.
   */
  async look(payment: Payment, place: Place): Promise<Payment | null> {
    const key = keyOf(payment);
    if (this.#work.has(key)) return null;
    const looked = this.#options.judge.judge(payment, place.network);
    const look = looked.catch(() => {}).finally(() => this.#work.delete(key));
    this.#work.set(key, { id: payment.id, look });
    return looked;
  }

  async #fresh<T>(id: number, offer: Offer, beside: Beside, book: Book<T>): Promise<Resolution<T>> {
    this.#checkExpiry(offer);
    this.#checkTime(offer);
    return this.#options.networks.use(offer.network, async (place) => {
      if (!place || place.asset !== offer.requirements.asset) {
        throw new PaymentRefused('no_longer_offered', 'Payments in this asset on this network are no longer taken.');
      }
      if (!place.isReady) throw unavailableError();
      const payment = this.#paymentOf(id, offer, beside, place);
      await this.#verify(payment, offer, place);
      // Nothing was sent: who comes again begins anew, and gas is spent on nobody who has left.
      if (beside.signal?.aborted) throw unavailableError();
      await written(() => this.#options.register.begin(payment));
      return this.#send({ offer, payment, book, isFirst: true }, place);
    });
  }

  async #verify(payment: Payment, offer: Offer, { network }: Place): Promise<void> {
    const verification = await this.#asked(() => network.facilitator.verify(offer), payment);
    if (!verification.valid) throw refusedBy(verification.reason);
  }

  /**
   * What was offered before is resolved by the chain; it is sent again only if it can still be what it was quoted for.
   */
  async #again<T>(known: Payment, offer: Offer, beside: Beside, book: Book<T>): Promise<Resolution<T>> {
    const resolved = resolutionOf(known);
    if (resolved) return resolved;
    return this.#options.networks.use(known.network, async (place) => {
      if (!place) throw unsettledError(known.id);
      const judged = await this.#judged(known, place);
      const now = resolutionOf(judged);
      if (now) return now;
      // Another one with its nonce would be booked, and looked for on the chain, as what it is not.
      if (!this.#isOf(judged, offer)) throw unsettledError(known.id);
      if (!place.isReady || !this.#hasTime(offer)) throw unsettledError(known.id);
      const { decision, keyId } = beside;
      return this.#send({ offer, payment: { ...judged, decision, keyId }, book, isFirst: false }, place);
    });
  }

  /** Whether an offer is the one that a payment began with. */
  #isOf({ amount, payTo, validBefore, requestMark }: Payment, { requirements, terms, ...offer }: Offer): boolean {
    const isSameTransfer = amount === offer.amount && payTo === requirements.payTo && validBefore === offer.validBefore;
    return isSameTransfer && requestMark === this.#options.mark(terms.requestHash);
  }

  async #judged(payment: Payment, { network }: Place): Promise<Payment> {
    try {
      return await this.#options.judge.judge(payment, network);
    } catch (cause) {
      if (isPassing(cause)) throw unsettledError(payment.id, cause);
      throw cause;
    }
  }

  async #send<T>(sent: Sent<T>, place: Place): Promise<Resolution<T>> {
    const { payment, isFirst } = sent;
    const { register, now, counts, log } = this.#options;
    const outcome = await this.#outcome(sent, place);
    if (outcome.state === 'captured') return this.#captured(sent, outcome.transaction);
    const error = reasonWord(outcome.reason);
    if (outcome.state === 'failed' && isFirst) {
      counts.failed(payment);
      await register.fail({ ...payment, state: 'failed', error, updated: now() });
      log.info('a payment has failed', { ...fieldsOf(payment), reason: error });
      throw refusedBy(error);
    }
    // That another try has failed says nothing of what was sent before: the chain will tell.
    const transaction =
      outcome.state === 'unknown' ? (outcome.transaction ?? payment.transaction) : payment.transaction;
    await register.doubt({ ...payment, state: 'unknown', transaction, error, updated: now() });
    log.warn('the outcome of a payment is not known yet', { ...fieldsOf(payment), reason: error, transaction });
    throw unsettledError(payment.id);
  }

  async #outcome<T>({ offer, payment, isFirst }: Sent<T>, { network }: Place): Promise<Settlement> {
    const { register, log } = this.#options;
    try {
      return await network.facilitator.settle(offer);
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      if (!(cause instanceof FacilitatorUnavailable)) {
        log.error('a settlement broke off', { ...fieldsOf(payment), detail });
        return { state: 'unknown', reason: 'settlement_broke_off', transaction: null };
      }
      log.warn('a payment could not be sent', { ...fieldsOf(payment), detail });
      if (!isFirst) throw unsettledError(payment.id, cause);
      await register.remove(payment);
      throw unavailableError(cause);
    }
  }

  async #captured<T>({ payment, book }: Sent<T>, transaction: string): Promise<Resolution<T>> {
    const { register, now, counts, log } = this.#options;
    const captured: Payment = { ...payment, state: 'captured', transaction, error: null, updated: now() };
    try {
      const booked = await book(captured, [capturePayment(captured)]);
      register.resolved(captured);
      counts.captured(captured);
      const { paid, fee } = captured;
      const figures = { paid_credits: toCredits(paid), fee_credits: toCredits(fee) };
      log.info('a payment has arrived', { ...fieldsOf(captured), ...figures, transaction });
      return { state: 'captured', payment: captured, booked };
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      log.error('a payment has arrived and could not be booked; it will be by the chain', {
        ...fieldsOf(captured),
        detail,
        transaction,
      });
      throw unsettledError(captured.id, cause);
    }
  }

  /** Before anything is sent. */
  async #asked<T>(ask: () => Promise<T>, payment: Payment): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      if (!(cause instanceof FacilitatorUnavailable)) throw cause;
      this.#options.log.warn('a payment could not be verified', { ...fieldsOf(payment), detail: cause.message });
      throw unavailableError(cause);
    }
  }

  #paymentOf(id: number, offer: Offer, { decision, keyId }: Beside, { policy }: Place): Payment {
    const { terms, requirements, payer, nonce, amount, validBefore, network } = offer;
    const { purpose, fee, bound } = terms;
    const { asset, payTo } = requirements;
    const created = this.#options.now();
    const requestMark = this.#options.mark(terms.requestHash);
    const paid = worthOf(policy.rate, amount);
    const what = { network, asset, payTo, payer, nonce, amount, paid, fee, bound, charged: null };
    const whose = { decision, keyId, quote: terms.id, requestMark, validBefore, transaction: null, error: null };
    return { id, state: 'settling', purpose, ...what, ...whose, created, updated: created };
  }

  #checkExpiry({ terms }: Offer): void {
    if (this.#options.now() < terms.expiresAt) return;
    throw new PaymentRefused('quote_expired', 'The quote has expired; sign the new one.');
  }

  /** Of a proof, which no chain looks at: whoever comes upon an old one could else bring a quote of his own with it. */
  #checkStillValid({ validBefore }: Offer): void {
    if (validBefore * 1_000 > this.#options.now()) return;
    throw new PaymentRefused('too_little_time', 'The authorization is no longer valid: sign the new quote.');
  }

  #checkTime({ validBefore }: Offer): void {
    const { policy, now } = this.#options;
    const marginMs = policy()?.settleMarginMs ?? 0;
    // Payers count whole seconds: who signs at once has time for as long as the quote lasts.
    if (validBefore >= Math.floor((now() + marginMs) / 1_000)) return;
    const message = `The authorization must be valid for ${Math.ceil(marginMs / 1_000)} seconds more, so that it can be settled.`;
    throw new PaymentRefused('too_little_time', message);
  }

  #hasTime(offer: Offer): boolean {
    try {
      this.#checkExpiry(offer);
      this.#checkTime(offer);
      return true;
    } catch {
      return false;
    }
  }
}

/** What is known for good. */
function resolutionOf(payment: Payment): { readonly state: 'known'; readonly payment: Payment } | null {
  if (payment.state === 'captured' || payment.state === 'settled') return { state: 'known', payment };
  if (payment.state !== 'failed') return null;
  throw new PaymentRefused('payment_failed', 'This payment has failed and nothing was charged; sign a new one.');
}

/**
 * Everybody reads a signature on the chain once its payment was sent. Whoever has no more than that cannot have its
 * quote, and must get neither the answer nor the balance by one of his own. Throws PaymentRefused.
 */
export function checkQuote(known: Payment | null, { terms }: Offer): void {
  if (!known || known.quote === terms.id) return;
  throw new PaymentRefused('other_quote', 'This authorization was given for another quote.');
}

/** What an offer is the authorization of. */
export const nameOf = ({ network, requirements, payer, nonce }: Offer): AuthorizationName => ({
  network,
  asset: requirements.asset,
  payer,
  nonce,
});

const keyOf = ({ network, asset, payer, nonce }: AuthorizationName): string => `${network} ${asset} ${payer} ${nonce}`;
