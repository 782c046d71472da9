import { toCredits } from '../../core/credits.ts';
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

/** A line as the admin API shows it. */
export function lineBody({ whole, cells }: TrafficLine, usd: (microcredits: number) => string) {
  const { figures, ttft, duration } = whole;
  const column = <Value>(of: (cell: CellSums) => Value): Value[] => cells.map(of);
  return {
    whole: {
      requests: figures.requests,
      errors: figures.errors,
      failed_attempts: figures.failedAttempts,
      credits: toCredits(figures.microcredits),
      usd: usd(figures.microcredits),
      saved_credits: toCredits(figures.saved),
      saved_usd: usd(figures.saved),
      input_tokens: figures.input,
      cached_input_tokens: figures.cached,
      output_tokens: figures.output,
      ttft_ms: { p50: msAt(ttft, 'p50'), p95: msAt(ttft, 'p95') },
      duration_ms: { p50: msAt(duration, 'p50'), p95: msAt(duration, 'p95') },
      tokens_per_second: rateOf(whole),
    },
    buckets: {
      requests: column((cell) => cell.figures.requests),
      errors: column((cell) => cell.figures.errors),
      failed_attempts: column((cell) => cell.figures.failedAttempts),
      credits: column((cell) => toCredits(cell.figures.microcredits)),
      saved_credits: column((cell) => toCredits(cell.figures.saved)),
      input_tokens: column((cell) => cell.figures.input),
      cached_input_tokens: column((cell) => cell.figures.cached),
      output_tokens: column((cell) => cell.figures.output),
      ttft_p50_ms: column((cell) => msAt(cell.ttft, 'p50')),
      ttft_p95_ms: column((cell) => msAt(cell.ttft, 'p95')),
      duration_p50_ms: column((cell) => msAt(cell.duration, 'p50')),
      duration_p95_ms: column((cell) => msAt(cell.duration, 'p95')),
      tokens_per_second: column(rateOf),
    },
  };
}
