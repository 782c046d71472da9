import { POSTGRES_NOW, type SqlTables, sql, write } from '../sql/statement.ts';
import { StoreError } from '../store.ts';

/** The history that the database writes: it begins another one when a standby takes over. */
const CURRENT = `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;
const SELECT = sql(`SELECT ${CURRENT} AS timeline,
    EXISTS (SELECT 1 FROM timelines AS t WHERE t.timeline = ${CURRENT}) AS is_accepted,
    NOT EXISTS (SELECT 1 FROM timelines) AS is_first,
    current_setting('synchronous_standby_names') <> '' AS is_synchronous`);
const ACCEPT = sql(
  `INSERT INTO timelines (timeline, accepted) SELECT ${CURRENT}, ${POSTGRES_NOW} ON CONFLICT (timeline) DO NOTHING`,
);

interface TimelineRow {
  readonly timeline: string;
  readonly is_accepted: number;
  readonly is_first: number;
  readonly is_synchronous: number;
}

/** Vouches for the database as it is: what it may have lost is lost. */
export const acceptTimeline = (db: SqlTables): Promise<void> => db.commit([write(ACCEPT)]);

/**
 * Returns what refuses a database that may lack commits which it had answered: a standby took over that did not have to have them, or an
 * old primary came back. It rejects with StoreError `fenced` of one sentence, until an operator accepts.
 */
export function timelineCheck(db: SqlTables): () => Promise<void> {
  let last = '';
  return async () => {
    const [row] = await db.query<TimelineRow>(SELECT);
    if (!row) return;
    if (row.timeline < last)
      throw lost('an earlier primary of the database has come back; end it, and name the present one');
    if (row.is_accepted !== 1) {
      if (row.is_first !== 1 && row.is_synchronous !== 1)
        throw lost(
          'a standby of the database has taken over, or a backup was restored, which may lack what was answered; see `signalbox ledger audit`, run `signalbox db accept` and start the servers again',
        );
      await acceptTimeline(db);
    }
    last = row.timeline;
  };
}

const lost = (why: string): StoreError => new StoreError(`This server grants nothing: ${why}.`, { reason: 'fenced' });
