import { HOUR_MS, MINUTE_MS } from '../core/time/clock.ts';
import type { Timer } from '../core/time/timers.ts';
import { isSameInstance } from '../store/instance.ts';
import type { Payment } from '../store/payments.ts';
import type { PaymentParts } from './parts.ts';
import { isTransient } from './refusals.ts';
import { paymentFields } from './resolve-outcome.ts';
import type { Settlements } from './settlements.ts';

/** The longest pause between two checks of a payment, ms. */
const PAUSE_MAX_MS = MINUTE_MS;
/** How long after the authorization's expiry an unresolved payment is reported, ms. */
const OVERDUE_MS = HOUR_MS;

const NETWORK_GONE = 'a network that is no longer in the policy has payments that are not settled';
const OVERDUE = 'the chain has no outcome for a payment that expired long ago';

/** The next check of a payment, by the clock of `now`. */
interface NextCheck {
  readonly at: number;
  readonly pauseMs: number;
}

/**
 * Asks the chain periodically about payments with an unknown outcome. The reconciler checks this server's payments that no request is
 * working on; the leader also checks payments without an owner. State: payment checks.
 */
export class Reconciler {
  readonly #parts: PaymentParts;
  readonly #settlements: Settlements;
  readonly #everyMs: number;
  readonly #nextChecks = new Map<number, NextCheck>();
  /** Payments and networks that were already reported to the operator. */
  readonly #reported = new Set<number | string>();
  readonly #busy = new Set<string>();
  #timer: Timer | null = null;
  #isStopped = false;

  /** @param everyMs the time between two rounds, ms */
  constructor(parts: PaymentParts, settlements: Settlements, everyMs: number) {
    this.#parts = parts;
    this.#settlements = settlements;
    this.#everyMs = everyMs;
  }

  /** Starts the rounds. A second call, and a call after a stop, does nothing. */
  start(): void {
    if (this.#isStopped) return;
    this.#timer ??= this.#parts.timers.every(this.#everyMs, () => void this.#round());
    this.#timer.unref();
  }

  stop(): void {
    this.#timer?.close();
    this.#isStopped = true;
  }

  /** Checks networks independently, because a slow network must not delay the others. */
  async #round(): Promise<void> {
    const { register, now, lead, instance } = this.#parts;
    // If the register cannot be read, the known payments are checked.
    await register.refresh().catch(() => {});
    const payments = [...register.unsettled()];
    const ids = new Set(payments.map(({ id }) => id));
    for (const id of this.#nextChecks.keys()) if (!ids.has(id)) this.#nextChecks.delete(id);
    // The leader also checks payments whose server no longer runs.
    const isMine = ({ owner }: Payment) => lead.isHeld || (owner !== null && isSameInstance(owner, instance));
    const due = payments.filter((one) => isMine(one) && (this.#nextChecks.get(one.id)?.at ?? 0) <= now());
    for (const [network, some] of Map.groupBy(due, ({ network }) => network)) {
      if (!this.#busy.has(network)) void this.#checkAll(network, some);
    }
  }

  /** Checks the payments one after the other. Never rejects. */
  async #checkAll(network: string, payments: readonly Payment[]): Promise<void> {
    this.#busy.add(network);
    for (const payment of payments) {
      if (this.#isStopped) break;
      await this.#check(payment);
    }
    this.#busy.delete(network);
  }

  async #check(payment: Payment): Promise<void> {
    const { networks, log } = this.#parts;
    try {
      await networks.use(payment.network, async (connection) => {
        if (connection?.isReady) this.#reschedule(await this.#settlements.reconcile(payment, connection));
        else if (!connection) this.#reportOnce(payment.network, NETWORK_GONE, payment);
      });
    } catch (cause) {
      if (!isTransient(cause)) {
        log.error('the outcome of a payment could not be checked', {
          ...paymentFields(payment),
          detail: String(cause),
        });
      }
      this.#reschedule(payment);
    }
  }

  #reschedule(payment: Payment | null): void {
    if (payment?.state !== 'settling' && payment?.state !== 'unknown') return;
    const { id, validBefore } = payment;
    const { now } = this.#parts;
    const pauseMs = Math.min((this.#nextChecks.get(id)?.pauseMs ?? this.#everyMs / 2) * 2, PAUSE_MAX_MS);
    this.#nextChecks.set(id, { at: now() + pauseMs, pauseMs });
    if (now() > validBefore * 1_000 + OVERDUE_MS) {
      this.#reportOnce(id, OVERDUE, payment);
    }
  }

  #reportOnce(about: number | string, message: string, payment: Payment): void {
    if (this.#reported.has(about)) return;
    this.#reported.add(about);
    this.#parts.log.error(message, paymentFields(payment));
  }
}
