import type { Timers } from '../../core/time/timers.ts';
import { processTimers } from '../../host/telemetry/process-timers.ts';
import { WrittenTraffic } from '../record-traffic.ts';
import { type SqlTables, sql, write } from '../sql/statement.ts';
import { BATCH_SIZE, type BatchSize } from '../sql/traffic/batch.ts';
import type { CountingMeans } from '../sql/traffic/means.ts';
import { COLUMNS } from '../sql/traffic/rows.ts';
import { sqlTraffic } from '../sql/traffic/table.ts';
import type { TrafficTable } from '../traffic.ts';
import { Horizon } from './horizon.ts';

/** How long a count waits for running transactions, ms. A request for traffic figures waits for the count. */
const HORIZON_MS = 50;

const NUMBERS = ['width', 'kind', 'bucket', 'series', ...COLUMNS];
const ROW = [...NUMBERS.map((name) => `${name} bigint`), 'ttft text', 'duration text'].join(', ');
const REPLACED = [...COLUMNS, 'ttft', 'duration'].map((name) => `${name} = excluded.${name}`).join(', ');
/** Writes all buckets of a batch in one statement. */
const PUT = sql(`INSERT INTO traffic (${NUMBERS.join(', ')}, ttft, duration)
    SELECT ${NUMBERS.join(', ')}, decode(ttft, 'hex'), decode(duration, 'hex') FROM json_to_recordset(?::json) AS row (${ROW})
    ON CONFLICT (width, kind, bucket, series) DO UPDATE SET ${REPLACED}`);

interface CountOptions {
  readonly size?: BatchSize;
  readonly written?: WrittenTraffic;
  readonly waitMs?: number;
  readonly timers?: Timers;
}

export function postgresTraffic(db: SqlTables, options: CountOptions = {}): TrafficTable {
  const { size = BATCH_SIZE, written = new WrittenTraffic(), waitMs = HORIZON_MS, timers = processTimers } = options;
  const horizon = new Horizon((text, values) => db.query({ sql: text }, values), timers, {
    records: 'records_seq',
    entries: 'journal_seq',
  });
  const means: CountingMeans = {
    written,
    index: async () => false,
    horizon: () => horizon.within(waitMs),
    put: (buckets) => {
      const rows = buckets.map(
        ({ failedAttempts: failed_attempts, visibleMs: visible_ms, ttft, duration, ...row }) => ({
          ...row,
          failed_attempts,
          visible_ms,
          ttft: ttft.toHex(),
          duration: duration.toHex(),
        }),
      );
      return [write(PUT, JSON.stringify(rows))];
    },
  };
  return sqlTraffic(db, means, size);
}
