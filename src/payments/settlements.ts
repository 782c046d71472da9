import { type Microcredits, toCredits } from '../core/money/credits.ts';
import { worthOf } from '../core/policy/payments.ts';
import { messageOf } from '../core/thrown.ts';
import { isSameInstance, nameOf } from '../store/instance.ts';
import type { AuthorizationId, Payment } from '../store/payments.ts';
import { isUnmet, StoreError } from '../store/store.ts';
import { FacilitatorUnavailable, type SettleResult } from './facilitator/facilitator.ts';
import type { NetworkConnection } from './networks.ts';
import type { PaymentParts } from './parts.ts';
import { type Book, PaymentRefused, type PaymentUse, type Resolution } from './payments.ts';
import type { SignedPayment } from './read-payment.ts';
import {
  blockedError,
  inFlightError,
  isTransient,
  orNotSent,
  publicReason,
  refusalError,
  unavailableError,
  unsettledError,
} from './refusals.ts';
import { paymentFields, resolveOutcome } from './resolve-outcome.ts';

/** The lock that is held while an authorization is settled or looked up. */
interface AuthorizationLock {
  id: number;
  /** The promise settles when the chain has answered. The promise is null during a settlement, for which callers do not wait. */
  readonly look: Promise<unknown> | null;
  /** The signal of the request that settles the authorization. */
  readonly signal?: AbortSignal | undefined;
}

/** A payment whose row is stored, ready to be sent. */
interface SettleJob<T> {
  readonly signed: SignedPayment;
  readonly payment: Payment;
  readonly book: Book<T>;
  /** Whether nothing was sent for the payment before. */
  readonly isFirst: boolean;
  /** Aborts when the sender of the payment disconnects. */
  readonly signal: AbortSignal | undefined;
}

/** Settles payments, with one call at a time for each authorization. State: authorizations. */
export class Settlements {
  readonly #parts: PaymentParts;
  readonly #locks = new Map<string, AuthorizationLock>();

  constructor(parts: PaymentParts) {
    this.#parts = parts;
  }

  /**
   * Settles a payment after a last check of the quote's expiry, the remaining validity and the chain. If the payment was submitted before,
   * the chain resolves it instead. The payment's row is durable before anything is sent.
   * @throws PaymentRefused, SignalboxError `payment_unavailable`, `payment_unsettled`
   */
  async settle<T>(signed: SignedPayment, context: PaymentUse, book: Book<T>): Promise<Resolution<T>> {
    const { blocklist, register, nextId } = this.#parts;
    if (blocklist.blocked.has(signed.payer)) throw blockedError(signed.payer);
    if (signed.amount === 0n) {
      this.#checkExpiry(signed);
      this.#checkStillValid(signed);
      return { state: 'proved' };
    }
    const name = authorizationIdOf(signed);
    const key = keyOf(name);
    for (let lock = this.#locks.get(key); lock; lock = this.#locks.get(key)) {
      if (!lock.look) throw inFlightError(lock.id);
      await lock.look;
    }
    const lock: AuthorizationLock = { id: nextId(), look: null, signal: context.signal };
    this.#locks.set(key, lock);
    try {
      const known = await orNotSent(() => register.table.find(name));
      checkQuote(known, signed);
      if (!known) return await this.#begin(lock.id, signed, context, book);
      lock.id = known.id;
      return await this.#retry(known, signed, context, book);
    } finally {
      this.#locks.delete(key);
    }
  }

