import { commandName } from '../../core/command-name.ts';
import { POSTGRES_NOW, type SqlTables, sql, write } from '../sql/statement.ts';
import { StoreError } from '../store.ts';

/** The timeline of the write-ahead log. PostgreSQL starts a new timeline when a standby takes over. */
const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)';
/** The value that identifies the database. A standby has the same value as its primary. A database restored from a dump has a new value. */
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
  /** 1 if a synchronous standby took over: such a standby has all commits that were acknowledged. */
  readonly is_complete: number;
}

/**
 * Accepts the current database on behalf of an operator: commits that the database may have lost stay lost.
 * @returns false if the database was accepted before
 */
export async function acceptTimeline(db: SqlTables): Promise<boolean> {
  const [row] = await db.query<TimelineRow>(SELECT);
  if (row?.is_accepted === 1) return false;
  await db.commit([write(ACCEPT)]);
  return true;
}

/**
 * Returns a check for databases that may lack acknowledged commits: an asynchronous standby has taken over, or an old primary has returned.
 * The check rejects with the StoreError `fenced`, of one sentence, until an operator accepts the database.
 */
export function timelineCheck(db: SqlTables): () => Promise<void> {
  let last: Pick<TimelineRow, 'timeline' | 'place'> | null = null;
  return async () => {
    const [row] = await db.query<TimelineRow>(SELECT);
    if (!row) return;
    if (row.place === last?.place && row.timeline < last.timeline)
      throw lost('an earlier primary of the database has come back; stop it, and name the current primary in the URL');
    if (row.is_accepted !== 1) {
      if (row.is_first !== 1 && row.is_complete !== 1)
        throw lost(
          `a standby has become the primary of the database, or a backup was restored, so it may lack commits that were acknowledged; see \`${commandName()} ledger audit\`, run \`${commandName()} db accept\` and start the servers again`,
        );
      await db.commit([write(ACCEPT)]);
    }
    last = row;
  };
}

const lost = (why: string): StoreError => new StoreError(`This server grants nothing: ${why}.`, { reason: 'fenced' });
