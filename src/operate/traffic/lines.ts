import { TimeHistogram } from '../../core/time-histogram.ts';
import { NO_TRAFFIC, TRAFFIC_FIGURES, type TrafficBucket } from '../../store/traffic.ts';
import { addFigures, type SumFigures } from '../../store/traffic-sums.ts';

/** Sums of several buckets. */
interface CellSums {
  readonly figures: SumFigures;
  /** Null where times are not told. */
  readonly ttft: TimeHistogram | null;
  readonly duration: TimeHistogram | null;
}

const emptyCell = (): CellSums => ({
  figures: { ...NO_TRAFFIC },
  ttft: new TimeHistogram(),
  duration: new TimeHistogram(),
});

/** The figures of a line: as a whole, and by bucket. */
export interface TrafficLine {
  readonly whole: CellSums;
  readonly cells: readonly CellSums[];
}

export const emptyLine = (buckets: number): TrafficLine => ({
  whole: emptyCell(),
  cells: Array.from({ length: buckets }, emptyCell),
});

/** A line of sums alone. @param points the sums by bucket */
export const sumLine = (figures: SumFigures, points: readonly SumFigures[]): TrafficLine => ({
  whole: { figures, ttft: null, duration: null },
  cells: points.map((figures) => ({ figures, ttft: null, duration: null })),
});

export function addTo({ figures, ttft, duration }: CellSums, bucket: Omit<TrafficBucket, 'time' | 'series'>): void {
  addFigures(figures, bucket.figures);
  ttft?.merge(bucket.ttft);
  duration?.merge(bucket.duration);
}

/** A line less others; its times are not told. Null where nothing is left. */
export function restOf(total: TrafficLine, others: readonly TrafficLine[]): TrafficLine | null {
  const whole = restOfCell(
    total.whole,
    others.map(({ whole }) => whole),
  );
  const cells = total.cells.map((cell, at) =>
    restOfCell(
      cell,
      others.map(({ cells }) => cells[at]!),
    ),
  );
  const isEmpty = [whole, ...cells].every(({ figures }) => TRAFFIC_FIGURES.every((name) => figures[name] === 0));
  return isEmpty ? null : { whole, cells };
}

function restOfCell({ figures }: CellSums, others: readonly CellSums[]): CellSums {
  const rest = { ...figures };
  for (const other of others) for (const name of TRAFFIC_FIGURES) rest[name] -= other.figures[name];
  return { figures: rest, ttft: null, duration: null };
}

const SHARES = { p50: 0.5, p95: 0.95 } as const;
type Share = keyof typeof SHARES;

const msAt = (histogram: TimeHistogram | null, share: Share): number | null => {
  const ms = histogram?.quantile(SHARES[share]) ?? null;
  return ms === null ? null : Math.round(ms);
};

function rateOf({ figures: { visible, visibleMs }, ttft }: CellSums): number | null {
  return ttft === null || visibleMs <= 0 ? null : Math.round((visible * 10_000) / visibleMs) / 10;
}

const percentilesOf = (histogram: TimeHistogram | null) => ({
  p50: msAt(histogram, 'p50'),
  p95: msAt(histogram, 'p95'),
});

/** A line as an answer shows it. */
export function lineFigures({ whole, cells }: TrafficLine) {
  const { figures, ttft, duration } = whole;
  const column = <Value>(of: (cell: CellSums) => Value): Value[] => cells.map(of);
  const sums = (name: keyof SumFigures) => column((cell) => cell.figures[name]);
  return {
    whole: {
      ...figures,
      ...{ ttftMs: percentilesOf(ttft), durationMs: percentilesOf(duration), tokensPerSecond: rateOf(whole) },
    },
    buckets: {
      ...{ requests: sums('requests'), errors: sums('errors'), failedAttempts: sums('failedAttempts') },
      ...{ microcredits: sums('microcredits'), saved: sums('saved') },
      ...{ input: sums('input'), cached: sums('cached'), output: sums('output') },
      ttftP50Ms: column((cell) => msAt(cell.ttft, 'p50')),
      ttftP95Ms: column((cell) => msAt(cell.ttft, 'p95')),
      durationP50Ms: column((cell) => msAt(cell.duration, 'p50')),
      durationP95Ms: column((cell) => msAt(cell.duration, 'p95')),
      tokensPerSecond: column(rateOf),
    },
  };
}
