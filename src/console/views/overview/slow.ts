import { range } from '../../shell/range.ts';
import type { TrafficReport } from '../../shell/traffic.ts';

/** A provider is called slow from so many times its usual time to the first token on. */
const SLOW_FROM = 2;
/** Fewer answers tell nothing. */
const ANSWERS_MIN = 20;

/** A provider that answers far later than it used to. */
export interface SlowProvider {
  readonly name: string;
  /** Median time to the first token, ms. */
  readonly ttftMs: number;
  /** Of the period before. */
  readonly usualMs: number;
}

/** Providers that answer far later than in the period before, the worst first. */
export function slowProviders(now: TrafficReport | null, before: TrafficReport | null): readonly SlowProvider[] {
  const usual = new Map(before?.series.map(({ value, whole }) => [value, whole]));
  return (now?.series ?? [])
    .flatMap(({ value, name, whole }) => {
      const then = usual.get(value);
      const [ttftMs, usualMs] = [whole.ttft_ms.p50, then?.ttft_ms.p50 ?? null];
      if (value === '' || !then || ttftMs === null || usualMs === null) return [];
      const isSlow = ttftMs >= SLOW_FROM * usualMs && Math.min(whole.requests, then.requests) >= ANSWERS_MIN;
      return isSlow ? [{ name, ttftMs, usualMs }] : [];
    })
    .toSorted((one, other) => other.ttftMs / other.usualMs - one.ttftMs / one.usualMs);
}

/** `5 times the 24 hours before`. */
export function slownessText({ ttftMs, usualMs }: SlowProvider): string {
  const { label } = range.value;
  const period = label.startsWith('Last ') ? label.slice('Last '.length) : 'period';
  return `${Math.round((10 * ttftMs) / usualMs) / 10} times that of the ${period} before`;
}
