import { TimeHistogram } from '../../../core/time/histogram.ts';
import {
  keptFromAt,
  type SeriesSums,
  STEP_MS,
  TRAFFIC_FIGURES,
  TRAFFIC_KINDS,
  TRAFFIC_STEPS,
  type TrafficBucket,
  type TrafficFigures,
  type TrafficQuery,
  type TrafficStep,
  type TrafficTable,
} from '../../traffic.ts';
import { first, type SqlReader, type SqlTables, sql, write } from '../statement.ts';
import { BATCH_SIZE, isPastLeft } from './batch.ts';
import { countTraffic } from './count.ts';
import type { CountingMeans, FigureRow } from './means.ts';
import { FIGURE_COLUMNS, numberOfKind, SUM_COLUMNS, widthOf } from './rows.ts';
import { advance, countingState, keptAfter, recountFromOf } from './state.ts';

/** The number of rows to delete in one transaction. */
const PRUNED = 2_000;

const BETWEEN = 't.width = ?1 AND t.kind = ?2 AND t.bucket >= ?3 AND t.bucket < ?4';
const NAMED = 'LEFT JOIN traffic_series AS s ON s.kind = ?2 AND s.number = t.series';
const ALL = sql(`SELECT t.bucket, s.name AS series, ${FIGURE_COLUMNS} FROM traffic AS t ${NAMED} WHERE ${BETWEEN}
    ORDER BY t.bucket, t.series`);
/**
 * The query looks up the requested series bucket by bucket, because a period has many more series than are requested. SQLite stores the
 * rows of one time together, so the lookup goes by time.
 */
const ofSome = (columns: string, end = '') =>
  sql(
    `WITH RECURSIVE wanted AS MATERIALIZED (SELECT s.number, s.name FROM json_each(?5) AS k CROSS JOIN traffic_series AS s
      ON s.kind = ?2 AND s.name = k.value),
    buckets (bucket) AS (SELECT ?3 WHERE ?3 < ?4 UNION ALL SELECT bucket + 1 FROM buckets WHERE bucket + 1 < ?4)
    SELECT ${columns} FROM buckets AS b CROSS JOIN wanted AS w CROSS JOIN traffic AS t
      ON t.width = ?1 AND t.kind = ?2 AND t.bucket = b.bucket AND t.series = w.number ${end}`,
    // In PostgreSQL, the query uses an index by series and time.
    {
      inPostgres: `SELECT ${columns} FROM traffic_series AS w JOIN traffic AS t ON t.kind = w.kind AND t.series = w.number
      WHERE w.kind = ?2 AND w.name IN (SELECT json_array_elements_text(?5::json)) AND ${BETWEEN} ${end}`,
    },
  );
const SOME = ofSome(`t.bucket, w.name AS series, ${FIGURE_COLUMNS}`);
const SOME_SUMS = ofSome(`w.name AS series, ${SUM_COLUMNS}`, 'GROUP BY w.name');
/** The names of series are joined after summing, because there are far fewer sums than buckets. */
const SUMS = sql(`SELECT s.name AS series, ${TRAFFIC_FIGURES.map((name) => `g.${name}`).join(', ')}
    FROM (SELECT t.series, ${SUM_COLUMNS} FROM traffic AS t WHERE ${BETWEEN} GROUP BY t.series) AS g LEFT JOIN traffic_series AS s ON s.kind = ?2 AND s.number = g.series`);
const MODELS = sql(
  `SELECT name FROM traffic_series WHERE kind = ${numberOfKind('key_model')} AND name >= ?1 AND name < ?2`,
);

/** Selects the time of the next row of a table before or after a position. */
const next = (table: string, where: string, order: string) =>
  `SELECT * FROM (SELECT time FROM ${table} WHERE ${where} ORDER BY ${order} LIMIT 1) AS ${table}_next`;
const counted = (column: string) => `(SELECT ${column} FROM traffic_counting)`;
const FRESH = [
  next('records', `seq > ${counted('records_through')}`, 'seq'),
  next('journal', `seq > ${counted('journal_through')}`, 'seq'),
];
const PAST = [
  next('records', `seq < ${counted('records_before')}`, 'seq DESC'),
  next('journal', `seq < ${counted('journal_before')}`, 'seq DESC'),
];
const LAST = [
  next('records', `seq = ${counted('records_through')}`, 'seq'),
  next('journal', `seq = ${counted('journal_through')}`, 'seq'),
];
const TIMES = sql(`SELECT (SELECT min(time) FROM (${FRESH.join(' UNION ALL ')}) AS fresh) AS freshFrom,
    (SELECT max(time) FROM (${PAST.join(' UNION ALL ')}) AS past) AS past,
    (SELECT max(time) FROM (${LAST.join(' UNION ALL ')}) AS last) AS lastAt`);

