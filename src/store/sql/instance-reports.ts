import type { InstanceReport, InstanceReportTable, PresentInstance } from '../instance-reports.ts';
import { LEASE_MS } from '../lease.ts';
import { type SqlReader, sql, write } from './statement.ts';

const COLUMNS = `slot, epoch, name, version, follows, revision, since, rank, error, pushed, judged, refusal,
    judged_revision, seen, clock_offset_ms`;
const SELECT = sql(`SELECT slot, epoch, name, version, follows, revision, since, rank, error, pushed, judged, refusal,
    judged_revision AS "judgedRevision", seen, clock_offset_ms AS "clockOffsetMs" FROM instance_reports ORDER BY slot`);
const PRESENT = sql('SELECT 0 AS slot, epoch, NULL AS renewed FROM fence', {
  inPostgres: `SELECT slot, epoch, until - ${LEASE_MS} AS renewed FROM instances
    WHERE is_released = 0 AND until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint ORDER BY slot`,
});
const PUT = sql(`INSERT INTO instance_reports (${COLUMNS})
    VALUES ($slot, $epoch, $name, $version, $follows, $revision, $since, $rank, $error, $pushed, $judged, $refusal,
      $judgedRevision, $seen, $clockOffsetMs)
    ON CONFLICT (slot) DO UPDATE SET epoch = excluded.epoch, name = excluded.name, version = excluded.version,
      follows = excluded.follows, revision = excluded.revision, since = excluded.since, rank = excluded.rank,
      error = excluded.error, pushed = excluded.pushed, judged = excluded.judged, refusal = excluded.refusal,
      judged_revision = excluded.judged_revision, seen = excluded.seen, clock_offset_ms = excluded.clock_offset_ms`);

export const sqlInstanceReports = (db: SqlReader): InstanceReportTable => ({
  all: () => db.query<InstanceReport>(SELECT),
  present: () => db.query<PresentInstance>(PRESENT),
  put: (report) => write(PUT, { ...report }),
});
