import { backoffMs } from './backoff.ts';
import { Lockout, type LockPass } from './lockout.ts';
import { OutcomeWindow } from './outcome-window.ts';

/** Consecutive faults that open the breaker. */
const FAULTS_IN_A_ROW = 5;
/** This share of faults in the window opens it too, given enough outcomes. */
const FAULT_SHARE = 0.5;
const OUTCOMES_MIN = 20;
/** An ejection is up to this share longer or shorter, so that gateways do not probe in step. */
export const JITTER = 0.2;
/** After this many complete answers, or this time, without a fault, ejections start at the shortest again. */
const GOOD_RUN = 10;
const GOOD_MS = 60_000;

/** When a breaker opens, and how near it is. */
export interface BreakerTerms {
  readonly faultsInARow: number;
  readonly faultsInARowMax: number;
  /** Of the last 10 s. */
  readonly faults: number;
  readonly answers: number;
  readonly faultShareMax: number;
  readonly answersMin: number;
  /** Open or half-open: it closes with the first answer. */
  readonly isOpen: boolean;
}

/** Why and for how long the breaker opened. */
interface Ejection {
  readonly why: string;
  /** Time before a probe may begin. */
  readonly ms: number;
}

/**
 * A circuit breaker: closed, open, or half-open, when its time is up and one attempt may probe. It counts complete
 * answers and faults: a first part alone proves that the endpoint is up, not that it works.
 */
export class Breaker {
  /** Locked means open or half-open. Its epoch separates attempts from before an ejection from later ones. */
  readonly lock = new Lockout();
  readonly #random: () => number;
  readonly #window = new OutcomeWindow();
  /** Ejections since it last recovered: the next ejection's level. */
  #level = 0;
  #consecutiveFaults = 0;
  #goodRun = 0;
  /** Closed by first content; no complete answer yet. */
  #isUnproven = false;
  /** Time of the last fault, or of the closing after it. */
  #quietSince = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  termsAt(now: number): BreakerTerms {
    const { total, faults } = this.#window.sums(now);
    return {
      faultsInARow: this.#consecutiveFaults,
      faultsInARowMax: FAULTS_IN_A_ROW,
      faults,
      answers: total,
      faultShareMax: FAULT_SHARE,
      answersMin: OUTCOMES_MIN,
      isOpen: this.lock.locked,
    };
  }

  /** Records the first content of an attempt. Returns true if that closed the breaker. */
  answered(pass: LockPass, now: number): boolean {
    // Attempts from before the ejection are out of date: the endpoint has failed since.
    if (!this.lock.locked || !this.lock.isCurrent(pass)) return false;
    // Attempts forced through while it was open are out of date from now on.
    this.lock.forget();
    this.#window.clear();
    // Before the first complete answer, one fault opens it again.
    this.#isUnproven = true;
    this.#consecutiveFaults = 0;
    this.#goodRun = 0;
    this.#quietSince = now;
    return true;
  }

  /** Records the complete answer of an attempt that `answered`. */
  completed(pass: LockPass, now: number): void {
    if (this.lock.locked || !this.lock.isCurrent(pass)) return;
    this.#isUnproven = false;
    this.#consecutiveFaults = 0;
    this.#window.add(now, false);
    if (this.#level > 0 && ++this.#goodRun >= GOOD_RUN) this.#level = 0;
  }

  /** Records a fault. Returns the ejection that it causes, or null. */
  failed(pass: LockPass, now: number): Ejection | null {
    // While it is open only the probe counts: forced attempts would keep it open for ever.
    if (this.lock.locked) return this.lock.isProbe(pass) ? this.#open(now, 'the probe failed') : null;
    if (!this.lock.isCurrent(pass)) return null;
    if (now - this.#quietSince >= GOOD_MS) this.#level = 0;
    this.#quietSince = now;
    this.#goodRun = 0;
    this.#consecutiveFaults++;
    this.#window.add(now, true);
    const { total, faults } = this.#window.sums(now);
    if (this.#isUnproven) return this.#open(now, 'the first request after an ejection failed');
    if (this.#consecutiveFaults >= FAULTS_IN_A_ROW)
      return this.#open(now, `${this.#consecutiveFaults} faults in a row`);
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