const FIRST = sql('SELECT min(bucket) AS bucket FROM traffic WHERE width = ?1 AND kind = ?2');
const LAST_EARLIER = sql(
  `SELECT bucket FROM traffic WHERE width = ?1 AND kind = ?2 AND bucket < ?3 ORDER BY bucket DESC LIMIT 1`,
);
const DELETE_EARLIER =
  sql(`DELETE FROM traffic WHERE (width, kind, bucket, series) IN (SELECT width, kind, bucket, series
    FROM traffic WHERE width = ?1 AND kind = ?2 AND bucket < ?3 ORDER BY bucket LIMIT ${PRUNED})`);
const FORGET_SERIES = sql('DELETE FROM traffic_series WHERE last_day < ?');
const FORGET_WAITING = sql('DELETE FROM traffic_waiting WHERE id < (SELECT pruned_below FROM traffic_counting)');

type BucketRow = FigureRow & { readonly bucket: number; readonly series: string | null };

const paramsOf = ({ step, kind, from, to }: Omit<TrafficQuery, 'series'>) =>
  [widthOf(step), numberOfKind(kind), Math.ceil(from / STEP_MS[step]), Math.ceil(to / STEP_MS[step])] as const;

export const sqlTraffic = (db: SqlTables, means: CountingMeans, size = BATCH_SIZE): TrafficTable => ({
  count: (now) => countTraffic(db, means, now, size),
  async buckets(query) {
    const { series, step } = query;
    const rows = await (series === null
      ? db.query<BucketRow>(ALL, paramsOf(query))
      : db.query<BucketRow>(SOME, [...paramsOf(query), JSON.stringify(series)]));
    return rows.map((row) => bucketOf(row, STEP_MS[step]));
  },
  sums: (query) =>
    query.series === null
      ? db.query<SeriesSums>(SUMS, paramsOf(query))
      : db.query<SeriesSums>(SOME_SUMS, [...paramsOf(query), JSON.stringify(query.series)]),
  async modelsOf(key) {
    // `!` is the character after the space, so this range contains all names that begin with the key and a space.
    const rows = await db.query<{ name: string }>(MODELS, [`${key} `, `${key}!`]);
    return rows.map(({ name }) => name);
  },
  progress: () => progressOf(db),
  async recount() {
    const state = await countingState(db);
    if (state.isClearing || isPastLeft(state)) return null;
    const recountFrom = recountFromOf(state.prunedBelow);
    return (await advance(db, state, { recountFrom, isClearing: 1 }, [])) ? recountFrom : null;
  },
  async prune(now) {
    const keptFrom = keptFromAt(now);
    for (const step of TRAFFIC_STEPS) {
      for (const kind of TRAFFIC_KINDS) {
        await deleteBefore(db, widthOf(step), numberOfKind(kind), Math.ceil(keptFrom[step] / STEP_MS[step]));
      }
    }
    await db.commit([write(FORGET_SERIES, Math.floor(keptFrom.day / STEP_MS.day)), write(FORGET_WAITING)]);
  },
});

async function deleteBefore(db: SqlTables, width: number, kind: number, before: number): Promise<void> {
  for (;;) {
    const last = await first<{ bucket: number }>(db, LAST_EARLIER, width, kind, before);
    if (!last) return;
    await db.commit([write(DELETE_EARLIER, width, kind, before), keptAfter(width, last.bucket)]);
  }
}

function bucketOf({ bucket, series, ttft, duration, ...row }: BucketRow, lengthMs: number): TrafficBucket {
  const figures = Object.fromEntries(TRAFFIC_FIGURES.map((name) => [name, row[name]])) as unknown as TrafficFigures;
  return {
    time: bucket * lengthMs,
    series,
    figures,
    ttft: TimeHistogram.decode(ttft),
    duration: TimeHistogram.decode(duration),
  };
}

async function progressOf(db: SqlTables) {
  type Times = Readonly<Record<'freshFrom' | 'past' | 'lastAt', number | null>>;
  const [state, times, firstAt] = await Promise.all([countingState(db), first<Times>(db, TIMES), firstAtOf(db)]);
  const { freshFrom = null, past = null, lastAt = null } = times ?? {};
  const pastBefore = isPastLeft(state) ? past : null;
  return { freshFrom, lastAt, firstAt, pastBefore: state.isClearing === 1 ? Number.MAX_SAFE_INTEGER : pastBefore };
}

/** Returns the number of the first stored bucket of a length; null for none. */
const firstBucket = async (db: SqlReader, step: TrafficStep): Promise<number | null> =>
  (await first<{ bucket: number | null }>(db, FIRST, widthOf(step), numberOfKind('total')))?.bucket ?? null;

/** Returns when the first stored day begins, or the first hour or minute within it if buckets of that length are still stored. */
async function firstAtOf(db: SqlTables): Promise<number | null> {
  let found: { readonly at: number; readonly ms: number } | null = null;
  const steps = TRAFFIC_STEPS.toReversed();
  const firsts = await Promise.all(steps.map((step) => firstBucket(db, step)));
  for (const [place, bucket] of firsts.entries()) {
    const ms = STEP_MS[steps[place]!];
    const at = bucket === null ? null : bucket * ms;
    if (at !== null && (found === null || at < found.at + found.ms)) found = { at, ms };
  }
  return found?.at ?? null;
}
