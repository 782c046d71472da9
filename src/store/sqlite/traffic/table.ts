import { WrittenTraffic } from '../../record-traffic.ts';
import { first, type SqlTables, sql, write } from '../../sql/statement.ts';
import { BATCH_SIZE } from '../../sql/traffic/batch.ts';
import type { CountingMeans } from '../../sql/traffic/means.ts';
import { COLUMNS } from '../../sql/traffic/rows.ts';
import { sqlTraffic } from '../../sql/traffic/table.ts';
import { TRAFFIC_FIGURES, type TrafficTable } from '../../traffic.ts';
import { indexRecords } from '../records/indexing.ts';

const INDEXED = sql('SELECT through AS records FROM record_indexing');
const PUT = sql(`INSERT OR REPLACE INTO traffic (width, kind, bucket, series, ${COLUMNS.join(', ')}, ttft, duration)
    VALUES (?, ?, ?, ?${', ?'.repeat(TRAFFIC_FIGURES.length)}, ?, ?)`);

const sqliteCounting = (db: SqlTables, written: WrittenTraffic): CountingMeans => ({
  written,
  index: () => indexRecords(db),
  // Only indexed records are counted, because a charge finds its record with the index.
  horizon: async () => ({
    records: (await first<{ records: number }>(db, INDEXED))?.records ?? 0,
    entries: Number.MAX_SAFE_INTEGER,
  }),
  put: putBuckets,
});

export const putBuckets: CountingMeans['put'] = (buckets) =>
  buckets.map((row) =>
    write(
      PUT,
      ...[row.width, row.kind, row.bucket, row.series, ...TRAFFIC_FIGURES.map((name) => row[name])],
      ...[row.ttft, row.duration],
    ),
  );

export const sqliteTraffic = (db: SqlTables, written = new WrittenTraffic(), size = BATCH_SIZE): TrafficTable =>
  sqlTraffic(db, sqliteCounting(db, written), size);
