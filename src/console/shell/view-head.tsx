import type { ComponentChildren } from 'preact';
import { RangePicker } from './range-picker.tsx';

interface ViewHeadProps {
  /** A noun. */
  readonly title: string;
  /** What is shown, and for when: "Last 7 days, all teams". */
  readonly summary: ComponentChildren;
  /** Whether the view goes by the time range. */
  readonly hasRange?: boolean;
  /** The one action of the view. */
  readonly children?: ComponentChildren;
}

/** The head of a view. */
export const ViewHead = ({ title, summary, hasRange = true, children }: ViewHeadProps) => (
  <header class="view-head">
    <div>
      <h1>{title}</h1>
      <p>{summary}</p>
    </div>
    <div class="row">
      {hasRange && <RangePicker />}
      {children}
    </div>
  </header>
);
