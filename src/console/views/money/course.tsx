import { Lines } from '../../charts/lines.tsx';
import { percent, usd } from '../../design/format.ts';
import { marksOf } from '../../design/marks.ts';
import { Empty } from '../../design/states.tsx';
import { TERMS } from '../../design/terms.ts';
import { axisOf } from '../../shell/axis.ts';
import { compared } from '../../shell/compared.ts';
import { range } from '../../shell/range.ts';
import type { TrafficReport } from '../../shell/traffic.ts';

/** How many lines to show. An additional line shows the sum of all other lines. */
export const LINES = 6;

/** Spend over time: compared with the baseline, or as bars that the keys, teams, models … that spend most share. */
export function Course({ report }: { readonly report: TrafficReport }) {
  const { total, series } = report;
  if (total.whole.credits === 0 && total.whole.requests === 0) {
    return (
      <Empty title={`No spend in ${range.value.phrase}`}>
        Charges of requests appear here. Choose a longer time to see earlier ones.
      </Empty>
    );
  }
  // A key whose requests were all refused spends nothing, and has no bar.
  const spending = total.whole.credits === 0 ? series : series.filter(({ whole }) => whole.credits !== 0);
  const shown = spending.slice(0, LINES);
  const spent = { name: 'Spend', mark: 'accent', values: total.buckets.usd.map(Number) };
  const baseline = {
    name: TERMS.baseline.word,
    term: 'baseline' as const,
    mark: 'mark-other',
    values: total.buckets.baseline_usd.map(Number),
  };
  const rest = total.buckets.usd.map((all, at) =>
    shown.reduce((left, { buckets }) => left - Number(buckets.usd[at] ?? 0), Number(all)),
  );
  const isWhole = spending.length <= LINES && report.other === null;
  const colourOf = marksOf(shown.map(({ value }) => value));
  const lines =
    report.by === null
      ? [baseline, spent]
      : [
          ...shown.map(({ value, name, buckets }) => ({
            name: name || 'none',
            mark: colourOf(value),
            values: buckets.usd.map(Number),
          })),
          ...(isWhole
            ? []
            : [{ name: 'all others', mark: 'mark-other', values: rest.map((amount) => Math.max(0, amount)) }]),
        ];
  return (
    <Lines
      heading={courseSentence(report)}
      label="Spend"
      {...axisOf(report)}
      lines={uniquelyNamed(lines)}
      write={usd}
      isStacked={report.by !== null}
    />
  );
}

/** Numbers lines with the same name, because several keys may have one name. */
function uniquelyNamed<Line extends { readonly name: string }>(lines: readonly Line[]): readonly Line[] {
  const seen = new Map<string, number>();
  return lines.map((line) => {
    const count = (seen.get(line.name) ?? 0) + 1;
    seen.set(line.name, count);
    return count === 1 ? line : { ...line, name: `${line.name} (${count})` };
  });
}

const shareText = (share: number): string => (share === 1 ? 'all' : percent(Math.round(share * 100) / 100).short);

function courseSentence({ total: { whole, before }, series }: TrafficReport): string {
  const change = compared(whole.credits, before?.credits ?? null);
  const [most] = series;
  const mostly =
    most && whole.credits > 0
      ? `, ${shareText(most.whole.credits / whole.credits)} of it for ${most.name || 'requests without a name'}`
      : '';
  return `Spend is ${usd(whole.usd).short}${change === '' ? '' : `, ${change}`}${mostly}.`;
}

/** Says which days the figures cover, because the ledger counts users and labels only by whole days. */
export function wholeDays({ from, to }: { readonly from: string; readonly to: string }): string {
  const last = new Date(`${to}T00:00`);
  last.setDate(last.getDate() - 1);
  const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
  const [first, end] = [day.format(new Date(`${from}T00:00`)), day.format(last)];
  return first === end
    ? `The figures cover all of ${first}, compared with the day before.`
    : `The figures cover whole days, ${first} to ${end}, compared with as many days before.`;
}
