import { createIds, idAt } from '../core/id.ts';
import { pause, type Timer, type Timers } from '../core/timers.ts';
import { type Instance, type InstanceName, isSameInstance, nameOf } from './instance.ts';
import {
  isFree,
  LEASE_MS,
  type LeaseChange,
  type LeaseRow,
  RENEW_MS,
  releaseLease,
  renewLease,
  takeSlot,
} from './lease.ts';
import { StoreError } from './store.ts';

/** How far IDs may be ahead of the store's clock, ms. */
const AHEAD_MAX_MS = 1_000;
/** A renewal that comes so long behind the one before, ms, is one that had to be repeated. */
const MISSED_MS = 1.5 * RENEW_MS;
/** Between two looks for a slot that has become free, ms. */
export const PLACE_WAIT_MS = 1_000;
/** Rivals for a slot, at a start, before it is given up. */
const TRIES = 1_000;

/** The slots of a store that several instances share. Both methods reject with StoreError. */
export interface LeaseTable {
  /** @returns every slot that was ever taken, with the store's time of that moment (ms since 1970) */
  read(): Promise<{ readonly now: number; readonly rows: readonly LeaseRow[] }>;
  /** Rejects with StoreError `fenced` of one sentence where the store may lack what it has answered. Absent: it never does. */
  check?(): Promise<void>;
  /** Makes a change in one step. @returns false where the row is not the one seen */
  write(change: LeaseChange): Promise<boolean>;
}

export interface LeaseOptions {
  readonly table: LeaseTable;
  /** ms on a clock that never goes back. It goes on while the process is stopped. */
  readonly clock: () => number;
  /** ms since 1970 by the system. Only shown beside the store's. */
  readonly now: () => number;
  readonly timers: Timers;
  /** Called once where all slots are taken at the start, which then waits for one. Absent: it is refused. */
  readonly onFull?: (() => void) | undefined;
  /** Called once where the store may lack what it has answered, with the reason in one sentence. */
  readonly onRefused?: ((problem: string) => void) | undefined;
  /** Called when the lease has ended and the process has a new name: work of the old one is another's to end. */
  readonly onLost?: (old: InstanceName) => void;
}

/**
 * Takes a slot for this process and renews its lease until `release`. A process that missed its renewals, because it was stopped
 * or the store was away, is not current before it acts again; it takes a new epoch by itself.
 * @throws StoreError `busy`, by rejecting, while all slots are taken, unless it waits
 */
export async function keepLease(options: LeaseOptions): Promise<Instance> {
  const { onFull, timers } = options;
  for (let isTold = false; ; isTold = true) {
    const taken = await take(options, null);
    if (taken) return holdLease(options, taken);
    if (!onFull) throw full();
    if (!isTold) onFull();
    await pause(timers, PLACE_WAIT_MS);
  }
}

/** Renews the lease of a slot that this process has just taken, as `keepLease` does. */
function holdLease(options: LeaseOptions, taken: TakenSlot): Instance {
  const keeper = new LeaseKeeper(options, taken);
  keeper.start();
  return keeper;
}

/** A row that this process has written. */
interface TakenSlot extends LeaseChange {
  /** When its row was asked for, on the process's clock: the lease does not end before `LEASE_MS` behind that. */
  readonly from: number;
  /** The store's clock less that of the process, ms. */
  readonly offset: number;
}

/** Asks the store, and writes what is chosen; null where nothing is, or another was faster. */
async function change(
  { table, clock }: LeaseOptions,
  choose: (rows: readonly LeaseRow[], now: number) => LeaseChange | null,
): Promise<TakenSlot | 'overtaken' | null> {
  await table.check?.();
  const from = clock();
  const { now, rows } = await table.read();
  const offset = now - (from + clock()) / 2;
  const chosen = choose(rows, now);
  if (!chosen) return null;
  return (await table.write(chosen)) ? { ...chosen, from, offset } : 'overtaken';
}

/** Resolves with null while all slots are taken. */
async function take(options: LeaseOptions, own: InstanceName | null): Promise<TakenSlot | null> {
  for (let tried = 0; tried < TRIES; tried++) {
    const taken = await change(options, (rows, now) => takeSlot(rows, now, own));
    if (taken !== 'overtaken') return taken;
  }
  return null;
}

const full = (): StoreError =>
  new StoreError('All places for servers at the database are taken; stop one, or wait for two minutes.', {
    reason: 'busy',
  });

const goneBack = (): StoreError =>
  new StoreError(
    'This server grants nothing: an older copy is in the place of the database, which lacks what was answered; see `signalbox ledger audit`, and start the servers again.',
    { reason: 'fenced' },
  );

/** The slot of this process, and the clock and IDs that go with it. State: lease. */
class LeaseKeeper implements Instance {
  readonly #options: LeaseOptions;
  readonly now = (): number => this.#now();
  readonly nextId = (): number => this.#next();
  #row: LeaseRow;
  #validUntil: number;
  /** When the store last answered, and since when it has done so without a break: ms on the process's clock. */
  #renewedAt: number;
  #reachedSince: number;
  #offset: number;
  #latest = 0;
  #above: number;
  #last: number;
  #next: () => number;
  #timer: Timer | null = null;
  #renewing: Promise<void> | null = null;
  #isReleased = false;
  /** Why the store is refused, for good; null where it is not. */
  #refusal: string | null = null;

