import { POSTGRES_NOW, type SqlTables, sql, write } from '../sql/statement.ts';
import { StoreError } from '../store.ts';

/** The history that the database writes: it begins another one when a standby takes over. */
const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';
/** A standby has those of its primary, a database made from a dump has its own. */
const PLACE = `(SELECT system_identifier || '.' || oid FROM pg_control_system(), pg_database WHERE datname = current_database())`;
const CURRENT = `(SELECT ${TIMELINE} || ' ' || ${PLACE})`;
const SELECT = sql(`SELECT ${TIMELINE} AS timeline, ${PLACE} AS place,
    EXISTS (SELECT 1 FROM timelines AS t WHERE t.timeline = ${CURRENT}) AS is_accepted,
    NOT EXISTS (SELECT 1 FROM timelines) AS is_first,
    current_setting('synchronous_standby_names') <> ''
      AND EXISTS (SELECT 1 FROM timelines AS t WHERE t.timeline LIKE '% ' || ${PLACE}) AS is_complete`);
const ACCEPT = sql(
  `INSERT INTO timelines (timeline, accepted) SELECT ${CURRENT}, ${POSTGRES_NOW} ON CONFLICT (timeline) DO NOTHING`,
);

interface TimelineRow {
  readonly timeline: string;
  readonly place: string;
  readonly is_accepted: number;
  readonly is_first: number;
  /** A standby that took over had to have all that was answered. */
  readonly is_complete: number;
}

/** Vouches for the database as it is: what it may have lost is lost. Resolves with false where that was done before. */
export async function acceptTimeline(db: SqlTables): Promise<boolean> {
  const [row] = await db.query<TimelineRow>(SELECT);
  if (row?.is_accepted === 1) return false;
  await db.commit([write(ACCEPT)]);
  return true;
}

/**
 * Returns what refuses a database that may lack commits which it had answered: a standby took over that did not have to have them, or an
 * old primary came back. It rejects with StoreError `fenced` of one sentence, until an operator accepts.
 */
export function timelineCheck(db: SqlTables): () => Promise<void> {
  let last: Pick<TimelineRow, 'timeline' | 'place'> | null = null;
  return async () => {
    const [row] = await db.query<TimelineRow>(SELECT);
    if (!row) return;
    if (row.place === last?.place && row.timeline < last.timeline)
      throw lost('an earlier primary of the database has come back; end it, and name the present one');
    if (row.is_accepted !== 1) {
      if (row.is_first !== 1 && row.is_complete !== 1)
        throw lost(
          'a standby of the database has taken over, or a backup was restored, which may lack what was answered; see `signalbox ledger audit`, run `signalbox db accept` and start the servers again',
        );
      await db.commit([write(ACCEPT)]);
    }
    last = row;
  };
}

const lost = (why: string): StoreError => new StoreError(`This server grants nothing: ${why}.`, { reason: 'fenced' });
