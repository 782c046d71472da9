import { clockTime, DAY_MS, dayTime, monthTime } from '../design/format.ts';

/** The width that a label needs with the space around it, px. */
const LABEL_PX = 96;
/** With fewer buckets than this number with a value, a line would be a few dots, so the chart draws bars. */
const SPARSE_BELOW = 8;

/** Whether a chart draws bars, because few of its buckets have a value. */
export function isSparse(lines: readonly { readonly values: readonly (number | null)[] }[], buckets: number): boolean {
  let filled = 0;
  for (let at = 0; at < buckets; at++) if (lines.some(({ values }) => (values[at] ?? 0) !== 0)) filled++;
  return filled < SPARSE_BELOW;
}

/** Whether all buckets are calendar months. */
const isMonthly = (times: readonly number[]): boolean => (times[1] ?? 0) - (times[0] ?? 0) > 27 * DAY_MS;

/** Writes the beginning of a bucket: its month, its day, or its time of day, as the labels of the axis do. */
export const writerOf = (times: readonly number[]): ((time: number) => string) => {
  if (isMonthly(times)) return monthTime;
  return (times.at(-1) ?? 0) - (times[0] ?? 0) > 1.5 * DAY_MS ? dayTime : clockTime;
};

/** Writes the whole bucket for a table or a screen reader; null if the day and the time of day say it. */
export const longBucketName = (times: readonly number[]): ((time: number) => string) | null => {
  if (isMonthly(times)) return monthTime;
  return (times[1] ?? 0) - (times[0] ?? 0) >= DAY_MS ? dayTime : null;
};

/** The times of day that an axis prefers: full hours, quarters, five minutes, any minute. */
const CLOCKS = [/:00$/, /:(00|15|30|45)$/, /:\d[05]$/, /./];

/**
 * Picks the buckets that get a label: the beginnings of months, days or full hours, as many as there is room for. A chart of at least two
 * buckets gets at least two labels.
 * @param width of the axis, px
 */
export function labelledBuckets(times: readonly number[], width: number): readonly number[] {
  const write = writerOf(times);
  const texts = times.map(write);
  const begins = texts.flatMap((text, bucket) => (bucket === 0 || text !== texts[bucket - 1] ? [bucket] : []));
  // The first bucket of hours usually begins within a day, so it gets a label only if no other bucket does.
  const later = longBucketName(times) === null && write === dayTime ? begins.slice(1) : begins;
  const room = Math.max(2, Math.floor(width / LABEL_PX));
  for (const clock of write === clockTime ? CLOCKS : [/./]) {
    const found = later.filter((bucket) => clock.test(texts[bucket] ?? ''));
    const every = Math.ceil(found.length / room);
    const shown = found.filter((_, at) => at % every === 0);
    if (shown.length > 1) return shown;
  }
  return times.length < 2 ? times.map((_, bucket) => bucket) : [0, times.length - 1];
}
