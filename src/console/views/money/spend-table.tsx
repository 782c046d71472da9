import { asSum, figure, NONE, usd, type WrittenFigure } from '../../design/format.ts';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Written } from '../../design/written.tsx';
import { type Column, columnsOf } from '../../kit/columns.tsx';
import { nameOf, nounOf, type SpendDimension, type SpenderRow, savedOf } from './spend.ts';

interface SpendTableProps {
  readonly label: string;
  readonly by: SpendDimension;
  readonly rows: readonly SpenderRow[];
  readonly hrefOf?: (row: SpenderRow) => string | undefined;
  readonly current?: string | undefined;
  /** Whether to show only the compared figures, because a detail is open and takes up room. */
  readonly isNarrow?: boolean;
}

/** Spend in this period, and if it is known, spend in the period before and the change. The largest rise comes first. */
export const SpendTable = ({ label, by, rows, hrefOf, current, isNarrow = false }: SpendTableProps) => (
  <Table
    label={label}
    rows={rows}
    keyOf={({ id }) => id ?? '~others'}
    columns={columnsBy(by, rows, isNarrow)}
    current={current}
    order={{ id: isCompared(rows) ? CHANGE : SPEND, isDown: true }}
    {...(hrefOf && { hrefOf })}
  />
);

function columnsBy(
  by: SpendDimension,
  rows: readonly SpenderRow[],
  isNarrow: boolean,
): readonly TableColumn<SpenderRow>[] {
  const more: readonly Column<SpenderRow>[] = [
    ...(rows.some(({ whole }) => savedOf(whole) !== null)
      ? [{ head: 'Saved', term: 'saved' as const, sum: ({ whole }: SpenderRow) => savedOf(whole), formatWith: SPEND }]
      : []),
    { head: 'Requests', count: ({ whole }) => whole.requests },
    { head: 'Tokens', count: ({ whole }) => whole.input_tokens + whole.output_tokens },
  ];
  return columnsOf([
    { head: nounOf(by), name: (row) => nameOf(row, by) },
    {
      head: SPEND,
      sum: ({ whole }) => whole,
      formatWith: SPEND,
      phone: 'fact',
      // The row with the sum of all other rows stays at the end.
      sort: ({ id, whole }) => (id === null ? null : whole.credits),
    },
    ...(isCompared(rows) ? COMPARED : []),
    ...(isNarrow ? [] : more),
  ]);
}

const [SPEND, CHANGE] = ['Spend', 'Change'];

const isCompared = (rows: readonly SpenderRow[]): boolean => rows.some(({ before }) => before !== null);

const COMPARED: readonly Column<SpenderRow>[] = [
  { head: 'Before', sum: ({ before }) => before, formatWith: SPEND },
  {
    head: CHANGE,
    phone: 'second',
    figure: ({ change }) => (change ? asSum(usd(change.usd)) : NONE),
    formatWith: SPEND,
    cell: (row, rise) => <Change row={row} rise={rise} />,
    // The row with the sum of all other rows has no rise, so this row stays at the end.
    sort: ({ id, change }) => (id === null ? null : (change?.credits ?? null)),
  },
];

function Change({ row, rise }: { readonly row: SpenderRow; readonly rise: WrittenFigure }) {
  if (!row.before) return <Written value={rise} />;
  return (
    <>
      <Written value={signed(rise)} />
      <span class="money-part dim">{risePercent(row)}</span>
    </>
  );
}

const signed = (rise: WrittenFigure): WrittenFigure =>
  (rise.amount?.value ?? 0) > 0 && !rise.short.startsWith('<')
    ? { short: `+${rise.short}`, exact: `+${rise.exact}` }
    : rise;

/** The change in whole percent: `+18 %`, `−3 %`, `0 %`; `new` if nothing was spent before. */
function risePercent({ whole, before }: SpenderRow): string {
  if (!before) return '';
  if (before.credits <= 0) return whole.credits > 0 ? 'new' : '';
  const share = Math.round((whole.credits / before.credits - 1) * 100);
  return `${share > 0 ? '+' : share < 0 ? '−' : ''}${figure(Math.abs(share)).exact} %`;
}
