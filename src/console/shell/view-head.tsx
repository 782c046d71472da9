import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Field, Select } from '../design/field.tsx';
import { daysShown, lastMonth } from './days.ts';
import { chooseDays, chooseRange, RANGES, type RangeName, range } from './range.ts';
import { useFirstAt } from './traffic.ts';

interface ViewHeadProps {
  /** A noun. */
  readonly title: string;
  /** Says what the view shows, and for which period: "Last 7 days, all teams". */
  readonly summary: ComponentChildren;
  /** Whether the view uses the time range. */
  readonly hasRange?: boolean;
  /** The main action of the view. */
  readonly children?: ComponentChildren;
}

/** The header of a view. */
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

const NAMES = Object.keys(RANGES) as RangeName[];
const OPTIONS = [
  ...NAMES.map((value) => ({ value, label: RANGES[value].label })),
  { value: 'last-month' as const, label: 'Last month' },
  { value: 'days' as const, label: 'Chosen days' },
];
type Choice = (typeof OPTIONS)[number]['value'];

/** Selects the period of all views. */
function RangePicker() {
  const { name, days } = range.value;
  const [draft, setDraft] = useState(days);
  const month = lastMonth(Date.now());
  const firstAt = useFirstAt();
  // The address has the days, so that a link to a month shows the same month later.
  const isMonth = days?.from === month.from && days.to === month.to;
  const choose = (next: Choice) => {
    if (next === 'last-month') return chooseDays(month.from, month.to);
    if (next !== 'days') return chooseRange(next);
    const shown = daysShown(range.value, firstAt, Date.now());
    setDraft(shown);
    chooseDays(shown.from, shown.to);
  };
  const edit = (part: Partial<{ from: string; to: string }>) => {
    const next = { from: days?.from ?? '', to: days?.to ?? '', ...draft, ...part };
    setDraft(next);
    if (next.from !== '' && next.from <= next.to) chooseDays(next.from, next.to);
  };
  const shown = draft ?? days;
  return (
    <div class="range">
      {days && !isMonth && (
        <div class="range-days row">
          <Field isBare label="First day" type="date" value={shown?.from ?? ''} onValue={(from) => edit({ from })} />
          <span class="dim">to</span>
          <Field isBare label="Last day" type="date" value={shown?.to ?? ''} onValue={(to) => edit({ to })} />
        </div>
      )}
      <Select isBare label="Time range" value={isMonth ? 'last-month' : name} onValue={choose} options={OPTIONS} />
    </div>
  );
}
