import type { Refusal } from '../../core/decision/refusal.ts';
import { MINUTE_MS } from '../../core/time/clock.ts';
import type { Timer, Timers } from '../../core/time/timers.ts';
import { totalBy } from '../../host/telemetry/counts.ts';
import type { Family } from '../../host/telemetry/families.ts';
import type { RecordLog } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';

/**
 * How many refusals of a line of keys are stored one by one in a minute. The rest of the minute is stored as a number, one record for each error code.
 */
export const REFUSALS_A_MINUTE = 60;
/** The most refusals that wait for the store. */
const QUEUE_MAX = 1_000;
/** The most refusals that are written together, so that a hold in the same transaction waits at most a few milliseconds for them. */
const BATCH = 50;
/** How long refusals wait for more refusals, ms. */
const WRITE_MS = 200;
/** The most keys, and the most pairs of key and code, that are counted in a minute. */
const COUNTED_MAX = 10_000;

interface RefusalLogOptions {
  readonly store: Pick<Store, 'commit'>;
  readonly log: Pick<RecordLog, 'refuse'>;
  readonly timers: Timers;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Stores refusals after their answers were sent. No request waits for the store: if the store is full or slow, refusals are dropped and
 * counted. State: refusals.
 */
export class RefusalLog {
  readonly #options: RefusalLogOptions;
  readonly #ends = { stored: 0, dropped: 0 };
  #minute = 0;
  /** How many refusals of each line of keys were queued in this minute. */
  readonly #queuedOf = new Map<string, number>();
  /** The refusals of this minute that are only counted, by key, code and the actions of guards. */
  readonly #rest = new Map<string, Refusal>();
  #restTimer: Timer | null = null;
  #queue: Refusal[] = [];
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
   * @param root the top key of the key's line, whose keys share the limit of a minute
   */
  add(refusal: Refusal, root = refusal.keyId): void {
    const minute = Math.floor(refusal.time / MINUTE_MS);
    if (minute !== this.#minute) this.#endMinute();
    this.#minute = minute;
    const { keyId } = refusal;
    const queued = this.#queuedOf.get(root) ?? 0;
    if (keyId === '' || queued >= REFUSALS_A_MINUTE || this.#queuedOf.size >= COUNTED_MAX) this.#count(refusal);
    else {
      this.#queuedOf.set(root, queued + 1);
      this.#enqueue(refusal);
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

  #count(refusal: Refusal): void {
    const name = `${refusal.keyId} ${refusal.code} ${actionsOf(refusal)}`;
    const counted = this.#rest.get(name);
    if (counted) this.#rest.set(name, { ...counted, answers: counted.answers + 1 });
    else if (this.#rest.size >= COUNTED_MAX) this.#ends.dropped++;
    else this.#rest.set(name, { ...refusal, ...OF_MANY });
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
    for (const refusal of rest) this.#enqueue(refusal);
  }

  #enqueue(refusal: Refusal): void {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#ends.dropped += refusal.answers;
      return;
    }
    this.#queue.push(refusal);
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
    const writes = batch.map(async (refusal) => {
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
const actionsOf = ({ guards = [], guardedBy = [] }: Refusal): string =>
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
    'Answers with a status from 400 up that have no decision record, by whether their record was stored, or dropped because the database was full or slow.',
    'end',
    () => Object.entries(ends),
  ),
];
