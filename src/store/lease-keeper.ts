import { commandName } from '../core/command-name.ts';
import { createIds, idAt } from '../core/id.ts';
import { pause, type Timer, type Timers } from '../core/time/timers.ts';
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
/** If two renewals are further apart than this, ms, a renewal in between failed and had to be repeated. */
const MISSED_MS = 1.5 * RENEW_MS;
/** Pause between two attempts to find a free slot, ms. */
export const PLACE_WAIT_MS = 1_000;
/** How many times a starting process may lose a slot to another process before it gives up. */
const TRIES = 1_000;

/** The slots of a store that several instances share. The methods of this interface reject with StoreError. */
export interface LeaseTable {
  /** @returns every slot that was ever taken, and the store's current time (ms since 1970) */
  read(): Promise<{ readonly now: number; readonly rows: readonly LeaseRow[] }>;
  /**
   * Rejects with StoreError `fenced`, with one sentence, if the store may have lost writes that it acknowledged. If this method is absent,
   * the store never loses acknowledged writes.
   */
  check?(): Promise<void>;
  /** Makes a change of a slot in one step. @returns false if the stored row differs from `change.seen` */
  write(change: LeaseChange): Promise<boolean>;
}

export interface LeaseOptions {
  readonly table: LeaseTable;
  /** Milliseconds of a monotonic clock that also advances while the process is stopped. */
  readonly clock: () => number;
  /** The system's time, ms since 1970, which is only displayed next to the store's time. */
  readonly now: () => number;
  readonly timers: Timers;
  /**
   * A function that is called once if all slots are taken at the start; the starting process then waits for a slot. If the function is
   * absent, the start fails.
   */
  readonly onFull?: (() => void) | undefined;
  /** A function that is called once if the store may have lost writes that the store acknowledged, with the reason in one sentence. */
  readonly onRefused?: ((problem: string) => void) | undefined;
  /**
   * A function that is called when the lease has ended and the process has a new name. From then on, other instances finish the work of the
   * old name.
   */
  readonly onLost?: (old: InstanceName) => void;
}

/**
 * Takes a slot for this process and renews its lease until `release`. A process can miss renewals because it was stopped or the store was
 * unreachable. It then stops being current before it acts again, and takes a new epoch by itself.
 * @throws StoreError `busy`, by rejecting, while all slots are taken, unless the process waits for a slot
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

/** Renews the lease of a slot that this process has just taken, as described at `keepLease`. */
function holdLease(options: LeaseOptions, taken: TakenSlot): Instance {
  const keeper = new LeaseKeeper(options, taken);
  keeper.start();
  return keeper;
}

/** A slot that this process has taken or renewed. */
interface TakenSlot extends LeaseChange {
  /** When the request for the slot was sent, on the process's clock. The lease lasts at least `LEASE_MS` from then on. */
  readonly from: number;
  /** The store's clock minus the process's clock, ms. */
  readonly offset: number;
}

/**
 * Reads the slots and writes the change that `choose` returns. Resolves with null if `choose` returns no change, and with `overtaken` if
 * another process changed the row first.
 */
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

/** Takes a free slot. Resolves with null while all slots are taken. */
async function take(options: LeaseOptions, own: InstanceName | null): Promise<TakenSlot | null> {
  for (let tried = 0; tried < TRIES; tried++) {
    const taken = await change(options, (rows, now) => takeSlot(rows, now, own));
    if (taken !== 'overtaken') return taken;
  }
  return null;
}

const full = (): StoreError =>
  new StoreError('All server slots of the database are taken; stop a server, or wait two minutes.', {
    reason: 'busy',
  });

const goneBack = (): StoreError =>
  new StoreError(
    `This server accepts no requests: the database is an older copy, which lacks writes that were confirmed before; run \`${commandName()} ledger audit\`, and then restart the servers.`,
    { reason: 'fenced' },
  );

/** The slot that this process holds, with its clock and its IDs. State: lease. */
class LeaseKeeper implements Instance {
  readonly #options: LeaseOptions;
  readonly now = (): number => this.#now();
  readonly nextId = (): number => this.#next();
  #row: LeaseRow;
  #validUntil: number;
  /**
   * `#renewedAt`: when the store last answered. `#reachedSince`: since when the store has answered without a break. `#renewedAt` and
   * `#reachedSince` are in ms of the process's clock.
   */
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
  /** Why this process permanently refuses the store; null if the process does not refuse the store. */
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
    if (this.#isReleased) return 'This server has left the database because it is stopping.';
    return 'The lease of this server on the database ran out before it was renewed. The server takes a new lease by itself; check that the database answers and that this machine does not sleep.';
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

  /**
   * Renews the lease, or takes a new epoch if the lease has ended. Concurrent calls share a single renewal. While the store is unreachable,
   * the lease runs out.
   */
  renew(): Promise<void> {
    if (this.#refusal !== null) return Promise.resolve();
    this.#renewing ??= this.#renew()
      .catch((error: unknown) => this.#refuse(error))
      .finally(() => {
        this.#renewing = null;
      });
    return this.#renewing;
  }

  /** Stops using a store that may have lost acknowledged writes, because this process may know of rows that no longer exist. */
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
    // If the store does not answer a renewal, the lease runs out.
    await change(this.#options, ended).catch(() => null);
  }

  async #renew(): Promise<void> {
    const own = nameOf(this);
    const renewed = await change(this.#options, (rows, now) => {
      const row = rows.find(({ slot }) => slot === own.slot);
      // The stored ID mark of a slot never decreases, no matter which process holds the slot. A lower mark proves that the store is an
      // older copy.
      if (!row || row.idsThrough < this.#row.idsThrough) throw goneBack();
      return renewLease(row, own, now);
    });
    if (renewed !== null && renewed !== 'overtaken') return this.#adopt(renewed);
    if (this.#isReleased) return;
    this.#validUntil = Number.NEGATIVE_INFINITY;
    const taken = await take(this.#options, own);
    if (!taken) throw full();
    this.#adopt(taken);
    // Another instance may have used IDs of a slot that this process did not hold before.
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
        throw new StoreError('IDs are more than a second ahead of the clock; try again in a second', {
          reason: 'crowded',
        });
      this.#last = id;
    });
  }
}
