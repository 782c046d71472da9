/** The day in the viewer's time zone, `YYYY-MM-DD`. */
export const dayOf = (date: Date): string =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0')).join('-');

/** The first and the last day of the calendar month before a time, in the viewer's time zone. @param now ms since 1970 */
export function lastMonth(now: number): { readonly from: string; readonly to: string } {
  const today = new Date(now);
  const [year, month] = [today.getFullYear(), today.getMonth()];
  return { from: dayOf(new Date(year, month - 1, 1)), to: dayOf(new Date(year, month, 0)) };
}

/**
 * The days that the viewer's choice of days opens with: the days of the shown period on which this installation has counted requests.
 * @param firstAt when the first request was counted, ISO 8601; null if there is none, or it is not known
 * @param now ms since 1970
 */
export function daysShown(
  of: { readonly ms: number; readonly days: { readonly from: string; readonly to: string } | null },
  firstAt: string | null,
  now: number,
): { readonly from: string; readonly to: string } {
  const { from, to } = of.days ?? { from: dayOf(new Date(now - of.ms)), to: dayOf(new Date(now)) };
  const first = firstAt === null ? from : dayOf(new Date(firstAt));
  return { from: from < first && first <= to ? first : from, to };
}
