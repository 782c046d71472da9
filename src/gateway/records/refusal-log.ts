import { type ByteHold, ByteRoom } from '../../core/byte-room.ts';
import type { RefusalRecord } from '../../core/decision/refusal.ts';
import { DAY_MS, MINUTE_MS } from '../../core/time/clock.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import { totalBy } from '../../host/telemetry/counts.ts';
import type { Family } from '../../host/telemetry/families.ts';
import type { RecordLog } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/**
 * How many refusals of a user, or of a line of keys without a user, are stored one by one in a minute. The rest of the minute is stored as
 * numbers, one record for each key and error code.
 */
export const REFUSALS_A_MINUTE = 60;
/**
 * The most records in a day (UTC). All callers share them, and also the queue and the numbers of a minute: each caller gets at most half of
 * what the others leave. A single caller that is refused all day has less than half.
 */
export const REFUSALS_A_DAY = 200_000;
/** The most refusals that wait for the store. */
const QUEUE_MAX = 1_000;
/** The most keys and codes that are counted in a minute. The queue has room for all of them. */
const COUNTED_MAX = 1_000;
/** The most refusals that are written together, so that a hold in the same transaction waits at most a few milliseconds for them. */
const BATCH = 50;
/** How long refusals wait for more refusals, ms. */
const WRITE_MS = 200;
/** The most callers of a minute whose refusals are stored one by one. */
const CALLERS_MAX = 10_000;

interface RefusalLogOptions {
  readonly store: Pick<Store, 'commit'>;
  readonly log: Pick<RecordLog, 'refuse'>;
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A refusal, or a number of refusals, with its share of the queue or of the numbers of a minute. */
interface SharedRefusal {
  readonly refusal: RefusalRecord;
  readonly caller: string;
  readonly hold: ByteHold;
}

/**
 * Stores refusals after their answers were sent. No request waits for the store: if the store is full or slow, refusals are dropped and
 * counted. State: refusals.
 */
export class RefusalLog {
  readonly #options: RefusalLogOptions;
  readonly #ends = { stored: 0, dropped: 0 };
  #minute = 0;
  /** How many refusals of each caller were queued in this minute. */
  readonly #queuedOf = new Map<string, number>();
  /** The refusals of this minute that are only counted, by key, code and the actions of guards. */
  readonly #rest = new Map<string, SharedRefusal>();
  #restTimer: Timer | null = null;
  #queue: SharedRefusal[] = [];
  /** How callers share the queue, the numbers of this minute, and the records of this day. Each record counts as a byte. */
  readonly #queued = new ByteRoom();
  readonly #counted = new ByteRoom();
  #today = new ByteRoom();
  #writeTimer: Timer | null = null;
  #writing: Promise<void> | null = null;

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /** How many answers were stored, also as a number, and how many were dropped. */
  get ends(): Readonly<Record<'stored' | 'dropped', number>> {
    return this.#ends;
  }

  /**
   * Adds a refusal of one request. Refusals without a key are only counted.
   * @param root the top key of the key's line. All keys of a user, or of a line without a user, share the limits.
   */
  add(refusal: RefusalRecord, root = refusal.keyId): void {
    const minute = Math.floor(refusal.time / MINUTE_MS);
    if (minute !== this.#minute) this.#beginMinute(minute);
    const { keyId, user } = refusal;
    const caller = user === null ? `line ${root}` : `user ${user}`;
    const queued = this.#queuedOf.get(caller) ?? 0;
    const isFull = queued >= REFUSALS_A_MINUTE || this.#queuedOf.size >= CALLERS_MAX;
    if (keyId === '' || isFull || !this.#today.fits(caller, 1, REFUSALS_A_DAY)) this.#count(refusal, caller);
    else {
      this.#queuedOf.set(caller, queued + 1);
      this.#enqueue(refusal, caller);
    }
  }

  /** Writes the refusals that were added so far, except numbers of the current minute, so that lists have them. Never rejects. */
  async flush(): Promise<void> {
    for (let left = this.#queue.length; left > 0; left -= BATCH) {
      await this.#writing;
      this.#write();
    }
    await this.#writing;
  }

  /** Writes everything, also the numbers of the current minute. */
  async close(): Promise<void> {
    this.#endMinute();
    await this.flush();
  }

  #count(refusal: RefusalRecord, caller: string): void {
    const name = `${refusal.keyId} ${refusal.code} ${actionsOf(refusal)}`;
    const counted = this.#rest.get(name);
    if (counted) {
      const { answers } = counted.refusal;
      this.#rest.set(name, { ...counted, refusal: { ...counted.refusal, answers: answers + 1 } });
      return;
    }
    const hold = this.#counted.hold(caller);
    if (hold.take(1, COUNTED_MAX)) this.#rest.set(name, { refusal: { ...refusal, ...OF_MANY }, caller, hold });
    else this.#ends.dropped++;
    this.#awaitMinute();
  }

  /** Ends the minute when it is over. A timer may fire before the clock has reached the next minute. */
  #awaitMinute(): void {
    if (this.#restTimer || this.#rest.size === 0) return;
    const { timers, now } = this.#options;
    this.#restTimer = timers.after(MINUTE_MS - (now() % MINUTE_MS), () => {
      this.#restTimer = null;
      if (Math.floor(now() / MINUTE_MS) === this.#minute) this.#awaitMinute();
      else this.#endMinute();
    });
    this.#restTimer.unref();
  }

