/** Whether the installation existed at a time, in ms since 1970. Sums of a period that began earlier cannot be compared with others. */
export const isKnownFrom = (time: number, firstAt: string | null): boolean =>
  firstAt !== null && Date.parse(firstAt) <= time;

/** Leaves out the sums of the period before if it began before the installation. */
export function withKnownBefore<Report extends ComparedReport>(report: Report): Report {
  const [from, to] = [Date.parse(report.from), Date.parse(report.to)];
  if (isKnownFrom(2 * from - to, report.first_at)) return report;
  const without = { before: null };
  return {
    ...report,
    total: { ...report.total, ...without },
    series: report.series.map((line) => ({ ...line, ...without })),
    other: report.other && { ...report.other, ...without },
  };
}

interface ComparedLine {
  readonly before: object | null;
}

/** A report of traffic, with times in ISO 8601. */
interface ComparedReport {
  readonly from: string;
  readonly to: string;
  readonly first_at: string | null;
  readonly total: ComparedLine;
  readonly series: readonly ComparedLine[];
  readonly other: ComparedLine | null;
}