  /**
   * Returns an unsettled payment of this wallet for the same request on any server. A payment that is being settled counts only if its
   * sender has disconnected: two equal requests at the same time mean two payments, but a repeated request means one.
   * @throws SignalboxError `overloaded` if the store cannot be read
   */
  async unsettled(wallet: string, requestHash: string): Promise<Payment | null> {
    const { register, seal } = this.#parts;
    for (const payment of await orNotSent(() => register.table.unsettledOf(wallet, seal.mark(requestHash)))) {
      const lock = this.#locks.get(keyOf(payment));
      if (lock ? lock.look !== null || lock.signal?.aborted : await this.#isLeft(payment)) return payment;
    }
    return null;
  }

  /**
   * Asks the chain about a payment; null while this server or another has locked it.
   * @throws like `resolveOutcome`
   */
  async reconcile(payment: Payment, connection: NetworkConnection): Promise<Payment | null> {
    const key = keyOf(payment);
    if ((await this.#isElsewhere(payment)) || this.#locks.has(key)) return null;
    const looked = resolveOutcome(this.#parts, payment, connection.network.chain);
    const look = looked.catch(() => {}).finally(() => this.#locks.delete(key));
    this.#locks.set(key, { id: payment.id, look });
    return looked;
  }

  /** Whether another running server works on a payment. */
  async #isElsewhere({ owner }: Pick<Payment, 'owner'>): Promise<boolean> {
    const { instance } = this.#parts;
    return owner !== null && !isSameInstance(owner, instance) && (await instance.lives(owner));
  }

  /** Whether no request waits for the settlement of a payment that this server has not locked. */
  async #isLeft(payment: Payment): Promise<boolean> {
    return payment.state === 'unknown' || !(await this.#isElsewhere(payment));
  }

  async #begin<T>(id: number, signed: SignedPayment, context: PaymentUse, book: Book<T>): Promise<Resolution<T>> {
    this.#checkExpiry(signed);
    this.#checkTime(signed);
    return this.#parts.networks.use(signed.network, async (connection) => {
      if (!connection || connection.asset !== signed.requirements.asset) {
        throw new PaymentRefused('no_longer_offered', 'Payments in this asset on this network are no longer accepted.');
      }
      if (!connection.isReady) throw unavailableError();
      const payment = this.#paymentOf(id, signed, context, worthOf(connection.policy.rate, signed.amount));
      await this.#verify(payment, signed, connection);
      // No transaction was sent yet, and the operator's gas is not spent for a caller who has disconnected.
      if (context.signal?.aborted) throw unavailableError();
      await this.#insert(payment);
      return this.#send({ signed, payment, book, isFirst: true, signal: context.signal }, connection);
    });
  }

  /** Claims the authorization. A constraint on the payment's row refuses a second server that tries at the same time. */
  async #insert(payment: Payment): Promise<void> {
    const { register } = this.#parts;
    await orNotSent(() =>
      register.begin(payment).catch(async (cause) => {
        const isRefused = cause instanceof StoreError && cause.reason === 'refused';
        const other = isRefused && (await register.table.find(payment));
        throw other ? inFlightError(other.id) : cause;
      }),
    );
  }

