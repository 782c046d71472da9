import { SignalboxError } from '../../../core/errors.ts';
import { TimeHistogram } from '../../../core/time/histogram.ts';
import { NO_TRAFFIC, STEP_MS, TRAFFIC_FIGURES, type TrafficTable } from '../../../store/traffic.ts';
import { addFigures, type SumFigures } from '../../../store/traffic-sums.ts';
import { type TrafficPeriod, wholeOf } from './periods.ts';
import { isNone, type SeriesChoice, type TrafficSelection } from './selection.ts';

/** The most stored buckets that one answer reads, including those for its total. Reading 45,000 buckets takes at most 200 ms. */
const CELLS_MAX = 45_000;
/**
 * Up to this number, series are read one by one. If there are more series, they are read together with all other series of the same time.
 */
const LOOKED_UP = 50;

/** The sums of several buckets. */
interface CellSums {
  readonly figures: SumFigures;
  /** The times are null if the report has no times. */
  readonly ttft: TimeHistogram | null;
  readonly duration: TimeHistogram | null;
}

const timedCell = (): CellSums => ({
  figures: { ...NO_TRAFFIC },
  ttft: new TimeHistogram(),
  duration: new TimeHistogram(),
});
const sumCell = (figures: SumFigures = { ...NO_TRAFFIC }): CellSums => ({ figures, ttft: null, duration: null });

/** The figures of a line, for the whole period and for each bucket. */
export interface TrafficLine {
  readonly whole: CellSums;
  readonly cells: readonly CellSums[];
}

type Span = Pick<TrafficPeriod, 'from' | 'to' | 'unit'>;

/** The sums of all series that share a value. */
interface ValueSums {
  readonly names: Set<string>;
  readonly figures: SumFigures;
}

/** The sums of the selected series in a period: of all series, including the rest of the dimension, and of named series by value. */
interface Sums {
  readonly all: SumFigures;
  readonly byValue: Map<string, ValueSums>;
  /** Whether some series have no name. */
  hasRest: boolean;
}
const noSums = (): Sums => ({ all: { ...NO_TRAFFIC }, byValue: new Map(), hasRest: false });

/** The lines and the total to sum up. A total of null is not summed. */
type Summed = Pick<TrafficSelection, 'lines' | 'shownAs'> & { readonly total: SeriesChoice | null };

/** Returns the sums of the total and of all lines in a period. */
export const sumsOf = (traffic: TrafficTable, { total, lines, shownAs }: Summed, span: Span) =>
  Promise.all([
    total ? readSums(traffic, total, (series) => series, span) : noSums(),
    lines ? readSums(traffic, lines, shownAs, span) : noSums(),
  ]);

async function readSums(
  traffic: TrafficTable,
  choice: SeriesChoice,
  shownAs: (series: string) => string,
  span: Span,
): Promise<Sums> {
  const { kind, names, prefix = '', suffix = '' } = choice;
  const wanted = names && new Set<string | null>(names);
  const series = names && names.length <= LOOKED_UP ? [...new Set(names)] : null;
  const found = (await Promise.all(wholeOf(span).map((part) => traffic.sums({ kind, ...part, series })))).flat();
  await choice.learn?.(found.flatMap(({ series }) => series ?? []));
  const sums = noSums();
  for (const { series, ...figures } of found) {
    if (wanted && !wanted.has(series)) continue;
    if (series !== null && !(series.startsWith(prefix) && series.endsWith(suffix))) continue;
    addFigures(sums.all, figures);
    sums.hasRest ||= series === null;
    if (series === null || isNone(choice, series)) continue;
    const empty = () => ({ names: new Set<string>(), figures: { ...NO_TRAFFIC } });
    const ofValue = sums.byValue.getOrInsertComputed(shownAs(series), empty);
    ofValue.names.add(series);
    addFigures(ofValue.figures, figures);
  }
  return sums;
}

function greatestOf({ byValue }: Sums, limit: number): [string, ValueSums][] {
  const sorted = [...byValue].sort(
    ([one, { figures: a }], [other, { figures: b }]) =>
      b.microcredits - a.microcredits || b.requests - a.requests || (one < other ? -1 : 1),
  );
  return sorted.slice(0, limit);
}

/**
 * Reads the total, and the lines with the greatest spend by value, greatest first. Without points, and for buckets that have only sums, the
 * longest stored buckets are used.
 * @returns `isWithoutOthers`: whether everything else comes from keys without the label
 */
