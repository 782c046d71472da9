import { backoffMs } from './backoff.ts';
import { Lockout } from './lockout.ts';
import { OutcomeWindow } from './outcome-window.ts';

/** So many faults in a row open the breaker. */
const FAULTS_IN_A_ROW = 5;
/** So do faults that are this share of the outcomes of the window, once there are enough of them. */
const FAULT_SHARE = 0.5;
const OUTCOMES_MIN = 20;
/** An ejection is up to this share longer or shorter, so that gateways and endpoints do not probe in step. */
export const JITTER = 0.2;
/** So many whole answers without a fault between them, or this time without one, and ejections begin at the shortest again. */
const GOOD_RUN = 10;
const GOOD_MS = 60_000;

/** A breaker that opened. */
export interface Ejection {
  readonly why: string;
  /** How long it lasts before a probe may begin. */
  readonly ms: number;
}

/**
 * Closed, open, or half-open: open and its time is up, so that one attempt may probe. What counts is
 * whole answers and faults; a first part alone proves that the endpoint lives, not that it works.
 */
export class Breaker {
  /** Locked means open or half-open. Its epoch tells attempts from before an ejection from those after. */
  readonly lock = new Lockout();
  readonly #random: () => number;
  readonly #window = new OutcomeWindow();
  /** How often it opened since it was last well: the next ejection's level. */
  #level = 0;
  #inARow = 0;
  #goodRun = 0;
  /** Closed because content came, and no whole answer yet. */
  #isUnproven = false;
  /** When it closed, or had a fault since. */
  #quietSince = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The first content of an attempt came. True when that closed the breaker. */
  answered(epoch: number, now: number): boolean {
    // Attempts that began before the ejection are late news: the endpoint has failed since.
    if (!this.lock.locked || epoch !== this.lock.epoch) return false;
    // What was forced through while it was open is late news from now on.
    this.lock.forget();
    this.#window.clear();
    // Without a whole answer in between, the next fault opens it again.
    this.#isUnproven = true;
    this.#inARow = 0;
    this.#goodRun = 0;
    this.#quietSince = now;
    return true;
  }

  /** An attempt that `answered` ended well. */
  completed(epoch: number, now: number): void {
    if (this.lock.locked || epoch !== this.lock.epoch) return;
    this.#isUnproven = false;
    this.#inARow = 0;
    this.#window.add(now, false);
    if (this.#level > 0 && ++this.#goodRun >= GOOD_RUN) this.#level = 0;
  }

  /** An attempt ended in a fault. Why and for how long the endpoint is ejected now; null for not, or not because of it. */
  failed(epoch: number, turn: number, now: number): Ejection | null {
    // While it is open only the probe is heard: attempts that were forced through would keep it open for ever.
    if (this.lock.locked) return this.lock.isProbe(turn) ? this.#open(now, 'the probe failed') : null;
    if (epoch !== this.lock.epoch) return null;
    if (now - this.#quietSince >= GOOD_MS) this.#level = 0;
    this.#quietSince = now;
    this.#goodRun = 0;
    this.#inARow++;
    this.#window.add(now, true);
    const { total, faults } = this.#window;
    if (this.#isUnproven) return this.#open(now, 'the first answer after an ejection failed');
    if (this.#inARow >= FAULTS_IN_A_ROW) return this.#open(now, `${this.#inARow} faults in a row`);
    if (total < OUTCOMES_MIN || faults < FAULT_SHARE * total) return null;
    return this.#open(now, `${faults} of ${total} answers failed`);
  }

  #open(now: number, why: string): Ejection {
    const ms = backoffMs(this.#level++) * (1 - JITTER + 2 * JITTER * this.#random());
    this.#isUnproven = false;
    this.lock.lock(now, ms);
    return { why, ms };
  }
}
