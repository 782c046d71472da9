import type { InstanceName } from '../instance.ts';
import type { LeaseChange, LeaseRow } from '../lease.ts';
import type { LeaseTable } from '../lease-keeper.ts';
import { POSTGRES_NOW, type SqlTables, sql, write } from '../sql/statement.ts';
import { isMet } from '../store.ts';
import type { Connection } from './connection.ts';
import { timelineCheck } from './timeline.ts';
import type { LeaseCheck } from './transaction.ts';

const SELECT =
  sql(`SELECT ${POSTGRES_NOW} AS now, slot, epoch, until, ids_through AS idsThrough, is_released AS isReleased
    FROM (VALUES (1)) AS one (n) LEFT JOIN instances ON true`);
const ROW = 'slot, epoch, until, ids_through, is_released';
const TAKE_FIRST = sql(
  `INSERT INTO instances (${ROW}) VALUES ($slot, $epoch, $until, $idsThrough, $isReleased) ON CONFLICT DO NOTHING`,
  { mustChange: true },
);
/** If a lease has ended since it was read, its holder can release the slot or take a new epoch, but cannot renew the lease. */
const CHANGE = sql(
  `UPDATE instances SET epoch = $epoch, until = $until, ids_through = $idsThrough, is_released = $isReleased
    WHERE slot = $slot AND epoch = $seenEpoch AND until = $seenUntil AND ids_through = $seenIdsThrough
      AND is_released = $seenIsReleased AND ($epoch <> epoch OR $isReleased = 1 OR until > ${POSTGRES_NOW})`,
  { mustChange: true },
);

type StoredLease = Omit<LeaseRow, 'isReleased'> & { readonly isReleased: number };
type ClockRow = { readonly now: number } & (StoredLease | { readonly slot: null });

/** The slots of instances in PostgreSQL. Commits that renew leases use their own connection and do not check a lease. */
export const postgresLeases = (db: SqlTables): LeaseTable => ({
  check: timelineCheck(db),
  async read() {
    const rows = await db.query<ClockRow>(SELECT);
    const leases = rows.flatMap((row) => {
      if (row.slot === null) return [];
      const { now: _, isReleased, ...lease } = row;
      return [{ ...lease, isReleased: isReleased === 1 }];
    });
    return { now: rows[0]?.now ?? 0, rows: leases };
  },
  write({ seen, row }: LeaseChange) {
    const values = { ...row, isReleased: row.isReleased ? 1 : 0 };
    const change = seen
      ? write(CHANGE, {
          ...values,
          seenEpoch: seen.epoch,
          seenUntil: seen.until,
          seenIdsThrough: seen.idsThrough,
          seenIsReleased: seen.isReleased ? 1 : 0,
        })
      : write(TAKE_FIRST, values);
    return isMet(db.commit([change]));
  },
});

/**
 * The condition that each commit of an instance checks: the lease of the instance has not ended. A transaction ends long before another
 * instance can take the slot.
 */
export const fenceOf = (name: InstanceName): LeaseCheck => ({
  sql: `SELECT 1 AS held FROM instances WHERE slot = $1 AND epoch = $2 AND is_released = 0 AND until > ${POSTGRES_NOW}`,
  values: () => [name.slot, name.epoch],
});

/** True if any server has a lease that has not ended. */
export async function isAnyHeld(connection: Connection): Promise<boolean> {
  const { count } = await connection.run(
    `SELECT 1 FROM instances WHERE is_released = 0 AND until > ${POSTGRES_NOW} LIMIT 1`,
  );
  return count > 0;
}
