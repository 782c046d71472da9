import type { Keys } from '../../access/keys.ts';
import type { People } from '../../access/people.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Store } from '../../store/store.ts';
import { NO_TRAFFIC, STEP_MS, type TrafficGrouping, type TrafficTable } from '../../store/traffic.ts';
import { addFigures, type SumFigures } from '../../store/traffic-sums.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { Sight } from '../sight.ts';
import type { TrafficFilters } from './grouping.ts';
import { addTo, emptyLine, lineFigures, restOf, sumLine, type TrafficLine } from './lines.ts';
import { type AnswerStep, periodOf, type TrafficPeriod, wholeOf } from './periods.ts';
import { type SeriesChoice, selectionOf, type TrafficSelection } from './selection.ts';

/** The traffic that somebody asks for. */
export interface TrafficQuestion {
  /** Ms since 1970; `to` is exclusive. They are widened to whole buckets. */
  readonly from: number;
  readonly to: number;
  readonly step: AnswerStep;
  readonly timeZone: string;
  /** Null for the total alone. */
  readonly by: TrafficGrouping | null;
  readonly filters: TrafficFilters;
  /** Series at most; the rest is told as one. */
  readonly limit: number;
  /** Whether each line has the sums of the period of the same length before. */
  readonly isCompared: boolean;
  /** Whether figures by bucket and times are told; without them the sums come sooner. */
  readonly hasPoints: boolean;
}

/** The sources of traffic. */
export interface TrafficSources {
  readonly store: Pick<Store, 'flush'> & { readonly traffic: TrafficTable };
  readonly sight: Sight;
  /** The names of keys, teams and users now; null for unknown ones. */
  readonly nameOf: Readonly<Record<'key' | 'team' | 'user', (id: string) => string | null | Promise<string | null>>>;
  readonly now: number;
}

/** The names of keys, teams and users, by the copies of them. */
export const namesOf = (
  keys: Pick<Keys, 'named'>,
  people: () => Pick<People, 'team' | 'user'>,
): TrafficSources['nameOf'] => ({
  key: async (id) => (await keys.named([id])).get(id)?.name ?? null,
  team: (id) => people().team(id)?.name ?? null,
  user: (id) => people().user(id)?.name || null,
});

export const TRAFFIC_LIMIT = 10;
export const TRAFFIC_LIMIT_MAX = 50;
/** Kept buckets of an answer at most, those of its total included: it takes no more than 200 ms. */
const CELLS_MAX = 45_000;
/** Series that are looked up one by one; more are read with all others of their time. */
const LOOKED_UP = 50;
/** Batches that are counted before an answer, so that it has what was just written. */
const FRESH_BATCHES = 3;

/** Traffic by bucket, as far as an asker may see it. @throws SignalboxError, by rejecting. */
export async function trafficOf({ caller }: Principal, sources: TrafficSources, question: TrafficQuestion) {
  const reach = checkAction(caller, 'traffic.read');
  const { store, sight, now } = sources;
  const { by, filters, step, timeZone, limit, isCompared, hasPoints } = question;
  const period = periodOf(question, step, timeZone);
  const selection = await selectionOf(store.traffic, { caller, reach, sight }, by, filters);
  await catchUp(store, now);
  const reader = new LineReader(store.traffic, period);
  // At once, since a database may be some way off.
  const [read, sumsBefore, progress] = await Promise.all([
    hasPoints ? reader.read(selection, limit) : reader.readSums(selection, limit, []),
    isCompared ? reader.sumsBefore(selection) : null,
    store.traffic.progress(),
  ]);
  const { total } = read;
  const rest = selection.lines && restOf(total, [...read.lines.values()]);
  const [lines, other] = rest && read.isWithoutOthers ? [withNone(read.lines, rest), null] : [read.lines, rest];
  const earlier = sumsBefore && spendBefore(selection, sumsBefore, [...lines.keys()]);
  const names = await Promise.all([...lines.keys()].map((value) => nameIn(sources, by, value)));
  const before = (of: (spend: SpendBefore) => LineSpend | undefined) => earlier && (of(earlier) ?? NOTHING);
  return {
    object: 'traffic' as const,
    ...{ from: period.from, to: period.to, step, timeZone, by },
    countedUntil: Math.min(progress.freshFrom ?? now, now),
    firstAt: progress.firstAt,
    countingSince: progress.pastBefore === null ? null : Math.min(progress.pastBefore, now),
    times: hasPoints ? period.times : [],
    total: { ...lineFigures(total), before: before((spend) => spend.total) },
    series: [...lines].map(([value, line], at) => ({
      value,
      name: names[at]!,
      ...lineFigures(line),
      before: before((spend) => spend.lines.get(value)),
    })),
    other: other && { ...lineFigures(other), before: before((spend) => spend.rest) },
  };
}

