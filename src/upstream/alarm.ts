import { LinkedSet, type Links } from '../core/linked-set.ts';

/** The longest delay that setTimeout accepts, in ms. */
const TIMEOUT_MAX = 2_147_483_647;

/** The alarms that are set, of the whole process. */
const alarms = new LinkedSet<DeadlineAlarm>();
/** When the one timer of all alarms fires, ms on performance.now's clock; Infinity while it is not set. */
let firesAt = Number.POSITIVE_INFINITY;
let timer: ReturnType<typeof setTimeout> | null = null;

/** A call or an exchange with a deadline. */
export interface AlarmOwner {
  /** Called when the time of its alarm has come. */
  onDeadline(): void;
}

/**
 * An alarm for the deadlines of a call or an exchange, set again before each wait. All alarms share one timer: most are cleared
 * long before they ring, so that setting one costs hardly more than noting its time.
 */
export class DeadlineAlarm implements Links<DeadlineAlarm> {
  before: DeadlineAlarm | null = null;
  after: DeadlineAlarm | null = null;
  /** When it rings, ms on performance.now's clock; Infinity while it is not set. */
  at = Number.POSITIVE_INFINITY;
  readonly #owner: AlarmOwner;
  #isSet = false;

  constructor(owner: AlarmOwner) {
    this.#owner = owner;
  }

  /** Rings at `at` (ms on performance.now's clock) instead of the time set before. */
  set(at: number): void {
    if (!this.#isSet) alarms.add(this);
    this.#isSet = true;
    this.at = at;
    if (at < firesAt) sleep(at);
  }

  clear(): void {
    if (!this.#isSet) return;
    this.#isSet = false;
    this.at = Number.POSITIVE_INFINITY;
    alarms.remove(this);
  }

  /** Ends the alarm: its time has come. */
  ring(): void {
    this.clear();
    this.#owner.onDeadline();
  }
}

function sleep(until: number): void {
  if (timer !== null) clearTimeout(timer);
  const now = performance.now();
  const ms = Math.min(Math.max(0, Math.ceil(until - now)), TIMEOUT_MAX);
  firesAt = now + ms;
  timer = setTimeout(wake, ms);
  // It may outlive the last alarm, and must not keep the process.
  timer.unref();
}

/** Rings all that are due, and sleeps until the next. The timer often fires in vain: clearing an alarm leaves it as it is. */
function wake(): void {
  timer = null;
  firesAt = Number.POSITIVE_INFINITY;
  const now = performance.now();
  const due: DeadlineAlarm[] = [];
  let next = Number.POSITIVE_INFINITY;
  for (const alarm of alarms.all()) {
    if (alarm.at <= now) due.push(alarm);
    else next = Math.min(next, alarm.at);
  }
  if (next < Number.POSITIVE_INFINITY) sleep(next);
  // One that rings may clear another.
  for (const alarm of due) if (alarm.at <= now) alarm.ring();
}
