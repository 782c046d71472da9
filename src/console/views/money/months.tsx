import type { Reach } from '../../../admin/use-cases/roles.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Lines } from '../../charts/lines.tsx';
import { monthTime, usd } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { type Column, columnsOf } from '../../kit/columns.tsx';
import { dayOf } from '../../shell/days.ts';
import { type TrafficReport, useFirstAt } from '../../shell/traffic.ts';
import { usdPerCredit } from '../overview/measures.ts';
import { DimensionField, ExportLink, NoLabel, SecondField, secondIn, ZoneField, zoneIn } from './dimension-field.tsx';
import { type Amount, holderOf, isBooked, isCounted, NO_AMOUNT, noneOf, nounOf, type SpendDimension } from './spend.ts';

/** How many months to show. The current month is the last month that is shown. */
const MONTHS = 6;
/** How many rows to show. An additional row shows the sum of all other rows. */
const SERIES = 50;

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

interface MonthRow {
  /** The ID is null for the row with the sum of all other rows. */
  readonly id: string | null;
  readonly name: string;
  /** The name in the second dimension; null if there is none. */
  readonly and: string | null;
  /** The amounts of the row, one for each month. */
  readonly amounts: readonly Amount[];
}

const plus = (one: Amount, other: Amount): Amount => ({
  usd: String(Math.round((Number(one.usd) + Number(other.usd)) * 1e12) / 1e12),
  credits: one.credits + other.credits,
});
/**
 * Makes a row for each key, team, model …, or for each pair of them. The largest spender of the latest month comes first.
 * @param months as `YYYY-MM`
 */
export function monthRows(
  groups: ReadOf<'/admin/usage'>['groups'],
  by: SpendDimension,
  and: SpendDimension | null,
  months: readonly string[],
): readonly MonthRow[] {
  const rows = new Map<string, MonthRow & { amounts: Amount[] }>();
  for (const group of groups) {
    const at = months.indexOf(group.group.month ?? '');
    if (at < 0) continue;
    const [first, second] = [holderOf(group, by), and && holderOf(group, and)];
    const id = second ? JSON.stringify([first.id, second.id]) : first.id;
    const row = rows.get(id) ?? {
      id,
      name: first.name,
      and: second ? second.name : null,
      amounts: months.map(() => NO_AMOUNT),
    };
    rows.set(id, row);
    row.amounts[at] = plus(row.amounts[at] ?? NO_AMOUNT, group);
  }
  return latestFirst([...rows.values()]);
}

/** Sorts by spend in the latest month in which two rows differ. The row with the sum of all other rows is last. */
const latestFirst = (rows: readonly MonthRow[]): readonly MonthRow[] =>
  rows.toSorted((one, other) => {
    if (one.id === null || other.id === null) return Number(one.id === null) - Number(other.id === null);
    const at = one.amounts.findLastIndex(({ credits }, month) => credits !== other.amounts[month]?.credits);
    return (other.amounts[at]?.credits ?? 0) - (one.amounts[at]?.credits ?? 0);
  });

/** Makes month rows from traffic, whose buckets are months. */
function trafficRows(report: TrafficReport): readonly MonthRow[] {
  const perCredit = usdPerCredit(report);
  const amountsOf = ({ buckets }: Pick<TrafficReport['total'], 'buckets'>) =>
    buckets.credits.map((credits) => ({ usd: String(Math.round(credits * perCredit * 1e12) / 1e12), credits }));
  const { series, other } = report;
  const rows = series.map((line) => ({ id: line.value, name: line.name, and: null, amounts: amountsOf(line) }));
  return latestFirst(other ? [...rows, { id: null, name: 'all others', and: null, amounts: amountsOf(other) }] : rows);
}