/** Lines of the values of a label, with that of the keys without it. */
function withNone(lines: ReadonlyMap<string, TrafficLine>, none: TrafficLine): ReadonlyMap<string, TrafficLine> {
  const spendOf = ({ whole }: TrafficLine) => whole.figures.microcredits;
  return new Map([...lines, ['', none] as const].sort(([, one], [, other]) => spendOf(other) - spendOf(one)));
}

/** The sums of a line in the period before. */
interface LineSpend {
  readonly microcredits: number;
  readonly requests: number;
}

interface SpendBefore {
  readonly total: LineSpend;
  /** By the values of the lines that are told; absent for nothing. */
  readonly lines: ReadonlyMap<string, LineSpend>;
  /** The total less those. */
  readonly rest: LineSpend;
}

const NOTHING: LineSpend = { microcredits: 0, requests: 0 };
const minus = (one: LineSpend, other: LineSpend): LineSpend => ({
  microcredits: one.microcredits - other.microcredits,
  requests: one.requests - other.requests,
});

/** Counts what was written just before. Where the store refuses it, the answer says how far it is. */
async function catchUp(store: TrafficSources['store'], now: number): Promise<void> {
  try {
    await store.flush();
    for (let batches = 0; batches < FRESH_BATCHES; batches++) if (!(await store.traffic.count(now))) return;
  } catch {}
}

async function nameIn({ nameOf }: TrafficSources, by: TrafficGrouping | null, value: string): Promise<string> {
  return (by === 'key' || by === 'team' || by === 'user' ? await nameOf[by](value) : null) ?? value;
}

type Span = Pick<TrafficPeriod, 'from' | 'to' | 'unit'>;

/** The sums of the series that one value stands for. */
interface ValueSums {
  readonly names: Set<string>;
  readonly figures: SumFigures;
}

interface Sums {
  readonly all: SumFigures;
  readonly byValue: ReadonlyMap<string, ValueSums>;
  /** Whether some have no name. */
  readonly hasRest: boolean;
}
const NO_SUMS: Sums = { all: NO_TRAFFIC, byValue: new Map(), hasRest: false };

const ownName = (series: string): string => series;

function greatestOf({ byValue }: Sums, limit: number): [string, ValueSums][] {
  const sorted = [...byValue].sort(
    ([one, { figures: a }], [other, { figures: b }]) =>
      b.microcredits - a.microcredits || b.requests - a.requests || (one < other ? -1 : 1),
  );
  return sorted.slice(0, limit);
}

/** A label with an empty value is as none: both are left when all other values are told. */
const isNone = ({ prefix = '' }: SeriesChoice, series: string): boolean => prefix !== '' && series === prefix;

/** The spend of the total and of lines in the period before, by the sums of that. */
function spendBefore(
  { lines }: TrafficSelection,
  [{ all }, { byValue }]: readonly [Sums, Sums],
  values: readonly string[],
): SpendBefore {
  const found = new Map<string, LineSpend>();
  for (const value of values) found.set(value, byValue.get(value)?.figures ?? NOTHING);
  if (lines && found.has('') && isNone(lines, lines.prefix ?? '')) {
    found.set('', [...byValue.values()].map(({ figures }) => figures).reduce<LineSpend>(minus, all));
  }
  return { total: all, lines: found, rest: [...found.values()].reduce(minus, all) };
}

/** Reads the lines of a period: the series that spent most are found by the longest buckets within. */
class LineReader {
  readonly #traffic: TrafficTable;
  readonly #period: TrafficPeriod;
  #cells = 0;

  constructor(traffic: TrafficTable, period: TrafficPeriod) {
    this.#traffic = traffic;
    this.#period = period;
  }

