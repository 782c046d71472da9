import { useResource } from '../../api/resource.ts';
import { Lines } from '../../charts/lines.tsx';
import { monthTime, usd } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { type Column, columnsOf } from '../../kit/columns.tsx';
import { dayOf } from '../../shell/days.ts';
import { useFirstAt } from '../../shell/traffic.ts';
import { DimensionField, ExportLink, NoLabel, SecondField, secondIn, ZoneField, zoneIn } from './dimension-field.tsx';
import { hasCharges, nameOf, nounOf, type SpendDimension, type SpenderRow, type SpendReport } from './spend.ts';

/** How many months to show. The current month is the last month that is shown. */
const MONTHS = 6;

/**
 * The first days of the shown months and of the next month. Each date is midnight in the viewer's zone, so that the browser writes the right
 * month.
 * @param now ms since 1970
 * @param zone the time zone in which months begin
 */
export function monthsUntil(now: number, zone: string): readonly Date[] {
  const format = new Intl.DateTimeFormat('en', { year: 'numeric', month: 'numeric', timeZone: zone });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, Number(value)]));
  const [year, month] = [parts.get('year') ?? 0, parts.get('month') ?? 1];
  return Array.from({ length: MONTHS + 1 }, (_, at) => new Date(year, month - MONTHS + at, 1));
}

/** Spend by calendar month, as on a provider's bill. */
export function Months({ by }: { readonly by: SpendDimension }) {
  const [zone, and] = [zoneIn(), secondIn(by)];
  const starts = monthsUntil(Date.now(), zone);
  const [first, end] = [starts[0] ?? new Date(), starts[MONTHS] ?? new Date()];
  const period = { from: dayOf(first), to: dayOf(end) };
  const query = { by, and, step: 'month', time_zone: zone, ...period };
  const spend = useResource('/admin/spend', query, { isWanted: by !== 'label:' });
  const shown = starts.slice(0, MONTHS);
  return (
    <>
      <div class="money-choice">
        <DimensionField by={by} />
        <SecondField by={by} />
        {hasCharges(by) && <ZoneField />}
      </div>
      {by === 'label:' ? (
        <NoLabel />
      ) : (
        <Loaded what="Charges" of={spend}>
          {(report) => <MonthSpend {...{ by, and, zone, period, report }} starts={shown} />}
        </Loaded>
      )}
    </>
  );
}

interface MonthSpendProps {
  readonly by: SpendDimension;
  readonly and: SpendDimension | null;
  readonly zone: string;
  readonly period: { readonly from: string; readonly to: string };
  readonly report: SpendReport;
  readonly starts: readonly Date[];
}

function MonthSpend({ by, and, zone, period, report: { rows, total }, starts }: MonthSpendProps) {
  const title = `Spend by ${[by, ...(and ? [and] : [])].map((one) => nounOf(one).toLowerCase()).join(', ')} and month`;
  const totals = total.months;
  const knownFrom = Date.parse(useFirstAt() ?? '') || 0;
  const [current, last] = [totals.at(-1)?.usd ?? '0', totals.at(-2)?.usd ?? '0'];
  const isNew = (starts.at(-1)?.getTime() ?? 0) <= knownFrom;
  if (rows.length === 0) return <Empty title="No spend yet">Each month with charges gets a column here.</Empty>;
  return (
    <>
      <section class="card money-plot" aria-label="Spend by month">
        <Lines
          heading={`Spend is ${usd(current).short} this month so far.${isNew ? '' : ` It was ${usd(last).short} last month.`}`}
          label="Spend"
          times={starts.map((start) => start.getTime())}
          lines={[{ name: 'Spend', mark: 'accent', values: totals.map((sum) => Number(sum.usd)) }]}
          write={usd}
          pendingFrom={MONTHS - 1}
          knownFrom={knownFrom}
        />
      </section>
      <section class="card" aria-labelledby="months">
        <div class="card-head">
          <h2 id="months">{title}</h2>
          <ExportLink {...{ by, and, zone, period }} step="month" />
        </div>
        <Table
          label={title}
          rows={rows}
          keyOf={({ id, and: second }) => (id === null ? '~others' : JSON.stringify([id, second?.id]))}
          columns={monthColumns(by, and, starts, knownFrom)}
          total={{ ...total, id: '~total', name: 'Total', and: null }}
        />
      </section>
    </>
  );
}

const monthColumns = (
  by: SpendDimension,
  and: SpendDimension | null,
  starts: readonly Date[],
  knownFrom: number,
): readonly TableColumn<SpenderRow>[] =>
  columnsOf([
    { head: nounOf(by), name: (row) => nameOf(row, by) },
    ...(and
      ? [
          {
            head: nounOf(and),
            cell: (row: SpenderRow) => row.and && nameOf(row.and, and),
            sort: (row: SpenderRow) => row.and && nameOf(row.and, and),
            phone: 'third' as const,
          },
        ]
      : []),
    ...starts.map((start, at): Column<SpenderRow> => {
      // Before its first request, this installation knows of no spend.
      const isKnown = (starts[at + 1]?.getTime() ?? Infinity) > knownFrom;
      const phone = isKnown ? ({ 1: 'fact', 2: 'second' } as const)[starts.length - at] : undefined;
      return {
        head: monthTime(start.getTime()) + (at === starts.length - 1 ? ', so far' : ''),
        sum: ({ months }) => (isKnown ? (months[at] ?? null) : null),
        formatWith: 'months',
        ...(phone && { phone }),
      };
    }),
  ]);
