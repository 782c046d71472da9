import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type PrintedUsage, usageRows } from '../../../src/admin/use-cases/usage-rows.ts';
import { effort } from '../../deep/effort.ts';

const { runs, seed, proved } = effort('usage rows', 200, 5_000);

const BY = ['month', 'team', 'model'];

/** Groups of months, teams and models, sorted as a report sorts them, with exact amounts. */
const reports: fc.Arbitrary<PrintedUsage> = fc
  .uniqueArray(
    fc.record({
      month: fc.constantFrom('2026-10', '2026-11'),
      team: fc.constantFrom('', 'ads', 'search'),
      model: fc.constantFrom('', 'a', 'b'),
      micro: fc.integer({ min: -5_000_000, max: 5_000_000_000 }),
    }),
    { selector: ({ month, team, model }) => [month, team, model].join('/'), maxLength: 12 },
  )
  .map((list) => ({
    by: BY,
    groups: list
      .toSorted((a, b) => ([a.month, a.team, a.model].join('/') < [b.month, b.team, b.model].join('/') ? -1 : 1))
      .map(({ month, team, model, micro }) => ({
        group: { month, team_id: team, ...(team && { team_name: `The ${team}` }), model },
        charges: 1,
        input_tokens: 2,
        output_tokens: 3,
        credits: micro / 1e6,
        usd: (micro / 1e6).toFixed(6),
      })),
  }));

interface Row {
  readonly group: Readonly<Record<string, string>>;
  readonly charges: number;
  readonly credits: string;
  readonly usd: string;
}

const micro = (text: string): number => Math.round(Number(text.replaceAll(',', '')) * 1e6);
const decimals = (text: string): number => text.split('.')[1]?.length ?? 0;

/** Each subtotal is the sum of the groups that agree with it, follows them directly, and all amounts of a column have equal decimals. */
const lawOf = (rowsOf: (report: PrintedUsage) => readonly object[]) =>
  fc.property(reports, (report) => {
    const rows = rowsOf(report) as readonly Row[];
    const isSum = ({ group }: Row) => Object.values(group).includes('subtotal');
    for (const column of ['credits', 'usd'] as const) {
      if (new Set(rows.map((row) => decimals(row[column]))).size > 1) return false;
    }
    const plain = rows.filter((row) => !isSum(row));
    if (JSON.stringify(plain.map(({ group }) => group)) !== JSON.stringify(report.groups.map(({ group }) => group)))
      return false;
    const blocks = new Set<string>();
    for (const [at, row] of rows.entries()) {
      if (!isSum(row)) continue;
      const { month, team_id: team } = row.group;
      const isOf = (one: Row) => one.group.month === month && (team === 'subtotal' || one.group.team_id === team);
      const of = plain.filter(isOf);
      blocks.add(JSON.stringify([month, team]));
      if (of.length < 2 || rows.slice(at + 1).some((one) => isOf(one) && !isSum(one))) return false;
      for (const column of ['credits', 'usd'] as const) {
        if (of.reduce((sum, one) => sum + micro(one[column]), 0) !== micro(row[column])) return false;
      }
      if (row.charges !== of.length) return false;
    }
    const sizes = Map.groupBy(
      plain.flatMap(({ group: { month, team_id: team } }) => [
        [month, team],
        [month, 'subtotal'],
      ]),
      (block) => JSON.stringify(block),
    );
    return sizes.entries().every(([block, all]) => all.length > 1 === blocks.has(block));
  });

test('subtotals of a usage table are the sums of the rows above them, exact in Credits and USD', () => {
  fc.assert(lawOf(usageRows), { numRuns: runs, seed });
  proved('subtotals of a usage table are the sums of the rows above them');
});

test('the law of subtotals detects a table without the last subtotal, and amounts with different decimals', () => {
  const mutants: readonly ((report: PrintedUsage) => readonly object[])[] = [
    (report) => usageRows(report).slice(0, -1),
    ({ groups }) => groups.map((group) => ({ ...group, credits: String(group.credits) })),
    (report) => usageRows({ ...report, by: BY.slice(0, 2) }),
  ];
  for (const mutant of mutants) expect(fc.check(lawOf(mutant), { numRuns: 300, seed }).failed).toBe(true);
});
