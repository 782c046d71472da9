import { iso } from '../../core/clock.ts';
import { toCredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import { usdWriter } from '../../core/usd.ts';
import type { Store } from '../../store/store.ts';
import { STEP_MS, type TrafficDimension, type TrafficStep, type TrafficTable } from '../../store/traffic.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { Sight } from '../sight.ts';
import { addTo, emptyLine, lineBody, restOf, type TrafficLine } from './lines.ts';
import { periodOf, type TrafficPeriod, wholeOf } from './periods.ts';
import { type SeriesChoice, selectionOf, type TrafficFilters, type TrafficSelection } from './selection.ts';

/** The traffic that somebody asks for. */
export interface TrafficQuestion {
  /** Ms since 1970; `to` is exclusive. They are widened to whole buckets. */
  readonly from: number;
  readonly to: number;
  readonly step: TrafficStep;
  readonly timeZone: string;
  /** Null for the total alone. */
  readonly by: TrafficDimension | null;
  readonly filters: TrafficFilters;
  /** Series at most; the rest is told as one. */
  readonly limit: number;
  /** Whether each line has the sums of the period of the same length before. */
  readonly isCompared: boolean;
}

/** The sources of traffic. */
export interface TrafficSources {
  readonly store: Pick<Store, 'flush'> & { readonly traffic: TrafficTable };
  readonly sight: Sight;
  /** The names of keys and teams now; null for unknown ones. */
  readonly nameOf: { key(id: string): string | null; team(id: string): string | null };
  /** Null in a ledger that never had a policy, and so no charge. */
  readonly usdPerCredit: string | null;
  readonly now: number;
}

export const TRAFFIC_LIMIT = 10;
export const TRAFFIC_LIMIT_MAX = 50;
/** Kept buckets of an answer at most, those of its total included: it takes no more than 200 ms. */
const CELLS_MAX = 45_000;
/** Batches that are counted before an answer, so that it has what was just written. */
const FRESH_BATCHES = 3;

/** Traffic by bucket, as far as an asker may see it. @throws SignalboxError, by rejecting. */
export async function trafficBody({ caller }: Principal, sources: TrafficSources, question: TrafficQuestion) {
  const reach = checkAction(caller, 'traffic.read');
  const { store, sight, usdPerCredit, now } = sources;
  const { by, filters, step, timeZone, limit, isCompared } = question;
  const period = periodOf(question, step, timeZone);
  const selection = await selectionOf(store.traffic, { caller, reach, sight }, by, filters);
  await catchUp(store, now);
  const reader = new LineReader(store.traffic, period);
  const { total, lines } = await reader.read(selection, limit);
  const earlier = isCompared ? await reader.spendBefore(selection, [...lines.keys()]) : null;
  const progress = await store.traffic.progress();
  const exactUsd = usdWriter(usdPerCredit);
  const usd = (microcredits: number) => exactUsd(microcredits) ?? '0';
  const other = selection.lines && restOf(total, [...lines.values()]);
  const before = (of: (spend: SpendBefore) => LineSpend | undefined) => beforeBody(earlier, of, usd);
  return {
    object: 'traffic' as const,
    from: iso(period.from),
    to: iso(period.to),
    step,
    time_zone: timeZone,
    by,
    counted_until: iso(Math.min(progress.freshFrom ?? now, now)),
    counting_since: progress.pastBefore === null ? null : iso(Math.min(progress.pastBefore, now)),
    times: period.times.map(iso),
    total: { ...lineBody(total, usd), before: before((spend) => spend.total) },
    series: [...lines].map(([value, line]) => ({
      value,
      name: nameIn(sources, by, value),
      ...lineBody(line, usd),
      before: before((spend) => spend.lines.get(value)),
    })),
    other: other && { ...lineBody(other, usd), before: before((spend) => spend.rest) },
  };
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
const plus = (one: LineSpend, other: LineSpend, sign: 1 | -1 = 1): LineSpend => ({
  microcredits: one.microcredits + sign * other.microcredits,
  requests: one.requests + sign * other.requests,
});

function beforeBody(
  spend: SpendBefore | null,
  of: (spend: SpendBefore) => LineSpend | undefined,
  usd: (microcredits: number) => string,
) {
  if (!spend) return null;
  const { microcredits, requests } = of(spend) ?? NOTHING;
  return { requests, credits: toCredits(microcredits), usd: usd(microcredits) };
}

/** Counts what was written just before. Where the store refuses it, the answer says how far it is. */
async function catchUp(store: TrafficSources['store'], now: number): Promise<void> {
  try {
    await store.flush();
    for (let batches = 0; batches < FRESH_BATCHES; batches++) if (!(await store.traffic.count(now))) return;
  } catch {}
}

function nameIn({ nameOf }: TrafficSources, by: TrafficDimension | null, value: string): string {
  return (by === 'key' || by === 'team' ? nameOf[by](value) : null) ?? value;
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

  /** @returns the total, and by their values the lines that spent most, first the greatest */
  async read({ total, lines, shownAs }: TrafficSelection, limit: number) {
    const greatest = lines ? await this.#greatest(lines, shownAs, limit) : new Map<string, string[]>();
    const { times } = this.#period;
    const sum = emptyLine(times.length);
    await this.#add({ ...total, names: total.names && (await this.#present(total)) }, () => sum);
    const read = new Map([...greatest.keys()].map((value) => [value, emptyLine(times.length)]));
    if (lines) {
      const lineOf = (series: string | null) => read.get(shownAs(series ?? ''))!;
      await this.#add({ kind: lines.kind, names: [...greatest.values()].flat() }, lineOf);
    }
    return { total: sum, lines: read };
  }

  /** The spend of the total and of lines in the period of the same length before. */
  async spendBefore({ total, lines, shownAs }: TrafficSelection, values: readonly string[]): Promise<SpendBefore> {
    const told = new Set(values);
    const found = new Map<string, LineSpend>();
    const sum = await this.#sumBefore(total, () => {});
    if (lines) {
      await this.#sumBefore(lines, (series, spend) => {
        const value = shownAs(series);
        if (told.has(value)) found.set(value, plus(found.get(value) ?? NOTHING, spend));
      });
    }
    const rest = [...found.values()].reduce((left, spend) => plus(left, spend, -1), sum);
    return { total: sum, lines: found, rest };
  }

  /** @param each is called with every named series of the choice @returns the sum of all, the rest of the dimension included */
  async #sumBefore({ kind, names }: SeriesChoice, each: (series: string, spend: LineSpend) => void) {
    const { from, to, unit } = this.#period;
    const wanted = names && new Set<string | null>(names);
    let sum = NOTHING;
    for (const stretch of wholeOf({ from: 2 * from - to, to: from, unit })) {
      for (const spend of await this.#traffic.spend({ kind, ...stretch })) {
        if (wanted && !wanted.has(spend.series)) continue;
        sum = plus(sum, spend);
        if (spend.series !== null) each(spend.series, spend);
      }
    }
    return sum;
  }

  /** The names of the series of a choice that have something in the period. */
  async #present({ kind, names }: SeriesChoice): Promise<string[]> {
    const present = new Set<string | null>();
    for (const stretch of wholeOf(this.#period)) {
      for (const { series } of await this.#traffic.spend({ kind, ...stretch })) present.add(series);
    }
    return (names ?? []).filter((name) => present.has(name));
  }

  async #greatest({ kind, names }: SeriesChoice, shownAs: TrafficSelection['shownAs'], limit: number) {
    const wanted = names && new Set(names);
    const found = new Map<string, { readonly names: Set<string>; spent: number; requests: number }>();
    for (const stretch of wholeOf(this.#period)) {
      for (const { series, microcredits, requests } of await this.#traffic.spend({ kind, ...stretch })) {
        if (series === null || (wanted && !wanted.has(series))) continue;
        const value = shownAs(series);
        const sum = found.get(value) ?? { names: new Set(), spent: 0, requests: 0 };
        found.set(value, sum);
        sum.names.add(series);
        sum.spent += microcredits;
        sum.requests += requests;
      }
    }
    const sorted = [...found].sort(
      ([one, a], [other, b]) => b.spent - a.spent || b.requests - a.requests || (one < other ? -1 : 1),
    );
    return new Map(sorted.slice(0, limit).map(([value, { names }]) => [value, [...names]]));
  }

  /** Adds buckets to the lines of their series. All are read at once, since those of one time lie together. */
  async #add({ kind, names: series }: SeriesChoice, lineOf: (series: string | null) => TrafficLine): Promise<void> {
    const { from, to, unit, placeOf } = this.#period;
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
