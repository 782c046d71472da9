import { TimeHistogram } from '../../../core/time/histogram.ts';
import {
  SERIES_MAX,
  STEP_MS,
  TRAFFIC_FIGURES,
  TRAFFIC_KINDS,
  type TrafficFigures,
  type TrafficKind,
  type TrafficStep,
} from '../../traffic.ts';
import { addBucket, type TrafficSum } from '../../traffic-sums.ts';
import { type SqlReader, type SqlWrite, type Statement, sql, write } from '../statement.ts';
import type { CountingMeans, StoredBucket } from './means.ts';

const MINUTE_MS = STEP_MS.minute;
export const widthOf = (step: TrafficStep): number => STEP_MS[step] / MINUTE_MS;
export const numberOfKind = (kind: TrafficKind): number => TRAFFIC_KINDS.indexOf(kind);
const bucketOf = (time: number, step: TrafficStep): number => Math.floor(time / STEP_MS[step]);

const columnOf = (name: keyof TrafficFigures): string =>
  (({ failedAttempts: 'failed_attempts', visibleMs: 'visible_ms' }) as Partial<Record<typeof name, string>>)[name] ??
  name;
/** The columns of the figures, in the order of `TRAFFIC_FIGURES`. */
export const COLUMNS = TRAFFIC_FIGURES.map(columnOf);
/** The SQL sums of the figures of table `t`. */
export const SUM_COLUMNS = TRAFFIC_FIGURES.map((name) => `sum(t.${columnOf(name)}) AS ${name}`).join(', ');
/** The columns of `FigureRow`, from table `t`. */
export const FIGURE_COLUMNS = `${TRAFFIC_FIGURES.map((name) => `t.${columnOf(name)} AS ${name}`).join(', ')}, t.ttft, t.duration`;

/** Selects the rows that are listed in a JSON array of arrays. */
const byPlaces = (select: string, table: string, columns: readonly string[]): Statement => {
  const on = columns.map(
    (column, at) => `${column} = ${column === 's.name' ? `k.value ->> ${at}` : `CAST(k.value ->> ${at} AS BIGINT)`}`,
  );
  const text = (places: string) => `SELECT ${select} FROM ${places} AS k JOIN ${table} ON ${on.join(' AND ')}`;
  return sql(text('json_each(?)').replace('JOIN', 'CROSS JOIN'), { inPostgres: text('json_array_elements(?::json)') });
};
const NUMBERS = byPlaces('s.kind, s.name, s.number', 'traffic_series AS s', ['s.kind', 's.name']);
const KINDS = TRAFFIC_KINDS.map((_, kind) => `(${kind})`).join(', ');
const LAST_NUMBER = sql(`WITH kinds (kind) AS (VALUES ${KINDS})
    SELECT kind, (SELECT max(s.number) FROM traffic_series AS s WHERE s.kind = kinds.kind) AS number FROM kinds`);
const OF_DAY = sql(`SELECT series FROM traffic WHERE width = ${widthOf('day')} AND kind = ? AND bucket = ?`);
const PUT_SERIES = sql(`INSERT INTO traffic_series (kind, number, name, last_day) VALUES (?, ?, ?, ?)
    ON CONFLICT (kind, name) DO UPDATE SET last_day =
      CASE WHEN traffic_series.last_day < excluded.last_day THEN excluded.last_day ELSE traffic_series.last_day END`);
const SELECT = byPlaces(`t.width, t.kind, t.bucket, t.series, ${FIGURE_COLUMNS}`, 'traffic AS t', [
  ...['t.width', 't.kind', 't.bucket', 't.series'],
]);

type Place = readonly [width: number, kind: number, bucket: number, series: number];
/**
 * Makes the writes that add sums to the current buckets. The caller must commit these writes on the condition that no one else has changed
 * these buckets.
 */
