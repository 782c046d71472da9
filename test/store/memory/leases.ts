import { type InstanceName, isSameInstance } from '../../../src/store/instance.ts';
import { isHeld, type LeaseChange, type LeaseRow } from '../../../src/store/lease.ts';
import type { LeaseTable } from '../../../src/store/lease-keeper.ts';

const isSame = (one: LeaseRow | null, other: LeaseRow | null): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The slots of a store in memory, which several instances share. */
export class MemoryLeases implements LeaseTable {
  protected readonly rows = new Map<number, LeaseRow>();
  protected readonly now: () => number;

  /** @param now the store's clock, ms since 1970 */
  constructor(now: () => number) {
    this.now = now;
  }

  async read() {
    return { now: this.now(), rows: [...this.rows.values()] };
  }

  async write(change: LeaseChange): Promise<boolean> {
    return this.put(change);
  }

  /** Does the same as `write`, but synchronously. */
  put({ seen, row }: LeaseChange): boolean {
    if (!isSame(this.rows.get(row.slot) ?? null, seen)) return false;
    if (this.isTooLate({ seen, row })) return false;
    this.rows.set(row.slot, row);
    return true;
  }

  /** Whether a change renews a lease that has ended. */
  protected isTooLate({ seen, row }: LeaseChange): boolean {
    return seen !== null && seen.epoch === row.epoch && !row.isReleased && !isHeld(seen, this.now());
  }

  /** Whether the store accepts a commit in this name. Every commit states this condition. */
  accepts(name: InstanceName): boolean {
    const row = this.rows.get(name.slot);
    return row !== undefined && isSameInstance(row, name) && isHeld(row, this.now());
  }
}
