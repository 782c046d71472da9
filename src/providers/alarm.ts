import { LinkedSet, type Links } from '../core/linked-set.ts';
import type { Timer, Timers } from '../core/timers.ts';

/** The longest delay that setTimeout accepts, in ms. */
const TIMEOUT_MAX = 2_147_483_647;

/** A call or an exchange with a deadline. */
export interface AlarmOwner {
  /** Called when the time of its alarm has come. */
  onDeadline(): void;
}

/**
 * The alarms of an application that are set. All share one timer: most are cleared long before they ring, so that setting one
 * costs hardly more than noting its time. State: alarms.
 */
export class Alarms {
  readonly timers: Timers;
  readonly #set = new LinkedSet<DeadlineAlarm>();
  /** When the timer fires, ms on performance.now's clock; Infinity while it is not set. */
  #firesAt = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;

  constructor(timers: Timers) {
    this.timers = timers;
  }

  /** For an alarm. @param isNew whether it was not set before */
  set(alarm: DeadlineAlarm, isNew: boolean): void {
    if (isNew) this.#set.add(alarm);
    if (alarm.at < this.#firesAt) this.#sleep(alarm.at);
  }

  /** For an alarm. */
  remove(alarm: DeadlineAlarm): void {
    this.#set.remove(alarm);
  }

  #sleep(until: number): void {
    this.#timer?.close();
    const now = performance.now();
    const ms = Math.min(Math.max(0, Math.ceil(until - now)), TIMEOUT_MAX);
    this.#firesAt = now + ms;
    this.#timer = this.timers.after(ms, this.#wake);
    // It may outlive the last alarm, and must not keep the process.
    this.#timer.unref();
  }

  /** Rings all that are due, and sleeps until the next. The timer often fires in vain: clearing an alarm leaves it as it is. */
  readonly #wake = (): void => {
    this.#timer = null;
    this.#firesAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    const due: DeadlineAlarm[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const alarm of this.#set.all()) {
      if (alarm.at <= now) due.push(alarm);
      else next = Math.min(next, alarm.at);
    }
    if (next < Number.POSITIVE_INFINITY) this.#sleep(next);
    // One that rings may clear another.
    for (const alarm of due) if (alarm.at <= now) alarm.ring();
  };
}

/** An alarm for the deadlines of a call or an exchange, set again before each wait. */
export class DeadlineAlarm implements Links<DeadlineAlarm> {
  before: DeadlineAlarm | null = null;
  after: DeadlineAlarm | null = null;
  /** When it rings, ms on performance.now's clock; Infinity while it is not set. */
  at = Number.POSITIVE_INFINITY;
  readonly #owner: AlarmOwner;
  readonly #alarms: Alarms;
  #isSet = false;

  constructor(owner: AlarmOwner, alarms: Alarms) {
    this.#owner = owner;
    this.#alarms = alarms;
  }

  /** Rings at `at` (ms on performance.now's clock) instead of the time set before. */
  set(at: number): void {
    const isNew = !this.#isSet;
    this.#isSet = true;
    this.at = at;
    this.#alarms.set(this, isNew);
  }

  clear(): void {
    if (!this.#isSet) return;
    this.#isSet = false;
    this.at = Number.POSITIVE_INFINITY;
    this.#alarms.remove(this);
  }

  /** Ends the alarm: its time has come. */
  ring(): void {
    this.clear();
    this.#owner.onDeadline();
  }
}
