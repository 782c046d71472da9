import { TimeHistogram } from '../../../core/time-histogram.ts';
import { type SqlReader, type SqlWrite, sql, write } from '../../sql/statement.ts';
import {
  SERIES_MAX,
  STEP_MS,
  TRAFFIC_FIGURES,
  TRAFFIC_KINDS,
  type TrafficFigures,
  type TrafficKind,
  type TrafficStep,
} from '../../traffic.ts';
import { addFigures, type SumFigures, type TrafficSum } from '../../traffic-sums.ts';

const MINUTE_MS = STEP_MS.minute;
export const widthOf = (step: TrafficStep): number => STEP_MS[step] / MINUTE_MS;
export const numberOfKind = (kind: TrafficKind): number => TRAFFIC_KINDS.indexOf(kind);
const bucketOf = (time: number, step: TrafficStep): number => Math.floor(time / STEP_MS[step]);

/** A row without its names. */
export interface FigureRow extends TrafficFigures {
  readonly ttft: Uint8Array;
  readonly duration: Uint8Array;
}

const columnOf = (name: keyof TrafficFigures): string =>
  (({ failedAttempts: 'failed_attempts', visibleMs: 'visible_ms' }) as Partial<Record<typeof name, string>>)[name] ??
  name;
const COLUMNS = TRAFFIC_FIGURES.map(columnOf).join(', ');
/** The sums of the figures of the table `t`. */
export const SUM_COLUMNS = TRAFFIC_FIGURES.map((name) => `sum(t.${columnOf(name)}) AS ${name}`).join(', ');
/** The columns of `FigureRow`, of the table `t`. */
export const FIGURE_COLUMNS = `${TRAFFIC_FIGURES.map((name) => `t.${columnOf(name)} AS ${name}`).join(', ')}, t.ttft, t.duration`;

const NUMBERS = sql(`SELECT s.kind, s.name, s.number FROM json_each(?) AS k CROSS JOIN traffic_series AS s
    ON s.kind = k.value ->> 0 AND s.name = k.value ->> 1`);
const LAST_NUMBER = sql('SELECT kind, max(number) AS number FROM traffic_series GROUP BY kind');
const OF_DAY = sql(`SELECT series FROM traffic WHERE width = ${widthOf('day')} AND kind = ? AND bucket = ?`);
const PUT_SERIES = sql(`INSERT INTO traffic_series (kind, number, name, last_day) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET last_day = max(last_day, excluded.last_day)`);
const SELECT =
  sql(`SELECT t.width, t.kind, t.bucket, t.series, ${FIGURE_COLUMNS} FROM json_each(?) AS k CROSS JOIN traffic AS t
    ON t.width = k.value ->> 0 AND t.kind = k.value ->> 1 AND t.bucket = k.value ->> 2 AND t.series = k.value ->> 3`);
const PUT = sql(`INSERT OR REPLACE INTO traffic (width, kind, bucket, series, ${COLUMNS}, ttft, duration)
    VALUES (?, ?, ?, ?${', ?'.repeat(TRAFFIC_FIGURES.length)}, ?, ?)`);

type Place = readonly [width: number, kind: number, bucket: number, series: number];
interface Row extends FigureRow {
  readonly width: number;
  readonly kind: number;
  readonly bucket: number;
  readonly series: number;
}

/** The writes that add sums to the buckets as they are now. They must be committed on the condition that nothing else has changed these. */
export async function additionsTo(db: SqlReader, sums: Iterable<TrafficSum>): Promise<SqlWrite[]> {
  const all = [...sums];
  const series = await SeriesNumbers.of(db, all);
  const rows = new Map<string, { place: Place; figures: SumFigures; ttft: TimeHistogram; duration: TimeHistogram }>();
  for (const sum of all) {
    const { step, time, kind, figures, ttft, duration } = sum;
    const place: Place = [widthOf(step), numberOfKind(kind), bucketOf(time, step), await series.numberOf(sum)];
    const name = place.join(' ');
    const row = rows.get(name);
    if (!row) rows.set(name, { place, figures: { ...figures }, ttft, duration });
    else add(row, figures, ttft, duration);
  }
  const places = JSON.stringify([...rows.values()].map(({ place }) => place));
  for (const { width, kind, bucket, series, ttft, duration, ...figures } of await db.query<Row>(SELECT, [places])) {
    const row = rows.get([width, kind, bucket, series].join(' '))!;
    add(row, figures, TimeHistogram.decode(ttft), TimeHistogram.decode(duration));
  }
  const puts = [...rows.values()].map(({ place, figures, ttft, duration }) =>
    write(PUT, ...place, ...TRAFFIC_FIGURES.map((name) => figures[name]), ttft.encode(), duration.encode()),
  );
  return [...series.writes, ...puts];
}

function add(
  row: {
    readonly figures: SumFigures;
    readonly ttft: TimeHistogram;
    readonly duration: TimeHistogram;
  },
  figures: TrafficFigures,
  ttft: TimeHistogram,
  duration: TimeHistogram,
): void {
  addFigures(row.figures, figures);
  row.ttft.merge(ttft);
  row.duration.merge(duration);
}

/** The numbers of series. Those that a day has first keep their names that day, up to SERIES_MAX; the rest of it is number 0. */
class SeriesNumbers {
  readonly writes: SqlWrite[] = [];
  readonly #db: SqlReader;
  /** By kind and name. */
  readonly #known: Map<string, number>;
  /** By kind. */
  readonly #last: Map<number, number>;
  /** Those that a day has, by kind and day. */
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
    const last = await db.query<{ kind: number; number: number }>(LAST_NUMBER);
    return new SeriesNumbers(
      db,
      new Map(known.map(({ kind, name, number }) => [`${kind} ${name}`, number])),
      new Map(last.map(({ kind, number }) => [kind, number])),
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