export async function readLines(
  traffic: TrafficTable,
  selection: TrafficSelection,
  period: TrafficPeriod,
  { limit, hasPoints }: { readonly limit: number; readonly hasPoints: boolean },
) {
  const { lines, shownAs } = selection;
  const { times, to, unit, placeOf } = period;
  const isTimed = hasPoints && placeOf !== null;
  const spans = hasPoints && !isTimed ? times.map((from, at) => ({ from, to: times[at + 1] ?? to, unit })) : [];
  const [[all, byLine], ...ofSpans] = await Promise.all([
    // The total of all series is later added up from buckets.
    sumsOf(traffic, isTimed && !selection.total.names ? { ...selection, total: null } : selection, period),
    ...spans.map((span) => sumsOf(traffic, selection, span)),
  ]);
  const greatest = greatestOf(byLine, limit);
  const isWithoutOthers = (lines?.prefix ?? '') !== '' && byLine.byValue.size < limit && !byLine.hasRest;
  const line = (figures: SumFigures, cells: readonly (SumFigures | undefined)[]): TrafficLine =>
    isTimed
      ? { whole: timedCell(), cells: times.map(timedCell) }
      : { whole: sumCell(figures), cells: cells.map(sumCell) };
  const total = line(
    all.all,
    ofSpans.map(([{ all }]) => all),
  );
  const read = new Map(
    greatest.map(([value, { figures }]) => [
      value,
      line(
        figures,
        ofSpans.map(([, { byValue }]) => byValue.get(value)?.figures),
      ),
    ]),
  );
  if (isTimed) {
    const ofTotal = { kind: selection.total.kind, names: selection.total.names && [...all.byValue.keys()] };
    const ofLines = lines && { kind: lines.kind, names: greatest.flatMap(([, { names }]) => [...names]) };
    checkCells(period, (ofTotal.names?.length ?? 1) + (ofLines?.names.length ?? 0));
    await Promise.all([
      addBuckets(traffic, ofTotal, period, placeOf, () => total),
      ofLines && addBuckets(traffic, ofLines, period, placeOf, (series) => read.get(shownAs(series ?? ''))!),
    ]);
  }
  return { total, lines: read, isWithoutOthers };
}

/** @throws SignalboxError */
function checkCells({ from, to, unit }: Span, series: number): void {
  if (((to - from) / STEP_MS[unit]) * series <= CELLS_MAX) return;
  const message = 'The answer would take too long. Choose a shorter period, a longer step or a smaller limit.';
  throw new SignalboxError('out_of_range', message, { param: 'limit' });
}

/** Adds buckets to the lines of their series. Reads all series together, because the buckets of the same time are stored together. */
async function addBuckets(
  traffic: TrafficTable,
  { kind, names: series }: SeriesChoice,
  { from, to, unit }: Span,
  placeOf: (time: number) => number,
  lineOf: (series: string | null) => TrafficLine,
): Promise<void> {
  for (const bucket of await traffic.buckets({ step: unit, kind, from, to, series })) {
    const { whole, cells } = lineOf(bucket.series);
    for (const { figures, ttft, duration } of [whole, cells[placeOf(bucket.time)]!]) {
      addFigures(figures, bucket.figures);
      ttft?.merge(bucket.ttft);
      duration?.merge(bucket.duration);
    }
  }
}

/** Returns a line minus other lines, without times; null if nothing is left. */
export function restOf(total: TrafficLine, others: readonly TrafficLine[]): TrafficLine | null {
  const less = (cell: CellSums, of: (line: TrafficLine) => CellSums): CellSums => {
    const rest = { ...cell.figures };
    for (const other of others) for (const name of TRAFFIC_FIGURES) rest[name] -= of(other).figures[name];
    return sumCell(rest);
  };
  const whole = less(total.whole, (line) => line.whole);
  const cells = total.cells.map((cell, at) => less(cell, (line) => line.cells[at]!));
  const isEmpty = [whole, ...cells].every(({ figures }) => TRAFFIC_FIGURES.every((name) => figures[name] === 0));
  return isEmpty ? null : { whole, cells };
}

function msAt(histogram: TimeHistogram | null, share: number): number | null {
  const ms = histogram?.quantile(share) ?? null;
  return ms === null ? null : Math.round(ms);
}
const percentilesOf = (histogram: TimeHistogram | null) => ({ p50: msAt(histogram, 0.5), p95: msAt(histogram, 0.95) });

function rateOf({ figures: { visible, visibleMs }, ttft }: CellSums): number | null {
  return ttft === null || visibleMs <= 0 ? null : Math.round((visible * 10_000) / visibleMs) / 10;
}

/** A line in the form of an answer. */
/** The cost on the baseline model, in microcredits. */
const baselineOf = ({ figures: { microcredits, saved } }: CellSums): number => microcredits + saved;

export function lineFigures({ whole, cells }: TrafficLine) {
  const column = <Value>(of: (cell: CellSums) => Value): Value[] => cells.map(of);
  const sums = Object.fromEntries(TRAFFIC_FIGURES.map((name) => [name, column(({ figures }) => figures[name])]));
  return {
    whole: {
      ...whole.figures,
      baseline: baselineOf(whole),
      ...{
        ttftMs: percentilesOf(whole.ttft),
        durationMs: percentilesOf(whole.duration),
        tokensPerSecond: rateOf(whole),
      },
    },
    buckets: {
      ...(sums as Record<keyof SumFigures, number[]>),
      baseline: column(baselineOf),
      ttftP50Ms: column(({ ttft }) => msAt(ttft, 0.5)),
      ttftP95Ms: column(({ ttft }) => msAt(ttft, 0.95)),
      durationP50Ms: column(({ duration }) => msAt(duration, 0.5)),
      durationP95Ms: column(({ duration }) => msAt(duration, 0.95)),
      tokensPerSecond: column(rateOf),
    },
  };
}
