import type { Timer, Timers } from '../../../src/core/time/timers.ts';
import { type Instance, type InstanceName, isSameInstance, nameOf } from '../../../src/store/instance.ts';
import { isFree, isHeld, LEASE_MS, type LeaseChange, type LeaseRow } from '../../../src/store/lease.ts';
import { keepLease, type LeaseTable } from '../../../src/store/lease-keeper.ts';
import { MemoryLeases } from '../memory/leases.ts';
import type { WorldClock } from './clock.ts';
import type { Connection } from './connection.ts';

/** The leases of a world. A rival may take the leases, which ends what they protect. */
export class WorldLeases extends MemoryLeases {
  readonly #given: InstanceName[] = [];

  override put(change: LeaseChange): boolean {
    const isPut = super.put(change);
    const name = nameOf(change.row);
    if (isPut && !this.#given.some((one) => isSameInstance(one, name))) this.#given.push(name);
    return isPut;
  }

  /** Ends a lease at once, as if its instance had been away for a long time. */
  revoke(slot: number): LeaseRow | null {
    const row = this.rows.get(slot);
    if (!row) return null;
    const ended = { ...row, until: this.now() - 6 * LEASE_MS };
    this.rows.set(slot, ended);
    return ended;
  }

  /** A rival takes a slot from its holder, and then does nothing more. */
  seize(slot: number): void {
    const row = this.rows.get(slot);
    if (row) this.rows.set(slot, { ...row, epoch: row.epoch + 1, until: this.now() + LEASE_MS });
  }

  /** Whether an instance may still write or come back, so that no other instance takes over its work. */
  lives(name: InstanceName): boolean {
    const row = this.rows.get(name.slot);
    return row !== undefined && isSameInstance(row, name) && !isFree(row, this.now());
  }

  /** The rows of the instances that may write. */
  get held(): readonly LeaseRow[] {
    const now = this.now();
    return [...this.rows.values()].filter((row) => isHeld(row, now));
  }

  /** The instances that will never write again. */
  get dead(): readonly InstanceName[] {
    return this.#given.filter((name) => !this.lives(name));
  }
}

/** An instance whose lease is taken at once and renewed over its connection. */
export async function leasedOver(leases: WorldLeases, connection: Connection, clock: WorldClock): Promise<Instance> {
  let isOpen = false;
  const slow = <R>(answer: Promise<R>): Promise<R> => (isOpen ? connection.read(answer) : answer);
  const table: LeaseTable = {
    read: () => slow(leases.read()),
    write: (change) => slow(leases.write(change)),
  };
  const now = () => clock.now();
  const instance = await keepLease({ table, clock: now, now, timers: timersOf(clock, connection) });
  isOpen = true;
  connection.fence = () => !leases.accepts(instance);
  return instance;
}

/** Timers on a world's clock. Timers of a crashed process never fire; timers of a paused process fire when it continues. */
export function timersOf(clock: WorldClock, connection: Connection): Timers {
  const after = (ms: number, run: () => void): Timer => {
    let callOff = clock.after(ms, fire);
    function fire(): void {
      if (connection.isCrashed) return;
      if (connection.isPaused) callOff = clock.after(connection.pausedFor, fire);
      else run();
    }
    return { unref: () => {}, close: () => callOff() };
  };
  return {
    after,
    every(ms, run) {
      let isClosed = false;
      const again = (): void => {
        if (isClosed) return;
        run();
        timer = after(ms, again);
      };
      let timer = after(ms, again);
      return {
        unref: () => {},
        close() {
          isClosed = true;
          timer.close();
        },
      };
    },
  };
}