  /**
   * @returns the total, and by their values the lines that spent most, first the greatest. `isWithoutOthers`: all else is what has not the
   * label that is told
   */
  async read(selection: TrafficSelection, limit: number) {
    const { total, lines, shownAs } = selection;
    const { times, placeOf } = this.#period;
    if (!placeOf) return await this.readSums(selection, limit, this.#spans());
    const sum = emptyLine(times.length);
    const addTotal = async () =>
      this.#add({ ...total, names: total.names && (await this.#present(total)) }, placeOf, () => sum);
    const [{ greatest, isWithoutOthers }] = await Promise.all([this.#greatest(lines, shownAs, limit), addTotal()]);
    const read = new Map(greatest.map(([value]) => [value, emptyLine(times.length)]));
    if (lines) {
      const lineOf = (series: string | null) => read.get(shownAs(series ?? ''))!;
      const names = greatest.flatMap(([, { names }]) => [...names]);
      await this.#add({ kind: lines.kind, names }, placeOf, lineOf);
    }
    return { total: sum, lines: read, isWithoutOthers };
  }

  /**
   * As `read`, without times: each line is summed by the longest buckets within, whose histograms stay as they are.
   * @param spans the points
   */
  async readSums({ total, lines, shownAs }: TrafficSelection, limit: number, spans: readonly Span[]) {
    const sumsOf = (span: Span) =>
      Promise.all([this.#sums(total, ownName, span), lines ? this.#sums(lines, shownAs, span) : NO_SUMS]);
    const [{ greatest, isWithoutOthers }, { all }, ...ofSpans] = await Promise.all([
      this.#greatest(lines, shownAs, limit),
      this.#sums(total, ownName, this.#period),
      ...spans.map(sumsOf),
    ]);
    const cells = ofSpans.map(([{ all }, { byValue }]) => ({ total: all, lines: byValue }));
    const lineOf = ([value, { figures }]: [string, ValueSums]) => {
      const points = cells.map(({ lines }) => lines.get(value)?.figures ?? { ...NO_TRAFFIC });
      return [value, sumLine(figures, points)] as const;
    };
    const points = cells.map(({ total }) => total);
    return { total: sumLine(all, points), lines: new Map(greatest.map(lineOf)), isWithoutOthers };
  }

  /** The buckets of the period. */
  #spans(): Span[] {
    const { times, to, unit } = this.#period;
    return times.map((from, at) => ({ from, to: times[at + 1] ?? to, unit }));
  }

  async #greatest(lines: SeriesChoice | null, shownAs: (series: string) => string, limit: number) {
    if (!lines) return { greatest: [], isWithoutOthers: false };
    const sums = await this.#sums(lines, shownAs, this.#period);
    const isWithoutOthers = (lines.prefix ?? '') !== '' && sums.byValue.size < limit && !sums.hasRest;
    return { greatest: greatestOf(sums, limit), isWithoutOthers };
  }

  /** The sums of the total and of all lines in the period of the same length before. */
  sumsBefore({ total, lines, shownAs }: TrafficSelection): Promise<readonly [Sums, Sums]> {
    const { from, to, unit } = this.#period;
    const before = { from: 2 * from - to, to: from, unit };
    return Promise.all([this.#sums(total, ownName, before), lines ? this.#sums(lines, shownAs, before) : NO_SUMS]);
  }

  /** The sums of a choice in a period: of all, the rest of the dimension included, and of named series by their values. */
  async #sums(choice: SeriesChoice, shownAs: (series: string) => string, period: Span): Promise<Sums> {
    const { kind, names, prefix = '', suffix = '' } = choice;
    const wanted = names && new Set<string | null>(names);
    const lookedUp = names && names.length <= LOOKED_UP ? [...new Set(names)] : null;
    const all = { ...NO_TRAFFIC };
    const byValue = new Map<string, ValueSums>();
    let hasRest = false;
    const stretches = wholeOf(period).map((stretch) => this.#traffic.sums({ kind, ...stretch, series: lookedUp }));
    const found = await Promise.all(stretches);
    await choice.learn?.(found.flatMap((sums) => sums.flatMap(({ series }) => series ?? [])));
    for (const sums of found) {
      for (const { series, ...figures } of sums) {
        if (wanted && !wanted.has(series)) continue;
        if (series !== null && !(series.startsWith(prefix) && series.endsWith(suffix))) continue;
        addFigures(all, figures);
        hasRest ||= series === null;
        if (series === null || isNone(choice, series)) continue;
        const sums = byValue.getOrInsertComputed(shownAs(series), () => ({
          names: new Set(),
          figures: { ...NO_TRAFFIC },
        }));
        sums.names.add(series);
        addFigures(sums.figures, figures);
      }
    }
    return { all, byValue, hasRest };
  }

  /** The names of the series of a choice that have something in the period. */
  async #present(choice: SeriesChoice): Promise<string[]> {
    const { byValue } = await this.#sums(choice, ownName, this.#period);
    return (choice.names ?? []).filter((name) => byValue.has(name));
  }

  /** Adds buckets to the lines of their series. All are read at once, since those of one time lie together. */
  async #add(
    { kind, names: series }: SeriesChoice,
    placeOf: (time: number) => number,
    lineOf: (series: string | null) => TrafficLine,
  ): Promise<void> {
    const { from, to, unit } = this.#period;
    this.#cells += ((to - from) / STEP_MS[unit]) * (series?.length ?? 1);
    if (this.#cells > CELLS_MAX) {
      const message = 'The answer would take too long. Choose a shorter period, a longer step or a smaller limit.';
      throw new SignalboxError('out_of_range', message, { param: 'limit' });
    }
    for (const bucket of await this.#traffic.buckets({ step: unit, kind, from, to, series })) {
      const line = lineOf(bucket.series);
      addTo(line.cells[placeOf(bucket.time)]!, bucket);
      addTo(line.whole, bucket);
    }
  }
}