export async function additionsTo(
  db: SqlReader,
  { put }: Pick<CountingMeans, 'put'>,
  sums: Iterable<TrafficSum>,
): Promise<SqlWrite[]> {
  const all = [...sums];
  const series = await SeriesNumbers.of(db, all);
  const rows = new Map<string, { place: Place } & Pick<TrafficSum, 'figures' | 'ttft' | 'duration'>>();
  for (const sum of all) {
    const { step, time, kind, figures, ttft, duration } = sum;
    const place: Place = [widthOf(step), numberOfKind(kind), bucketOf(time, step), await series.numberOf(sum)];
    const name = place.join(' ');
    const row = rows.get(name);
    if (!row) rows.set(name, { place, figures: { ...figures }, ttft, duration });
    else addBucket(row, sum);
  }
  const places = JSON.stringify([...rows.values()].map(({ place }) => place));
  for (const { width, kind, bucket, series, ttft, duration, ...figures } of await db.query<StoredBucket>(SELECT, [
    places,
  ])) {
    const row = rows.get([width, kind, bucket, series].join(' '))!;
    addBucket(row, { figures, ttft: TimeHistogram.decode(ttft), duration: TimeHistogram.decode(duration) });
  }
  const stored = [...rows.values()].map(({ place: [width, kind, bucket, series], figures, ttft, duration }) => ({
    width,
    kind,
    bucket,
    series,
    ...figures,
    ttft: ttft.encode(),
    duration: duration.encode(),
  }));
  return [...series.writes, ...put(stored)];
}

/**
 * The numbers of series. The first SERIES_MAX series of a day keep their names on that day; all further series of that day are counted as
 * number 0.
 */
class SeriesNumbers {
  readonly writes: SqlWrite[] = [];
  readonly #db: SqlReader;
  /** Numbers of known series, by kind and name. */
  readonly #known: Map<string, number>;
  /** The last number that was used, by kind. */
  readonly #last: Map<number, number>;
  /** The series that a day has, by kind and day. */
  readonly #ofDay = new Map<string, Set<number>>();

  private constructor(db: SqlReader, known: Map<string, number>, last: Map<number, number>) {
    this.#db = db;
    this.#known = known;
    this.#last = last;
  }

  static async of(db: SqlReader, sums: readonly TrafficSum[]): Promise<SeriesNumbers> {
    const names = new Map(
      sums.map(({ kind, series }) => [`${numberOfKind(kind)} ${series}`, [numberOfKind(kind), series]]),
    );
    const known = await db.query<{ kind: number; name: string; number: number }>(NUMBERS, [
      JSON.stringify([...names.values()]),
    ]);
    const last = await db.query<{ kind: number; number: number | null }>(LAST_NUMBER);
    return new SeriesNumbers(
      db,
      new Map(known.map(({ kind, name, number }) => [`${kind} ${name}`, number])),
      new Map(last.map(({ kind, number }) => [kind, number ?? 0])),
    );
  }

  async numberOf({ kind: name, series, time }: TrafficSum): Promise<number> {
    const [kind, day] = [numberOfKind(name), bucketOf(time, 'day')];
    const ofDay = await this.#seriesOf(kind, day);
    const known = this.#known.get(`${kind} ${series}`);
    if (known !== undefined && ofDay.has(known)) return known;
    if (ofDay.size >= SERIES_MAX) return 0;
    const number = known ?? (this.#last.get(kind) ?? 0) + 1;
    if (known === undefined) this.#last.set(kind, number);
    this.#known.set(`${kind} ${series}`, number);
    ofDay.add(number);
    this.writes.push(write(PUT_SERIES, kind, number, series, day));
    return number;
  }

  async #seriesOf(kind: number, day: number): Promise<Set<number>> {
    const name = `${kind} ${day}`;
    let found = this.#ofDay.get(name);
    if (!found) {
      const rows = await this.#db.query<{ series: number }>(OF_DAY, [kind, day]);
      found = new Set(rows.map(({ series }) => series).filter((series) => series > 0));
      this.#ofDay.set(name, found);
    }
    return found;
  }
}
