import { duration, figure, percent, usd, type WrittenFigure } from '../../design/format.ts';
import { TERMS, type TermName } from '../../design/terms.ts';
import type { TrafficReport } from '../../shell/traffic.ts';

type TrafficLine = TrafficReport['total'];
type Sums = TrafficLine['whole'];
/** Returns the line with the largest value of a figure. */
type Most = (of: (sums: Sums) => number | null) => TrafficReport['series'][number] | undefined;

export interface Measure {
  readonly label: string;
  readonly write: (value: number | null) => WrittenFigure;
  /** Returns a value for each bucket. For a bucket without data, a share or a speed is a gap, and a sum is zero. */
  readonly values: (of: TrafficLine['buckets']) => readonly (number | null)[];
  /** Whether "other" can be computed from sums. Medians and speeds cannot be summed. */
  readonly hasOther: boolean;
  /** A second line to compare with, for all requests together. */
  readonly second?: {
    readonly name: string;
    /** The glossary term that explains the name. */
    readonly term?: TermName;
    readonly values: Measure['values'];
  };
  /**
   * The sentence with the answer, without its full stop.
   * @param most of the lines with requests
   * @param isSeveral whether more than one line has requests
   */
  readonly sentence: (of: Sums, most: Most, isSeveral: boolean) => string;
}

/** The figures that the chart can show, one at a time. */
export const MEASURES = {
  spend: {
    label: 'Spend',
    write: usd,
    hasOther: true,
    values: (buckets) => buckets.usd.map(Number),
    second: {
      name: TERMS.baseline.word,
      term: 'baseline',
      values: ({ baseline_usd }) => baseline_usd.map(Number),
    },
    sentence(whole, most) {
      const first = most(({ credits }) => credits);
      const share = first && whole.credits > 0 ? Math.round((first.whole.credits / whole.credits) * 100) / 100 : 0;
      const saved = whole.saved_credits > 0 ? `, ${usd(whole.saved_usd).short} below the baseline` : '';
      const mostly = first && share > 0 ? `, ${percent(share).short} of it for ${first.name}` : saved;
      return `Spend is ${usd(whole.usd).short}${mostly}`;
    },
  },
  requests: {
    label: 'Requests',
    write: figure,
    hasOther: true,
    values: ({ requests }) => requests,
    sentence: ({ requests }) => `There were ${figure(requests).short} requests`,
  },
  errors: {
    label: 'Errors',
    write: percent,
    hasOther: true,
    values: ({ errors, requests }) => errors.map((count, at) => ratio(count, requests[at] ?? 0)),
    second: {
      name: 'Refused',
      values: ({ refused, requests }) => refused.map((count, at) => ratio(count, count + (requests[at] ?? 0))),
    },
    sentence({ errors, requests, refused }, most) {
      const more = refused === 0 ? '' : `; Signalbox refused ${figure(refused).short} more`;
      if (errors === 0) return `No request failed${more}`;
      const worst = most((sums) => ratio(sums.errors, sums.requests));
      const where = worst ? `, most often with ${worst.name}` : '';
      return `${figure(errors).short} of ${figure(requests).short} requests failed (${percent(ratio(errors, requests)).short})${where}${more}`;
    },
  },
  ttft: {
    label: 'Time to first token',
    write: duration,
    hasOther: false,
    values: ({ ttft_p50_ms }) => ttft_p50_ms,
    sentence({ ttft_ms }, most, isSeveral) {
      const slowest = isSeveral && most((sums) => sums.ttft_ms.p50);
      const more = slowest ? `; ${slowest.name} is the slowest with ${duration(slowest.whole.ttft_ms.p50).short}` : '';
      return `Half of the answers start within ${duration(ttft_ms.p50).short}${more}`;
    },
  },
  speed: {
    label: 'Tokens a second',
    write: figure,
    hasOther: false,
    values: ({ tokens_per_second }) => tokens_per_second,
    sentence({ tokens_per_second: speed }, most, isSeveral) {
      const fastest = isSeveral && most((sums) => sums.tokens_per_second);
      const more = fastest
        ? `; ${fastest.name} is the fastest with ${figure(fastest.whole.tokens_per_second).short}`
        : '';
      return `Answers stream at ${figure(speed).short} tokens a second${more}`;
    },
  },
} as const satisfies Record<string, Measure>;
type MeasureName = keyof typeof MEASURES;

export const MEASURE_NAMES = Object.keys(MEASURES) as MeasureName[];

export const measureOf = (name: string): MeasureName => MEASURE_NAMES.find((known) => known === name) ?? 'spend';

/** The heading of the chart of a measure. */
export function headingOf({ sentence }: Measure, { total, series }: TrafficReport): string {
  const named = series.filter(({ whole }) => whole.requests > 0);
  const most: Most = (of) => named.toSorted((one, other) => (of(other.whole) ?? 0) - (of(one.whole) ?? 0))[0];
  return `${sentence(total.whole, most, named.length > 1)}.`;
}

export type ChartDimension = 'model' | 'provider' | null;
export const dimensionOf = (name: string): ChartDimension => (name === 'model' || name === 'provider' ? name : null);

export const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
