import { backoffMs } from './backoff.ts';
import { Lockout, type LockPass } from './lockout.ts';
import { ShareWindow } from './share-window.ts';

/** The number of consecutive faults that open the breaker. */
const FAULTS_IN_A_ROW = 5;
/** The share of faults among the outcomes in the window that also opens the breaker, if there are enough outcomes. */
const FAULT_SHARE = 0.5;
const OUTCOMES_MIN = 20;
/** The share by which an ejection is randomly longer or shorter, so that several gateways do not probe at the same time. */
export const JITTER = 0.2;
/** After this many complete answers, or this time, without a fault, the next ejection of the endpoint is as short as the first. */
const GOOD_RUN = 10;
const GOOD_MS = 60_000;

/** The conditions under which a breaker opens, and the current counts. */
export interface BreakerTerms {
  readonly faultsInARow: number;
  readonly faultsInARowMax: number;
  /** The number of faults in the last 10 s. */
  readonly faults: number;
  readonly answers: number;
  readonly faultShareMax: number;
  readonly answersMin: number;
  /** Whether the breaker is open or half-open; it closes with the first answer. */
  readonly isOpen: boolean;
}

/** The reason for an ejection and its duration. */
interface Ejection {
  readonly why: string;
  /** The time before a probe may begin, in ms. */
  readonly ms: number;
}

/**
 * A circuit breaker: closed, open, or half-open, when its time is over and one attempt may probe. The breaker counts complete answers and
 * faults. The first part of an answer only proves that the endpoint is up, not that it works.
 */
export class Breaker {
  /**
   * A locked breaker is open or half-open. The epoch distinguishes attempts that began before an ejection from attempts that began after
   * it.
   */
  readonly lock = new Lockout();
  readonly #random: () => number;
  readonly #window = new ShareWindow();
  /** The number of ejections since the last recovery, which determines the length of the next ejection. */
  #level = 0;
  #consecutiveFaults = 0;
  #goodRun = 0;
  /** Whether the first content closed the breaker but no complete answer has followed. */
  #isUnproven = false;
  /** The time of the last fault, or of the closing after it. */
  #quietSince = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  termsAt(now: number): BreakerTerms {
    const { total, part: faults } = this.#window.sums(now);
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

  /** Records the first content of an attempt. Returns true if the first content closed the breaker. */
  answered(pass: LockPass, now: number): boolean {
    // An attempt that began before the ejection is out of date, because the endpoint has failed since.
    if (!this.lock.locked || !this.lock.isCurrent(pass)) return false;
    // Attempts that Signalbox forced while the breaker was open no longer count.
    this.lock.forget();
    this.#window.clear();
    // Until the first complete answer, a single fault opens the breaker again.
    this.#isUnproven = true;
    this.#consecutiveFaults = 0;
    this.#goodRun = 0;
    this.#quietSince = now;
    return true;
  }

  /** Records the complete answer of an attempt for which the caller has already called `answered`. */
  completed(pass: LockPass, now: number): void {
    if (this.lock.locked || !this.lock.isCurrent(pass)) return;
    this.#isUnproven = false;
    this.#consecutiveFaults = 0;
    this.#window.add(now, 0);
    if (this.#level > 0 && ++this.#goodRun >= GOOD_RUN) this.#level = 0;
  }

  /** Records a fault. Returns the ejection that it causes, or null. */
  failed(pass: LockPass, now: number): Ejection | null {
    // While the breaker is open, only the probe counts. Failures of forced attempts would otherwise keep the breaker open forever.
    if (this.lock.locked) return this.lock.isProbe(pass) ? this.#open(now, 'the probe failed') : null;
    if (!this.lock.isCurrent(pass)) return null;
    if (now - this.#quietSince >= GOOD_MS) this.#level = 0;
    this.#quietSince = now;
    this.#goodRun = 0;
    this.#consecutiveFaults++;
    this.#window.add(now, 1);
    const { total, part: faults } = this.#window.sums(now);
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