  /** Claims a payment that was sent before, on condition that its owner has not changed. */
  async #take(seen: Payment): Promise<Payment> {
    const { register, instance } = this.#parts;
    try {
      return await register.take(seen, nameOf(instance));
    } catch (cause) {
      throw isUnmet(cause) ? inFlightError(seen.id) : unsettledError(seen.id, cause);
    }
  }

  async #verify(payment: Payment, signed: SignedPayment, { network }: NetworkConnection): Promise<void> {
    const verification = await this.#orUnavailable(() => network.facilitator.verify(signed), payment);
    if (!verification.valid) throw refusalError(verification.reason);
  }

  /** Asks the chain about a repeated payment. The payment is sent again only if it still matches its quote. */
  async #retry<T>(known: Payment, signed: SignedPayment, context: PaymentUse, book: Book<T>): Promise<Resolution<T>> {
    const resolved = resolutionOf(known);
    if (resolved) return resolved;
    if (await this.#isElsewhere(known)) throw inFlightError(known.id);
    return this.#parts.networks.use(known.network, async (connection) => {
      if (!connection) throw unsettledError(known.id);
      const current = await this.#resolved(known, connection);
      const now = resolutionOf(current);
      if (now) return now;
      // Without this check, another authorization with the same nonce would be booked as this payment.
      if (!this.#isOf(current, signed)) throw unsettledError(known.id);
      if (!connection.isReady || !this.#hasTime(signed)) throw unsettledError(known.id);
      const { decision, keyId, signal } = context;
      const payment = { ...(await this.#take(current)), decision, keyId };
      return this.#send({ signed, payment, book, isFirst: false, signal }, connection);
    });
  }

  /** Whether a submission has the same terms as the stored payment. */
  #isOf(stored: Payment, { requirements, terms, amount, validBefore }: SignedPayment): boolean {
    const isSameTransfer = stored.amount === amount && stored.payTo === requirements.payTo;
    const isSameRequest = stored.requestMark === this.#parts.seal.mark(terms.requestHash);
    return isSameTransfer && stored.validBefore === validBefore && isSameRequest;
  }

  async #resolved(payment: Payment, { network }: NetworkConnection): Promise<Payment> {
    try {
      return await resolveOutcome(this.#parts, payment, network.chain);
    } catch (cause) {
      if (isTransient(cause)) throw unsettledError(payment.id, cause);
      throw cause;
    }
  }

  async #send<T>(job: SettleJob<T>, connection: NetworkConnection): Promise<Resolution<T>> {
    const { payment, isFirst } = job;
    const { register, now, counts, log } = this.#parts;
    const outcome = await this.#watched(job, connection);
    if (outcome.state === 'captured') return this.#captured(job, outcome.transaction);
    const error = publicReason(outcome.reason);
    if (outcome.state === 'failed' && isFirst) {
      counts.failed(payment);
      await register.fail({ ...payment, state: 'failed', error, updated: now() });
      log.info('a payment has failed', { ...paymentFields(payment), reason: error });
      throw refusalError(error);
    }
    // A failed retry says nothing about the first attempt, so the chain decides.
    const transaction =
      outcome.state === 'unknown' ? (outcome.transaction ?? payment.transaction) : payment.transaction;
    await register.doubt({ ...payment, state: 'unknown', transaction, error, updated: now(), owner: null });
    log.warn('the outcome of a payment is not known yet', { ...paymentFields(payment), reason: error, transaction });
    throw unsettledError(payment.id);
  }

  /**
   * Settles a payment, and records whether the sender of the payment disconnects. Other servers then do not offer the same request to that
   * wallet again.
   */
  async #watched<T>(job: SettleJob<T>, connection: NetworkConnection): Promise<SettleResult> {
    const { signal, payment } = job;
    const { register, now } = this.#parts;
    const leave = () => void register.doubt({ ...payment, state: 'unknown', error: 'sender_gone', updated: now() });
    signal?.addEventListener('abort', leave);
    try {
      return await this.#outcome(job, connection);
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  async #outcome<T>({ signed, payment, isFirst }: SettleJob<T>, { network }: NetworkConnection): Promise<SettleResult> {
    const { register, log } = this.#parts;
    try {
      return await network.facilitator.settle(signed);
    } catch (cause) {
      const detail = messageOf(cause);
      if (!(cause instanceof FacilitatorUnavailable)) {
        log.error('a settlement was interrupted', { ...paymentFields(payment), detail });
        return { state: 'unknown', reason: 'settlement_broke_off', transaction: null };
      }
      log.warn('a payment could not be sent', { ...paymentFields(payment), detail });
      if (!isFirst) {
        // The payment stays without an owner, so that the next request or check can take over the payment.
        await register.take(payment, null).catch(() => {});
        throw unsettledError(payment.id, cause);
      }
      await register.remove(payment);
      throw unavailableError(cause);
    }
  }

  async #captured<T>({ payment, book }: SettleJob<T>, transaction: string): Promise<Resolution<T>> {
    const { register, now, counts, log } = this.#parts;
    const captured: Payment = { ...payment, state: 'captured', transaction, error: null, updated: now() };
    try {
      const booked = await book(captured, [register.table.capture(captured)]);
      register.resolved(captured);
      counts.captured(captured);
      const { paid, fee } = captured;
      const figures = { paid_credits: toCredits(paid), fee_credits: toCredits(fee) };
      log.info('a payment has arrived', { ...paymentFields(captured), ...figures, transaction });
      return { state: 'captured', payment: captured, booked };
    } catch (cause) {
      const detail = messageOf(cause);
      log.error('a payment has arrived but could not be booked: it will be booked from the chain', {
        ...paymentFields(captured),
        detail,
        transaction,
      });
      throw unsettledError(captured.id, cause);
    }
  }

  /** Maps FacilitatorUnavailable to `payment_unavailable`. The error means that no transaction was sent. */
  async #orUnavailable<T>(ask: () => Promise<T>, payment: Payment): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      if (!(cause instanceof FacilitatorUnavailable)) throw cause;
      this.#parts.log.warn('a payment could not be verified', { ...paymentFields(payment), detail: cause.message });
      throw unavailableError(cause);
    }
  }

  #paymentOf(id: number, signed: SignedPayment, { decision, keyId }: PaymentUse, paid: Microcredits): Payment {
    const { terms, requirements, payer, nonce, amount, validBefore, network } = signed;
    const { purpose, fee, bound } = terms;
    const { asset, payTo } = requirements;
    const created = this.#parts.now();
    const requestMark = this.#parts.seal.mark(terms.requestHash);
    const what = { network, asset, payTo, payer, nonce, amount, paid, fee, bound, charged: null };
    const whose = { decision, keyId, quote: terms.id, requestMark, validBefore, transaction: null, error: null };
    const owner = nameOf(this.#parts.instance);
    return { id, state: 'settling', purpose, ...what, ...whose, created, updated: created, owner };
  }

  #checkExpiry({ terms }: SignedPayment): void {
    if (this.#parts.now() < terms.expiresAt) return;
    throw new PaymentRefused('quote_expired', 'The quote has expired. Sign the new quote.');
  }

  /** Checks that an authorization is still valid. No chain checks a proof, so an old proof could otherwise be combined with a new quote. */
  #checkStillValid({ validBefore }: SignedPayment): void {
    if (validBefore * 1_000 > this.#parts.now()) return;
    throw new PaymentRefused('too_little_time', 'The authorization is no longer valid. Sign the new quote.');
  }

  #checkTime({ validBefore }: SignedPayment): void {
    const { policy, now } = this.#parts;
    const marginMs = policy()?.settleMarginMs ?? 0;
    // Payers count in whole seconds, and a payer who signs at once must get the quote's full time.
    if (validBefore >= Math.floor((now() + marginMs) / 1_000)) return;
    const message = `The authorization ends too soon to be settled. It must stay valid for at least ${Math.ceil(marginMs / 1_000)} more seconds.`;
    throw new PaymentRefused('too_little_time', message);
  }

  #hasTime(signed: SignedPayment): boolean {
    try {
      this.#checkExpiry(signed);
      this.#checkTime(signed);
      return true;
    } catch {
      return false;
    }
  }
}

/**
 * Returns a payment that has arrived; null if its outcome is unknown.
 * @throws PaymentRefused for a failed payment
 */
function resolutionOf(payment: Payment): { readonly state: 'known'; readonly payment: Payment } | null {
  if (payment.state === 'captured' || payment.state === 'settled') return { state: 'known', payment };
  if (payment.state !== 'failed') return null;
  throw new PaymentRefused('payment_failed', 'This payment has failed and nothing was charged. Sign a new payment.');
}

/**
 * The chain shows every signature, but not the quote of the signature. A person who only copied the signature must get neither the answer
 * nor the balance.
 * @throws PaymentRefused
 */
export function checkQuote(known: Payment | null, { terms }: SignedPayment): void {
  if (!known || known.quote === terms.id) return;
  throw new PaymentRefused('other_quote', 'This authorization was signed for a different quote. Sign the new quote.');
}

export const authorizationIdOf = ({ network, requirements, payer, nonce }: SignedPayment): AuthorizationId => ({
  network,
  asset: requirements.asset,
  payer,
  nonce,
});

const keyOf = ({ network, asset, payer, nonce }: AuthorizationId): string => `${network} ${asset} ${payer} ${nonce}`;
