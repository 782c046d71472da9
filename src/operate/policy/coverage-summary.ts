import { COVERAGE_CLASSES, type CoverageClass, type CoverageEntry, type CoverageReport } from './coverage.ts';

/** The covered part of a class, or of all. */
export interface CoverageShare {
  readonly touched: number;
  readonly total: number;
  /** 0 to 100, rounded down to a tenth; 100 of nothing. */
  readonly percent: number;
}

/** Coverage with its sums. */
export interface CoverageSummary {
  readonly report: CoverageReport;
  readonly all: CoverageShare;
  readonly byClass: Readonly<Record<CoverageClass, CoverageShare>>;
  /** The least percentage; null for none. */
  readonly min: number | null;
  readonly isEnough: boolean;
  /** The class in which most is untouched; null where nothing is. */
  readonly weakest: CoverageClass | null;
}

/** Sums up a report and compares it with the least percentage. */
export function summaryOf(report: CoverageReport, min: number | null): CoverageSummary {
  const byClass = {
    constraints: shareOf(report.constraints),
    preferences: shareOf(report.preferences),
    models: shareOf(report.models),
    endpoints: shareOf(report.endpoints),
    selectors: shareOf(report.selectors),
  };
  const all = shareOf(COVERAGE_CLASSES.flatMap((kind) => report[kind]));
  const untouched = (kind: CoverageClass) => byClass[kind].total - byClass[kind].touched;
  const [weakest] = [...COVERAGE_CLASSES].sort((a, b) => untouched(b) - untouched(a));
  // Compared in whole numbers: a percentage that was rounded up would let too little pass.
  const isEnough = min === null || all.touched * 100 >= min * all.total;
  return { report, all, byClass, min, isEnough, weakest: weakest && untouched(weakest) > 0 ? weakest : null };
}

function shareOf(entries: readonly CoverageEntry[]): CoverageShare {
  const total = entries.length;
  const touched = entries.filter(({ isTouched }) => isTouched).length;
  return { touched, total, percent: total === 0 ? 100 : Math.floor((touched * 1000) / total) / 10 };
}

/** `83.3 %`. */
export const percentText = (percent: number): string => `${percent} %`;