  constructor(options: LeaseOptions, taken: TakenSlot) {
    this.#options = options;
    this.#above = taken.seen?.idsThrough ?? 0;
    this.#last = this.#above;
    this.#row = taken.row;
    this.#validUntil = taken.from + LEASE_MS;
    this.#renewedAt = taken.from;
    this.#reachedSince = taken.from;
    this.#offset = taken.offset;
    this.#next = this.#maker();
  }

  get slot(): number {
    return this.#row.slot;
  }

  get epoch(): number {
    return this.#row.epoch;
  }

  get idsAbove(): number {
    return this.#above;
  }

  get isCurrent(): boolean {
    return !this.#isReleased && this.#options.clock() < this.#validUntil;
  }

  get fenced(): string | null {
    if (this.isCurrent) return null;
    if (this.#refusal !== null) return this.#refusal;
    if (this.#isReleased) return 'This server has left the database, since it stops.';
    return 'The lease of this server on the database ended without a renewal, and it takes a new one by itself; see that the database answers and that this machine does not sleep.';
  }

  get reachedForMs(): number {
    const now = this.#options.clock();
    return now - this.#renewedAt > MISSED_MS ? 0 : now - this.#reachedSince;
  }

  get clockOffsetMs(): number {
    const { clock, now } = this.#options;
    return Math.round(clock() + this.#offset - now());
  }

  start(): void {
    this.#timer = this.#options.timers.every(RENEW_MS, () => void this.renew());
    this.#timer.unref();
  }

  /** Renews the lease, or takes a new epoch where it has ended. One at a time. Where the store is away, the lease runs out. */
  renew(): Promise<void> {
    if (this.#refusal !== null) return Promise.resolve();
    this.#renewing ??= this.#renew()
      .catch((error: unknown) => this.#refuse(error))
      .finally(() => {
        this.#renewing = null;
      });
    return this.#renewing;
  }

  /** A store that may lack what it has answered is not used any more: this process may know of rows that are gone. */
  #refuse(error: unknown): void {
    if (!(error instanceof StoreError && error.reason === 'fenced')) return;
    this.#refusal = error.message;
    this.#validUntil = Number.NEGATIVE_INFINITY;
    this.#options.onRefused?.(error.message);
  }

  async lives(name: InstanceName): Promise<boolean> {
    const { now, rows } = await this.#options.table.read();
    return rows.some((row) => isSameInstance(row, name) && !isFree(row, now));
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#timer?.close();
    await this.#renewing;
    const [own, last] = [nameOf(this), this.#last];
    const ended = (rows: readonly LeaseRow[]) => {
      const row = rows.find((one) => isSameInstance(one, own));
      return row ? releaseLease(row, last) : null;
    };
    // Without an answer, the lease runs out.
    await change(this.#options, ended).catch(() => null);
  }

  async #renew(): Promise<void> {
    const own = nameOf(this);
    const renewed = await change(this.#options, (rows, now) => {
      const row = rows.find(({ slot }) => slot === own.slot);
      // No mark goes back, whoever has the slot by now.
      if (!row || row.idsThrough < this.#row.idsThrough) throw goneBack();
      return renewLease(row, own, now);
    });
    if (renewed !== null && renewed !== 'overtaken') return this.#adopt(renewed);
    if (this.#isReleased) return;
    this.#validUntil = Number.NEGATIVE_INFINITY;
    const taken = await take(this.#options, own);
    if (!taken) throw full();
    this.#adopt(taken);
    // Another may have given IDs of a slot that was not this process's.
    if (taken.row.slot !== own.slot) {
      this.#above = taken.seen?.idsThrough ?? 0;
      this.#last = Math.max(this.#last, this.#above);
    }
    this.#next = this.#maker();
    this.#options.onLost?.(own);
  }

  #adopt({ row, from, offset }: TakenSlot): void {
    if (from - this.#renewedAt > MISSED_MS) this.#reachedSince = from;
    this.#renewedAt = from;
    this.#row = row;
    this.#validUntil = from + LEASE_MS;
    this.#offset = offset;
  }

  #now(): number {
    this.#latest = Math.max(this.#latest, Math.floor(this.#options.clock() + this.#offset));
    return this.#latest;
  }

  #maker(): () => number {
    return createIds(this.now, this.#last, this.slot, (id) => {
      if (!this.isCurrent || id > this.#row.idsThrough)
        throw new StoreError(this.fenced ?? 'the lease is too old for new IDs', { reason: 'fenced' });
      if (id > idAt(this.#now() + AHEAD_MAX_MS))
        throw new StoreError('IDs are a second ahead of the clock; wait for it', { reason: 'crowded' });
      this.#last = id;
    });
  }
}