/** Spend by calendar month, as on a provider's bill. */
export function Months({ by, reach }: { readonly by: SpendDimension; readonly reach: Reach }) {
  const [zone, and] = [zoneIn(), secondIn(by, reach)];
  const starts = monthsUntil(Date.now(), zone);
  const [first, end] = [starts[0] ?? new Date(), starts[MONTHS] ?? new Date()];
  const period = { from: dayOf(first), to: dayOf(end) };
  // Traffic has months of UTC by one dimension, and loads faster than the ledger.
  const isTraffic = isCounted(by, reach) && (!isBooked(by) || (and === null && zone === 'UTC'));
  const isWanted = by !== 'label:';
  const query = { by, step: 'month', limit: SERIES, ...period };
  const traffic = useResource('/admin/traffic', query, { isWanted: isWanted && isTraffic });
  const grouped = { by: ['month', by, ...(and ? [and] : [])].join(','), time_zone: zone, ...period };
  const usage = useResource('/admin/usage', grouped, { isWanted: isWanted && !isTraffic });
  const shown = starts.slice(0, MONTHS);
  const months = shown.map((start) => dayOf(start).slice(0, 7));
  return (
    <>
      <div class="money-choice">
        <DimensionField by={by} reach={reach} />
        <SecondField by={by} reach={reach} />
        {isBooked(by) && <ZoneField />}
      </div>
      {by === 'label:' ? (
        <NoLabel />
      ) : isTraffic ? (
        <Loaded what="Charges" of={traffic}>
          {(report) => <MonthSpend {...{ by, and, zone, period }} rows={trafficRows(report)} starts={shown} />}
        </Loaded>
      ) : (
        <Loaded what="Charges" of={usage}>
          {({ groups }) => (
            <MonthSpend {...{ by, and, zone, period }} rows={monthRows(groups, by, and, months)} starts={shown} />
          )}
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
  readonly rows: readonly MonthRow[];
  readonly starts: readonly Date[];
}

function MonthSpend({ by, and, zone, period, rows, starts }: MonthSpendProps) {
  const title = `Spend by ${[by, ...(and ? [and] : [])].map((one) => nounOf(one).toLowerCase()).join(', ')} and month`;
  const totals = starts.map((_, at) =>
    rows.reduce((sum, { amounts }) => plus(sum, amounts[at] ?? NO_AMOUNT), NO_AMOUNT),
  );
  const knownFrom = Date.parse(useFirstAt() ?? '') || 0;
  const [current, last] = [totals.at(-1) ?? NO_AMOUNT, totals.at(-2) ?? NO_AMOUNT];
  const isNew = (starts.at(-1)?.getTime() ?? 0) <= knownFrom;
  if (rows.length === 0) return <Empty title="No spend yet">Each month with charges gets a column here.</Empty>;
  return (
    <>
      <section class="card money-plot" aria-label="Spend by month">
        <Lines
          heading={`Spend is ${usd(current.usd).short} this month so far.${isNew ? '' : ` It was ${usd(last.usd).short} last month.`}`}
          label="Spend"
          times={starts.map((start) => start.getTime())}
          lines={[{ name: 'Spend', mark: 'accent', values: totals.map((total) => Number(total.usd)) }]}
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
          keyOf={({ id }) => id ?? '~others'}
          columns={monthColumns(by, and, starts, knownFrom)}
          total={{ id: '~total', name: 'Total', and: null, amounts: totals }}
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
): readonly TableColumn<MonthRow>[] =>
  columnsOf([
    { head: nounOf(by), name: ({ name }) => name || noneOf(by) },
    ...(and
      ? [
          {
            head: nounOf(and),
            cell: (row: MonthRow) => row.and,
            sort: (row: MonthRow) => row.and,
            phone: 'third' as const,
          },
        ]
      : []),
    ...starts.map((start, at): Column<MonthRow> => {
      // Before its first request, this installation knows of no spend.
      const isKnown = (starts[at + 1]?.getTime() ?? Infinity) > knownFrom;
      const phone = isKnown ? ({ 1: 'fact', 2: 'second' } as const)[starts.length - at] : undefined;
      return {
        head: monthTime(start.getTime()) + (at === starts.length - 1 ? ', so far' : ''),
        sum: ({ amounts }) => (isKnown ? (amounts[at] ?? NO_AMOUNT) : null),
        formatWith: 'months',
        ...(phone && { phone }),
      };
    }),
  ]);
