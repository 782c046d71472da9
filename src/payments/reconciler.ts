import type { Log } from '../telemetry/log.ts';
import { fieldsOf } from './judge.ts';
import type { Networks } from './networks.ts';
import type { Payment } from './payment.ts';
import { isPassing } from './refusals.ts';
import type { Register } from './register.ts';
import type { Settlements } from './settlements.ts';

/** The longest pause between two looks at one payment, ms. */
const PAUSE_MAX_MS = 60_000;
/** So long after an authorization has expired the chain must be able to tell, ms. */
const OVERDUE_MS = 3_600_000;

const NETWORK_GONE = 'payments are not settled yet on a network that the policy no longer has';
const OVERDUE = 'the chain does not tell what became of a payment that has long expired';

export interface ReconcilerOptions {
  readonly register: Register;
  readonly networks: Networks;
  readonly settlements: Settlements;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Log;
  /** Between two rounds, ms. */
  readonly everyMs: number;
}

/** When a payment is looked at next, by the clock of `now`. */
interface Turn {
  readonly at: number;
  readonly pauseMs: number;
}

/** Asks the chain, again and again, about payments that nobody works on and that it is not known what became of. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #turns = new Map<number, Turn>();
  /** What the operator was told of, once each: payments, and networks. */
  readonly #told = new Set<number | string>();
  /** Networks that are being asked. */
  readonly #busy = new Set<string>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #isStopped = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Harmless when it has begun, or was stopped. */
  start(): void {
    if (this.#isStopped) return;
    this.#timer ??= setInterval(() => this.#round(), this.#options.everyMs);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#isStopped = true;
  }

  /** One network that is slow to answer must not keep the others waiting. */
  #round(): void {
    const { register, now } = this.#options;
    const payments = [...register.unsettled()];
    const ids = new Set(payments.map(({ id }) => id));
    for (const id of this.#turns.keys()) if (!ids.has(id)) this.#turns.delete(id);
    const due = payments.filter(({ id }) => (this.#turns.get(id)?.at ?? 0) <= now());
    for (const [network, some] of Map.groupBy(due, ({ network }) => network)) {
      if (!this.#busy.has(network)) void this.#lookAt(network, some);
    }
  }

  /** At one after the other. Never rejects. */
  async #lookAt(network: string, payments: readonly Payment[]): Promise<void> {
    this.#busy.add(network);
    for (const payment of payments) {
      if (this.#isStopped) break;
      await this.#look(payment);
    }
    this.#busy.delete(network);
  }

  async #look(payment: Payment): Promise<void> {
    const { networks, settlements, log } = this.#options;
    try {
      await networks.use(payment.network, async (place) => {
        if (place?.isReady) this.#later(await settlements.look(payment, place));
        else if (!place) this.#tell(payment.network, NETWORK_GONE, payment);
      });
    } catch (cause) {
      if (!isPassing(cause)) {
        log.error('a payment could not be looked after', { ...fieldsOf(payment), detail: String(cause) });
      }
      this.#later(payment);
    }
  }

  #later(payment: Payment | null): void {
    if (payment?.state !== 'settling' && payment?.state !== 'unknown') return;
    const { id, validBefore } = payment;
    const { now, everyMs } = this.#options;
    const pauseMs = Math.min((this.#turns.get(id)?.pauseMs ?? everyMs / 2) * 2, PAUSE_MAX_MS);
    this.#turns.set(id, { at: now() + pauseMs, pauseMs });
    if (now() > validBefore * 1_000 + OVERDUE_MS) {
      this.#tell(id, OVERDUE, payment);
    }
  }

  #tell(about: number | string, message: string, payment: Payment): void {
    if (this.#told.has(about)) return;
    this.#told.add(about);
    this.#options.log.error(message, fieldsOf(payment));
  }
}
