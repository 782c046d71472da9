import type { InstanceName } from '../instance.ts';
import { LEADER_JOBS, type LeaderJob, type LeaderTable } from '../leaders.ts';
import { LEASE_MS } from '../lease.ts';
import { POSTGRES_NOW, type SqlTables, sql, write } from '../sql/statement.ts';

/** The statement takes the jobs in the order of their names, so that two instances cannot deadlock. */
const TAKE = sql(`INSERT INTO leaders (job, slot, epoch, until)
    SELECT job, $slot, $epoch, ${POSTGRES_NOW} + ${LEASE_MS} FROM json_array_elements_text($jobs::json) AS job ORDER BY job
    ON CONFLICT (job) DO UPDATE SET slot = excluded.slot, epoch = excluded.epoch, until = excluded.until
      WHERE (leaders.slot = excluded.slot AND leaders.epoch = excluded.epoch) OR leaders.until <= ${POSTGRES_NOW}
        OR NOT EXISTS (SELECT 1 FROM instances AS i WHERE i.slot = leaders.slot AND i.epoch = leaders.epoch
          AND i.is_released = 0 AND i.until > ${POSTGRES_NOW})`);
/** Selects the jobs of this instance, or no job if the instance's own lease has ended. */
const HELD = sql(`SELECT l.job FROM leaders AS l JOIN instances AS i ON i.slot = l.slot AND i.epoch = l.epoch
    WHERE l.slot = ? AND l.epoch = ? AND l.until > ${POSTGRES_NOW} AND i.is_released = 0 AND i.until > ${POSTGRES_NOW} ORDER BY l.job`);
/** Locks the row of a job, so that another instance that wants to take over the job waits until the transaction ends. */
const REQUIRE = sql(
  `SELECT 1 FROM leaders WHERE job = $job AND slot = $slot AND epoch = $epoch AND until > ${POSTGRES_NOW} FOR SHARE`,
  { mustChange: true },
);

/**
 * The leases of jobs in PostgreSQL.
 * @param name returns the name of this instance
 */
export const postgresLeaders = (db: SqlTables, name: () => InstanceName): LeaderTable => ({
  async take() {
    const { slot, epoch } = name();
    await db.commit([write(TAKE, { slot, epoch, jobs: JSON.stringify(LEADER_JOBS) })]);
    const rows = await db.query<{ job: LeaderJob }>(HELD, [slot, epoch]);
    return rows.map(({ job }) => job);
  },
  require(job) {
    const { slot, epoch } = name();
    return write(REQUIRE, { job, slot, epoch });
  },
});
