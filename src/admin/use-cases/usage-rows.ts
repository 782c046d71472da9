import { MICROCREDITS } from '../../core/money/credits.ts';
import { parseDecimal, plainText, plus } from '../../core/money/decimal.ts';
import { equalDecimals } from '../../core/money/usd.ts';

/** A group of a usage report, as JSON has it. */
interface PrintedGroup {
  /** The value of each grouping, and the known names after the IDs of keys, teams and users. */
  readonly group: Readonly<Record<string, string>>;
  readonly charges: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly credits: number;
  /** An exact decimal; null if the value of a Credit is unknown. */
  readonly usd: string | null;
}

/** A usage report, as JSON has it. */
export interface PrintedUsage {
  readonly by: readonly string[];
  readonly groups: readonly PrintedGroup[];
}

/** The rows of a usage table: the groups, with a subtotal after the groups that agree in the first groupings. Columns have equal decimals. */
export function usageRows({ by, groups }: PrintedUsage): readonly object[] {
  const rows: PrintedGroup[] = [];
  /** Where the groups that agree in a number of groupings begin. */
  const starts = by.map(() => 0);
  for (const [at, group] of groups.entries()) {
    rows.push(group);
    const next = groups[at + 1];
    // The longest prefix ends first: after a team of a month, then after the month.
    for (let length = by.length - 1; length > 0; length--) {
      if (next && prefixOf(next, by, length) === prefixOf(group, by, length)) break;
      const first = starts[length] ?? 0;
      if (first < at) rows.push(subtotal(groups.slice(first, at + 1), by, length));
      starts[length] = at + 1;
    }
  }
  const credits = equalDecimals(rows.map(creditsText), 0);
  const usd = equalDecimals(
    rows.map((row) => row.usd),
    2,
  );
  return rows.map((row, at) => ({ ...row, credits: credits[at], usd: usd[at] }));
}

const SUBTOTAL = 'subtotal';

/** The columns of a grouping in a group. */
const columnsOf = (grouping: string): readonly string[] =>
  grouping === 'key' ? ['key_id', 'key_name'] : [grouping, `${grouping}_id`, `${grouping}_name`];

/** The columns of the first groupings with their values. */
const prefixIn = ({ group }: PrintedGroup, by: readonly string[], length: number) =>
  by.slice(0, length).flatMap((grouping) =>
    columnsOf(grouping).flatMap((column) => {
      const value = group[column];
      return value === undefined ? [] : [[column, value] as const];
    }),
  );

const prefixOf = (group: PrintedGroup, by: readonly string[], length: number): string =>
  JSON.stringify(prefixIn(group, by, length));

function subtotal(groups: readonly PrintedGroup[], by: readonly string[], length: number): PrintedGroup {
  const [first] = groups;
  if (!first) throw new RangeError('a subtotal needs groups');
  const next = columnsOf(by[length] ?? '').find((column) => column in first.group);
  const sum = (figure: 'charges' | 'input_tokens' | 'output_tokens' | 'credits') =>
    groups.reduce((total, group) => total + group[figure], 0);
  return {
    group: { ...Object.fromEntries(prefixIn(first, by, length)), ...(next !== undefined && { [next]: SUBTOTAL }) },
    charges: sum('charges'),
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    credits: sum('credits'),
    usd: groups.map(({ usd }) => usd).reduce(plusText, '0'),
  };
}

/** Credits as an exact decimal. Sums of Credits can have a binary fraction that is too small to count. */
const creditsText = ({ credits }: PrintedGroup): string =>
  plainText({ digits: BigInt(Math.round(credits * MICROCREDITS)), scale: Math.log10(MICROCREDITS) });

/** Adds exact decimals; null if one of them is unknown. */
function plusText(one: string | null, other: string | null): string | null {
  const [a, b] = [one, other].map((text) => (text === null ? null : parseDecimal(text)));
  return a && b ? plainText(plus(a, b)) : null;
}
