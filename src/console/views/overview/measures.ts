import { duration, figure, percent, usd, type WrittenFigure } from '../../design/format.ts';
import type { TrafficReport } from '../../shell/traffic.ts';

type TrafficLine = TrafficReport['total'];

/** The figures that the chart can show, one at a time. */
export const MEASURES = {
  spend: { label: 'Spend', write: usd },
  requests: { label: 'Requests', write: figure },
  errors: { label: 'Errors', write: percent },
  ttft: { label: 'Time to first token', write: duration },
  speed: { label: 'Tokens a second', write: figure },
} as const satisfies Record<string, { label: string; write: (value: number | null) => WrittenFigure }>;
export type MeasureName = keyof typeof MEASURES;

export const MEASURE_NAMES = Object.keys(MEASURES) as MeasureName[];

export const measureOf = (name: string): MeasureName => MEASURE_NAMES.find((known) => known === name) ?? 'spend';

export type ChartDimension = 'model' | 'provider' | null;
export const dimensionOf = (name: string): ChartDimension => (name === 'model' || name === 'provider' ? name : null);

/** USD of a Credit, by sums that have both; 0 where nothing was spent. */
export function usdPerCredit({ total: { whole } }: TrafficReport): number {
  if (whole.credits !== 0) return Number(whole.usd) / whole.credits;
  return whole.saved_credits !== 0 ? Number(whole.saved_usd) / whole.saved_credits : 0;
}

/** The values of one measure by bucket. A share or a speed of nothing is a gap, a sum of nothing is zero. */
export function bucketsOf(
  measure: MeasureName,
  { buckets }: TrafficLine,
  perCredit: number,
): readonly (number | null)[] {
  switch (measure) {
    case 'spend':
      return buckets.credits.map((credits) => credits * perCredit);
    case 'requests':
      return buckets.requests;
    case 'errors':
      return buckets.errors.map((errors, at) => ratio(errors, buckets.requests[at] ?? 0));
    case 'ttft':
      return buckets.ttft_p50_ms;
    case 'speed':
      return buckets.tokens_per_second;
  }
}

export const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
