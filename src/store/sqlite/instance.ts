import { createIds, idSpan } from '../../core/id.ts';
import { messageOf } from '../../core/thrown.ts';
import type { Instance, InstanceName } from '../instance.ts';
import { first, sql, write } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import type { SqliteRepositories, WatchedStore } from './database.ts';
import { faultOf, unreadable } from './fault.ts';
import type { Fence } from './fence.ts';
import { BASELINE, type Migrations } from './statement.ts';

/** No ID in use is greater than `ids_through`. A starting server begins with IDs above `ids_through` and reads no other table. */
export const instanceMigrations: Migrations = {
  room: 'instances',
  versions: {
    [BASELINE]: `CREATE TABLE instances (
      slot INTEGER PRIMARY KEY CHECK (slot = 0),
      ids_through INTEGER NOT NULL
    ) STRICT;
    INSERT INTO instances (slot, ids_through) VALUES (0, 0);
    CREATE TABLE instance_reports (
      slot INTEGER PRIMARY KEY,
      epoch INTEGER NOT NULL,
      name TEXT NOT NULL,
      version TEXT NOT NULL,
      follows TEXT NOT NULL,
      revision TEXT NOT NULL,
      since INTEGER NOT NULL,
      rank INTEGER NOT NULL,
      error TEXT,
      pushed INTEGER,
      judged INTEGER,
      refusal TEXT,
      judged_revision TEXT,
      seen INTEGER NOT NULL,
      clock_offset_ms INTEGER NOT NULL
    ) STRICT;`,
  },
};

const SELECT = sql('SELECT ids_through AS through FROM instances');
const NOTE = sql('UPDATE instances SET ids_through = ?', { mustChange: true });

/**
 * How far the stored ID mark is ahead of the IDs in use. It costs one small write a second under load. After a crash, IDs start this much
 * ahead of the clock.
 */
const AHEAD = idSpan(1_000);
/** Pause after the ID mark could not be written, ms. */
const RETRY_MS = 1_000;

/**
 * Takes the only slot of a database. The lock of the database's folder and the fence are the lease of the slot: both need no renewal and
 * survive a sleep of the machine. An idle server writes nothing.
 */
export async function openSqliteInstance(
  store: SqliteRepositories,
  fence: Fence,
  now: () => number,
): Promise<Instance> {
  const row = await first<{ through: number }>(store, SELECT);
  // Without this regular check, an idle server would not notice that another server has taken over.
  store.news.on('instances', () => fence.look());
  return new SqliteInstance(store, fence, now, row?.through ?? 0);
}

/** The slot, clock and IDs of a database's only server. State: lease. */
class SqliteInstance implements Instance {
  readonly slot = 0;
  readonly epoch: number;
  /** A SQLite store is in this process, so it is always reachable. */
  readonly reachedForMs = Number.POSITIVE_INFINITY;
  /** A SQLite store uses the machine's clock, so the difference of the clocks is 0. */
  readonly clockOffsetMs = 0;
  readonly idsAbove: number;
  readonly now: () => number;
  readonly nextId: () => number;
  readonly #store: Pick<WatchedStore, 'note' | 'query'>;
  readonly #fence: Fence;
  #last: number;
  #through: number;
  #tryAt = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<WatchedStore, 'note' | 'query'>, fence: Fence, now: () => number, through: number) {
    this.#store = store;
    this.#fence = fence;
    this.now = now;
    this.epoch = fence.epoch;
    this.idsAbove = through;
    this.#last = through;
    this.nextId = createIds(now, through, this.slot, (id) => this.#admit(id));
    this.#through = through;
  }

  get isCurrent(): boolean {
    return this.#fence.broken === null;
  }

  get fenced(): string | null {
    const { broken } = this.#fence;
    return broken === null ? null : `The database cannot be written: ${broken}.`;
  }

  async lives({ slot, epoch }: InstanceName): Promise<boolean> {
    try {
      return slot === this.slot && this.#fence.isRaisedBy(epoch);
    } catch (cause) {
      throw unreadable(cause);
    }
  }

  /** Lowers the stored ID mark to the last ID, so that the IDs of the next start are not ahead of its clock. */
  async release(): Promise<void> {
    try {
      if (this.#through !== this.#last) this.#note(this.#last);
    } catch {
      // An error of this write is ignored, because the store's `close`, which follows, reports it.
    }
  }

  #admit(id: number): void {
    if (id > this.#through) this.#raise(id + AHEAD);
    this.#last = id;
  }

  /**
   * Raises the stored ID mark. If the disk is full or locked, IDs are still given: the lock keeps other servers away, so an ID could repeat
   * only after a crash with a clock that is set back.
   */
  #raise(through: number): void {
    if (performance.now() < this.#tryAt) return;
    try {
      this.#note(through);
    } catch (cause) {
      if (faultOf(cause) === 'fenced')
        throw new StoreError(this.fenced ?? messageOf(cause), { reason: 'fenced', cause });
      this.#tryAt = performance.now() + RETRY_MS;
    }
  }

  #note(through: number): void {
    this.#store.note(write(NOTE, through));
    this.#through = through;
  }
}