  #endMinute(): void {
    this.#restTimer?.close();
    this.#restTimer = null;
    const rest = [...this.#rest.values()];
    this.#rest.clear();
    this.#queuedOf.clear();
    for (const { refusal, caller, hold } of rest) {
      hold.leave();
      this.#enqueue(refusal, caller);
    }
  }

  #beginMinute(minute: number): void {
    this.#endMinute();
    const dayOf = (at: number) => Math.floor((at * MINUTE_MS) / DAY_MS);
    if (dayOf(minute) !== dayOf(this.#minute)) this.#today = new ByteRoom();
    this.#minute = minute;
  }

  #enqueue(refusal: RefusalRecord, caller: string): void {
    const hold = this.#queued.hold(caller);
    const hasRoom = this.#queued.fits(caller, 1, QUEUE_MAX) && this.#today.fits(caller, 1, REFUSALS_A_DAY);
    if (!hasRoom) {
      this.#ends.dropped += refusal.answers;
      return;
    }
    hold.take(1, QUEUE_MAX);
    this.#today.hold(caller).take(1, REFUSALS_A_DAY);
    this.#queue.push({ refusal, caller, hold });
    if (!this.#writing) this.#writeTimer ??= this.#options.timers.after(WRITE_MS, () => this.#write());
    this.#writeTimer?.unref();
  }

  /** Writes the next batch, and then all further batches. Only one batch is with the store at a time. */
  #write(): void {
    this.#writeTimer?.close();
    this.#writeTimer = null;
    if (this.#writing || this.#queue.length === 0) return;
    const { store, log } = this.#options;
    const batch = this.#queue.splice(0, BATCH);
    const writes = batch.map(async ({ refusal, hold }) => {
      hold.leave();
      try {
        // Each refusal is its own commit, so that the store writes them together but refuses them one by one.
        await store.commit([log.refuse(refusal)]);
        this.#ends.stored += refusal.answers;
      } catch {
        this.#ends.dropped += refusal.answers;
      }
    });
    this.#writing = Promise.all(writes).then(() => {
      this.#writing = null;
      this.#write();
    });
  }
}

/** The actions of the guards of a refusal. Refusals that are counted together have the same ones, so that counts by guard are exact. */
const actionsOf = ({ guards = [], guardedBy = [] }: RefusalRecord): string =>
  [...guards.map(({ guard, side, action }) => `${guard}/${side}:${action}`), ...guardedBy].join(' ');

/** The facts in which several refusals can differ. */
const OF_MANY = {
  model: '',
  operation: null,
  reason: '',
  session: null,
  status: null,
  dialect: null,
  method: '',
  route: '',
  decision: null,
} as const;

/** The metric that counts what became of refusals. */
export const refusalFamilies = ({ ends }: Pick<RefusalLog, 'ends'>): readonly Family[] => [
  totalBy(
    'signalbox_refusals_total',
    'Answers with a status from 400 up that have no decision record, by whether their record was stored, or dropped because the database was full or slow or a limit of the log was reached.',
    'end',
    () => Object.entries(ends),
  ),
];
