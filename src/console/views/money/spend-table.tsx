import { figure, NONE, percent, usd, type WrittenFigure } from '../../design/format.ts';
import { Table, type TableColumn } from '../../design/table.tsx';
import { moneyFigure, Written } from '../../design/written.tsx';
import { timesText } from '../../shell/compared.ts';
import { nounOf, riseOf, type SpendDimension, type SpenderRow } from './spend.ts';

interface SpendTableProps {
  readonly label: string;
  readonly by: SpendDimension;
  readonly rows: readonly SpenderRow[];
  readonly hrefOf?: (row: SpenderRow) => string | undefined;
  readonly current?: string | undefined;
  /** Beside a detail there is room for the figures that are compared, and no others. */
  readonly isNarrow?: boolean;
}

/** This period, the one before and the change; the greatest rise first. */
export const SpendTable = ({ label, by, rows, hrefOf, current, isNarrow = false }: SpendTableProps) => (
  <Table
    label={label}
    rows={rows}
    keyOf={({ id }) => id ?? '~others'}
    columns={columnsOf(by, rows, isNarrow)}
    current={current}
    order={{ id: 'change', isDown: true }}
    {...(hrefOf && { hrefOf })}
  />
);

function columnsOf(
  by: SpendDimension,
  rows: readonly SpenderRow[],
  isNarrow: boolean,
): readonly TableColumn<SpenderRow>[] {
  const columns: readonly (TableColumn<SpenderRow> | false)[] = [
    {
      id: 'name',
      head: nounOf(by),
      cell: ({ id, name }) => (
        <span class={id === null || id === '' ? 'table-name dim' : 'table-name'} title={id ?? undefined}>
          {name}
        </span>
      ),
      sort: ({ name }) => name,
    },
    {
      id: 'spend',
      head: 'Spend',
      isFigure: true,
      phone: 'fact',
      figures: ({ now }) => [moneyFigure(now)],
      sort: ({ now }) => now.credits,
    },
    {
      id: 'before',
      head: 'Before',
      isFigure: true,
      figures: ({ before }) => [moneyFigure(before ?? NO_MONEY)],
      sort: ({ before }) => before?.credits ?? null,
    },
    {
      id: 'change',
      head: 'Change',
      isFigure: true,
      phone: 'second',
      figures: (row) => [row.before ? usd(Number(row.now.usd) - Number(row.before.usd)) : NONE],
      cell: (row, [rise = NONE]) => <Change row={row} rise={rise} />,
      // All others are no one's rise: they stay at the end.
      sort: (row) => (row.id === null ? null : riseOf(row)),
    },
    !isNarrow &&
      rows.some(({ saved }) => saved !== null) && {
        id: 'saved',
        head: 'Saved',
        term: 'saved',
        isFigure: true,
        figures: ({ saved }) => [moneyFigure(saved ?? NO_MONEY)],
        sort: ({ saved }) => saved?.credits ?? null,
      },
    !isNarrow && {
      id: 'requests',
      head: 'Requests',
      isFigure: true,
      figures: ({ requests }) => [figure(requests)],
      sort: ({ requests }) => requests,
    },
    !isNarrow && {
      id: 'tokens',
      head: 'Tokens',
      isFigure: true,
      figures: ({ inputTokens, outputTokens }) => [figure(inputTokens + outputTokens)],
      sort: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    },
  ];
  return columns.filter((column) => column !== false);
}

const NO_MONEY = { usd: null, credits: null };

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
  (rise.amount?.value ?? 0) > 0 ? { short: `+${rise.short}`, exact: `+${rise.exact}` } : rise;

/** The change in whole percent: `+18 %`, `−3 %`, `0 %`; `new` where nothing was spent before. */
function risePercent({ now, before }: SpenderRow): string {
  if (!before || before.credits <= 0) return now.credits > 0 ? 'new' : '';
  const share = Math.round((now.credits / before.credits - 1) * 100);
  return `${share > 0 ? '+' : share < 0 ? '−' : ''}${figure(Math.abs(share)).exact} %`;
}

/** The change as a part of before: `+18 %`, `4.2 ×`, `new`. */
export function partOf({ now, before }: SpenderRow): string {
  if (!before || before.credits <= 0) return now.credits > 0 ? 'new' : '';
  const times = now.credits / before.credits;
  if (times >= 2) return `${timesText(times)} ×`;
  const share = Math.round((times - 1) * 100) / 100;
  if (share === 0) return 'same';
  return `${share > 0 ? '+' : '−'}${percent(Math.abs(share)).short}`;
}

/** `spends 4.2 times what it did`, for a sentence. */
export function riseText(row: SpenderRow): string {
  const part = partOf(row);
  if (part === 'new') return `spends ${usd(row.now.usd).short} and spent nothing before`;
  const sum = `${usd(row.now.usd).short} after ${usd(row.before?.usd ?? null).short}`;
  return part.endsWith('×') ? `spends ${part.slice(0, -2)} times what it did, ${sum}` : `spends ${sum}`;
}
