import { ID_SLOTS, idAt } from '../core/id.ts';
import { type InstanceName, isSameInstance } from './instance.ts';

/** How long a lease lasts behind its renewal, ms. */
export const LEASE_MS = 20_000;
/** The interval of renewals, ms: three may be lost. */
export const RENEW_MS = 5_000;
/**
 * How long behind the end of its lease a slot is nobody else's, ms: its holder comes back first, and ends what it began. The mark has
 * passed by then, so that the next IDs are not ahead of the clock.
 */
export const FREE_AFTER_MS = 60_000;
/** How far the mark is ahead of a renewal, ms: beyond the end of the lease, and the second that IDs may be ahead of the clock. */
const MARK_AHEAD_MS = 30_000;

/** A slot, as the store has it. Times are those of the store's clock, ms since 1970. */
export interface LeaseRow extends InstanceName {
  /** The end of the lease: every commit behind it is refused. */
  readonly until: number;
  /** The mark: no ID of this slot is greater. */
  readonly idsThrough: number;
  /** Whether its holder has ended it, so that the slot is free at once. */
  readonly isReleased: boolean;
}

/** A change of a slot, on the condition that its row still is the one seen; null: that there is none. */
export interface LeaseChange {
  readonly seen: LeaseRow | null;
  readonly row: LeaseRow;
}

const heldFrom = (now: number): Pick<LeaseRow, 'until' | 'idsThrough' | 'isReleased'> => ({
  until: now + LEASE_MS,
  idsThrough: idAt(now + MARK_AHEAD_MS),
  isReleased: false,
});

/** Whether the lease of a row lasts: only then a commit in its name is accepted. Once it does not, it never does again. */
export const isHeld = ({ until, isReleased }: LeaseRow, now: number): boolean => !isReleased && now < until;

/** Whether a slot may be taken by anybody: others may take over the work of its holder, too. */
export const isFree = (row: LeaseRow, now: number): boolean => row.isReleased || now >= row.until + FREE_AFTER_MS;

/**
 * Chooses the slot of a process that begins, or whose lease has ended: the lowest one that is free. So the old name keeps its time, in
 * which the process ends its work. Only where no other is free it takes its own again.
 * @param rows every slot that was ever taken
 * @param now the store's time, ms since 1970
 * @param own the name under which the process had a lease before
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

/** A mark never goes back, though the store's clock may. */
const raised = (seen: LeaseRow | null, now: number) => {
  const held = heldFrom(now);
  return { ...held, idsThrough: Math.max(held.idsThrough, seen?.idsThrough ?? 0) };
};

/** The row of a renewed lease; null where it has ended, or another has the slot: the process takes a new epoch. */
export function renewLease(row: LeaseRow | undefined, own: InstanceName, now: number): LeaseChange | null {
  if (!row || !isSameInstance(row, own) || !isHeld(row, now)) return null;
  return { seen: row, row: { ...row, ...raised(row, now) } };
}

/** The row of a lease that its holder ends. @param lastId the greatest ID that it gave */
export const releaseLease = (row: LeaseRow, lastId: number): LeaseChange => ({
  seen: row,
  row: { ...row, isReleased: true, idsThrough: Math.min(row.idsThrough, lastId) },
});
