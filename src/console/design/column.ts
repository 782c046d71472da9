import type { FigureAmount, WrittenFigure } from './format.ts';

/** Writes all figures of a column with one unit and one precision, so that their decimal points line up. */
type ColumnFormat = (value: number) => string;

/** The sizes of the figures in a column without zeros: the smallest, the largest, and all. */
interface Sizes {
  readonly all: readonly number[];
  readonly least: number;
  readonly most: number;
  readonly isWhole: boolean;
}

const formats = new Map<number, Intl.NumberFormat>();

function fixed(value: number, decimals: number): string {
  const format =
    formats.get(decimals) ??
    new Intl.NumberFormat('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  formats.set(decimals, format);
  return format.format(value);
}

/** The number of decimals that show three significant digits. */
const decimalsOf = (size: number): number => Math.max(0, 2 - Math.floor(Math.log10(size)));

/** The number of decimals that a column needs. Decimals that are zero in all figures are left out. */
function needed(sizes: readonly number[], least: number, most: number): number {
  let decimals = most;
  while (decimals > least && sizes.every((size) => fixed(size, decimals).endsWith('0'))) decimals--;
  return decimals;
}

/** From this amount (USD), two decimals show three significant digits. */
const CENTS_FROM = 0.0995;

/** Prices of single requests are far below a cent, but people read sums to the cent. */
const usdDecimals = ({ all, least, most }: Sizes): number =>
  least >= CENTS_FROM ? 2 : needed(all, 2, Math.max(2, Math.min(decimalsOf(least), usdDecimalsMax(most))));

/** Exact amounts have at most this many decimals. */
const DECIMALS_MAX = 12;

/** The number of decimals with which the largest amount of a column has three significant digits. */
const usdDecimalsMax = (most: number): number =>
  most < 1 ? Math.min(DECIMALS_MAX, Math.max(6, decimalsOf(most))) : most < 10 ? 5 : most < 100 ? 4 : 2;

const durationDecimals = ({ most, isWhole }: Sizes): number =>
  most >= 1_000 ? (most < 100_000 ? 2 : 1) : isWhole || most >= 100 ? 0 : 1;

/** @param before the text before the number, such as `$` */
const withSign = (value: number, decimals: number, before: string, behind: string): string => {
  const size = Math.abs(value);
  const smallest = 10 ** -decimals;
  const isTiny = size > 0 && size < smallest / 2;
  return `${isTiny ? (value < 0 ? '> ' : '< ') : ''}${value < 0 ? '−' : ''}${before}${fixed(isTiny ? smallest : size, decimals)}${behind}`;
};

const usdWith =
  (decimals: number): ColumnFormat =>
  (value) =>
    withSign(value, decimals, '$', '');

const FORMATS: Readonly<Record<FigureAmount['kind'], (sizes: Sizes) => ColumnFormat>> = {
  usd: (sizes) => usdWith(usdDecimals(sizes)),
  sum: (sizes) => usdWith(sizes.most >= 1 ? 2 : usdDecimals(sizes)),
  price: ({ all }) => usdWith(needed(all, 2, DECIMALS_MAX)),
  duration: (sizes) => {
    const [unit, name] = sizes.most < 1_000 ? [1, 'ms'] : [1_000, 's'];
    const decimals = durationDecimals(sizes);
    return (value) => withSign(value / unit, decimals, '', ` ${name}`);
  },
  percent: () => (value) => withSign(value * 100, 1, '', ' %'),
  figure: ({ all, most, isWhole }) => {
    const decimals = isWhole ? 0 : needed(all, 0, Math.min(4, decimalsOf(most)));
    return (value) => withSign(value, decimals, '', '');
  },
};

/**
 * Writes all figures of a column in one format, and leaves other values unchanged.
 * @param figures all figures of the column
 */
export function inColumn(figures: readonly WrittenFigure[]): (figure: WrittenFigure) => WrittenFigure {
  const byKind = Map.groupBy(
    figures.flatMap(({ amount }) => amount ?? []),
    ({ kind }) => kind,
  );
  const writers = new Map([...byKind].map(([kind, amounts]) => [kind, FORMATS[kind](sizesOf(amounts))]));
  return (figure) => {
    const write = figure.amount && writers.get(figure.amount.kind);
    return figure.amount && write ? { ...figure, short: write(figure.amount.value) } : figure;
  };
}

function sizesOf(amounts: readonly FigureAmount[]): Sizes {
  const sizes = amounts.map(({ value }) => Math.abs(value)).filter((size) => size > 0);
  const [least, most] = sizes.reduce(
    ([low, high], size) => [Math.min(low, size), Math.max(high, size)],
    [Number.POSITIVE_INFINITY, 0],
  );
  return { all: sizes, least: most === 0 ? 1 : least, most: most || 1, isWhole: sizes.every(Number.isInteger) };
}

/** The parts of a table's column that decide its format. */
interface FormattedColumn<Row> {
  readonly id: string;
  readonly figure?: (row: Row) => WrittenFigure;
  readonly formatWith?: string;
}

/** The format of each column. All figures of a column, and of columns that are formatted together, have one format. */
export function formatsOf<Row>(
  columns: readonly FormattedColumn<Row>[],
  rows: readonly Row[],
): ReadonlyMap<string, ReturnType<typeof inColumn> | undefined> {
  const groups = Map.groupBy(columns, ({ id, formatWith }) => formatWith ?? `own ${id}`);
  return new Map(
    [...groups.values()].flatMap((group) => {
      const figures = group.flatMap(({ figure }) => (figure ? rows.map(figure) : []));
      const format = inColumn(figures);
      return group.map(({ id, figure }) => [id, figure && format] as const);
    }),
  );
}
