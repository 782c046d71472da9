import { LinkedSet, type Links } from '../core/linked-set.ts';
import type { Timer, Timers } from '../core/time/timers.ts';
import { Turns } from '../host/turns.ts';

/** The longest delay that setTimeout accepts, in ms. */
const TIMEOUT_MAX = 2_147_483_647;

/** A call or an exchange with a deadline. */
export interface AlarmOwner {
  /** Called when the time of the alarm has come. */
  onDeadline(): void;
}

/**
 * The pending alarms of an application. All alarms share one timer: most alarms are cleared long before they are due, so setting an alarm
 * costs little more than noting its time. State: alarms.
 */
export class Alarms {
  readonly timers: Timers;
  /** The turns of long work, which all requests share. */
  readonly turns = new Turns();
  readonly #set = new LinkedSet<DeadlineAlarm>();
  /** The time at which the timer fires, in ms of performance.now; Infinity if it is not set. */
  #firesAt = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;

  constructor(timers: Timers) {
    this.timers = timers;
  }

  /** Adds or moves an alarm; only `DeadlineAlarm` calls this. @param isNew whether the alarm was not set before */
  set(alarm: DeadlineAlarm, isNew: boolean): void {
    if (isNew) this.#set.add(alarm);
    if (alarm.at < this.#firesAt) this.#sleep(alarm.at);
  }

  /** Removes an alarm; only `DeadlineAlarm` calls this. */
  remove(alarm: DeadlineAlarm): void {
    this.#set.remove(alarm);
  }

  #sleep(until: number): void {
    this.#timer?.close();
    const now = performance.now();
    const ms = Math.min(Math.max(0, Math.ceil(until - now)), TIMEOUT_MAX);
    this.#firesAt = now + ms;
    this.#timer = this.timers.after(ms, this.#wake);
    // The timer may outlive the last alarm, and must not keep the process alive.
    this.#timer.unref();
  }

  /**
   * Rings all alarms that are due, and sets the timer for the next one. The timer often fires without a due alarm, because clearing an
   * alarm does not change the timer.
   */
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
    // An alarm that rings may clear another alarm.
    for (const alarm of due) if (alarm.at <= now) alarm.ring();
  };
}

/** An alarm for the deadlines of a call or an exchange. The call sets its alarm again before each wait. */
export class DeadlineAlarm implements Links<DeadlineAlarm> {
  before: DeadlineAlarm | null = null;
  after: DeadlineAlarm | null = null;
  /** The time at which the alarm rings, in ms of performance.now; Infinity if it is not set. */
  at = Number.POSITIVE_INFINITY;
  readonly #owner: AlarmOwner;
  readonly #alarms: Alarms;
  #isSet = false;

  constructor(owner: AlarmOwner, alarms: Alarms) {
    this.#owner = owner;
    this.#alarms = alarms;
  }

  /** Sets the alarm to `at` (ms of performance.now) and replaces the previous time. */
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

  /** Clears the alarm and calls its owner, because its time has come. */
  ring(): void {
    this.clear();
    this.#owner.onDeadline();
  }
}
