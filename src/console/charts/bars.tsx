import type { WrittenFigure } from '../design/format.ts';
import { inkOf, marksOf } from '../design/marks.ts';
import { ChartFrame } from './frame.tsx';

interface Bar {
  readonly name: string;
  /** The name that determines the colour; '' for "other", which is listed last. */
  readonly markedBy: string;
  readonly value: number;
}

interface BarsProps {
  readonly heading: string;
  /** A name for the values: "Spend". */
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly write: (value: number | null) => WrittenFigure;
}

/** Shows shares of a total. Each share is a bar from zero with a figure. */
export function Bars({ heading, label, bars: given, write }: BarsProps) {
  const rank = ({ markedBy, value }: Bar) => (markedBy === '' ? -1 : value);
  const bars = given.toSorted((one, other) => rank(other) - rank(one));
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  const markOf = marksOf(bars.map(({ markedBy }) => markedBy));
  const shareOf = (value: number): number => (total === 0 ? 0 : value / total);
  return (
    <ChartFrame
      heading={heading}
      twin={{
        heads: ['Name', label, 'Share'],
        rows: bars.map(({ name, value }) => ({ name, cells: [write(value), shareText(shareOf(value))] })),
      }}
    >
      <div class="bars" aria-hidden="true">
        {bars.map(({ name, markedBy, value }) => (
          <div key={name} class="bar-row">
            <span title={name}>{name}</span>
            <span class="figure" title={write(value).exact}>
              {write(value).short} <span class="dim">· {shareText(shareOf(value)).short}</span>
            </span>
            <ShareBar mark={markOf(markedBy)} share={shareOf(value)} />
          </div>
        ))}
      </div>
    </ChartFrame>
  );
}

const shareText = (share: number): WrittenFigure => {
  const percent = share * 100;
  const short = percent > 0 && percent < 1 ? '< 1 %' : `${Math.round(percent)} %`;
  return { short, exact: `${percent.toFixed(3)} %` };
};

interface ShareBarProps {
  /** A colour token from `marksOf`, or the name of another token. */
  readonly mark: string;
  /** The share of the width, 0 to 1; larger values are cut off. */
  readonly share: number;
  /** The position of a limit mark on the bar, 0 to 1. */
  readonly limit?: number | undefined;
}

/** Draws a bar from zero, as wide as its container. */
export const ShareBar = ({ mark, share, limit }: ShareBarProps) => (
  <svg style={inkOf(mark)} width="100%" height="8" aria-hidden="true">
    <rect class="bar-track" width="100%" height="8" rx="2" />
    <rect width={`${Math.max(0, Math.min(1, share)) * 100}%`} height="8" rx="2" fill="currentColor" />
    {limit !== undefined && limit <= 1 && <rect x={`${limit * 100}%`} width="2" height="8" fill="var(--ink)" />}
  </svg>
);
