import { ID_SLOTS, idAt } from '../core/id.ts';
import { type InstanceName, isSameInstance } from './instance.ts';

/** How long a lease lasts after its last renewal, ms. */
export const LEASE_MS = 20_000;
/** The interval of renewals, ms. A lease survives the loss of three renewals. */
export const RENEW_MS = 5_000;
/**
 * How long after the end of a lease no other process may take its slot, ms. During this time, the holder can come back and finish its work.
 * At the end of this time, the clock has also passed the mark `idsThrough`, so the next holder's IDs are not ahead of the clock.
 */
export const FREE_AFTER_MS = 60_000;
/**
 * How far the ID mark of a slot is ahead of a renewal, ms. This time covers the rest of the lease, and the second that IDs may be ahead of
 * the clock.
 */
const MARK_AHEAD_MS = 30_000;

/** A row of the store about the slot of an instance. Times are ms since 1970 by the store's clock. */
export interface LeaseRow extends InstanceName {
  /** The end of the lease. The store refuses every commit after this time. */
  readonly until: number;
  /** The ID mark of the slot: every ID that an instance of this slot has given is at most this mark. */
  readonly idsThrough: number;
  /** Whether the holder has ended the lease, so that the slot is free at once. */
  readonly isReleased: boolean;
}

/**
 * A change of a slot. The store applies the change only if the stored row still equals `seen`; with `seen` null, only if there is no row.
 * If the lease has ended since it was read, the store applies only a release or a new epoch.
 */
export interface LeaseChange {
  readonly seen: LeaseRow | null;
  readonly row: LeaseRow;
}

const heldFrom = (now: number): Pick<LeaseRow, 'until' | 'idsThrough' | 'isReleased'> => ({
  until: now + LEASE_MS,
  idsThrough: idAt(now + MARK_AHEAD_MS),
  isReleased: false,
});

/**
 * Whether the lease of a row is valid. The store accepts commits in the name of an instance only while its lease is valid. An ended lease
 * never becomes valid again.
 */
export const isHeld = ({ until, isReleased }: LeaseRow, now: number): boolean => !isReleased && now < until;

/**
 * Whether any process may take a slot. When a slot may be taken, other instances may also take over the work of the slot's earlier holder.
 */
export const isFree = (row: LeaseRow, now: number): boolean => row.isReleased || now >= row.until + FREE_AFTER_MS;

/**
 * Chooses a slot for a process that starts, or whose lease has ended: the lowest free slot. A process whose lease has ended prefers another
 * slot, so that the work under its old name can still be finished. A process whose lease has ended takes its own slot again only if no
 * other slot is free.
 * @param rows every slot that was ever taken
 * @param now the store's time, ms since 1970
 * @param own the process's name under its earlier lease; null at a start
 * @returns null while all slots are taken
 */
export function takeSlot(rows: readonly LeaseRow[], now: number, own: InstanceName | null): LeaseChange | null {
  const bySlot = new Map(rows.map((row) => [row.slot, row]));
  for (let slot = 0; slot < ID_SLOTS; slot++) {
    const seen = bySlot.get(slot) ?? null;
    if (!seen || isFree(seen, now)) {
      return { seen, row: { slot, epoch: (seen?.epoch ?? 0) + 1, ...raised(seen, now) } };
    }
  }
  const mine = own && bySlot.get(own.slot);
  if (!mine || !isSameInstance(mine, own)) return null;
  return { seen: mine, row: { ...mine, epoch: mine.epoch + 1, ...raised(mine, now) } };
}

/** The ID mark of a slot never decreases, even if the time of the store's clock decreases. */
const raised = (seen: LeaseRow | null, now: number) => {
  const held = heldFrom(now);
  return { ...held, idsThrough: Math.max(held.idsThrough, seen?.idsThrough ?? 0) };
};

/**
 * Returns the change that renews a lease. Returns null if the lease has ended or another process has the slot; the process must then take a
 * new epoch.
 */
export function renewLease(row: LeaseRow | undefined, own: InstanceName, now: number): LeaseChange | null {
  if (!row || !isSameInstance(row, own) || !isHeld(row, now)) return null;
  return { seen: row, row: { ...row, ...raised(row, now) } };
}

/** Returns the change with which a holder ends its lease. @param lastId the greatest ID that the holder used */
export const releaseLease = (row: LeaseRow, lastId: number): LeaseChange => ({
  seen: row,
  row: { ...row, isReleased: true, idsThrough: Math.min(row.idsThrough, lastId) },
});
