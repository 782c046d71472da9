import { byClass, type CoverageEntry, type CoverageReport } from './coverage.ts';
import { COVERAGE_CLASSES, type CoverageClass } from './coverage-classes.ts';

export type CoverageShare = ReturnType<typeof shareOf>;
export type CoverageSummary = ReturnType<typeof summaryOf>;

/** Sums up a report and compares it with the least percentage, null for none. `weakest` is the class in which most is untouched. */
export function summaryOf(report: CoverageReport, min: number | null) {
  const shares = byClass((kind) => shareOf(report[kind]));
  const all = shareOf(COVERAGE_CLASSES.flatMap((kind) => report[kind]));
  const untouched = (kind: CoverageClass): number => shares[kind].total - shares[kind].touched;
  const [weakest] = [...COVERAGE_CLASSES].sort((a, b) => untouched(b) - untouched(a));
  // Compared in whole numbers: a percentage that was rounded up would let too little pass.
  const isEnough = min === null || all.touched * 100 >= min * all.total;
  return { report, all, byClass: shares, min, isEnough, weakest: weakest && untouched(weakest) > 0 ? weakest : null };
}

/** The covered part; the percentage is rounded down to a tenth, and 100 of nothing. */
function shareOf(entries: readonly CoverageEntry[]) {
  const total = entries.length;
  const touched = entries.filter(({ isTouched }) => isTouched).length;
  return { touched, total, percent: total === 0 ? 100 : Math.floor((touched * 1000) / total) / 10 };
}

/** `83.3 %`. */
export const percentText = (percent: number): string => `${percent} %`;
