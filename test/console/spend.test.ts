import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatsOf } from '../../src/console/design/column.ts';
import { asSum, usd } from '../../src/console/design/format.ts';
import { withKnownBefore } from '../../src/console/shell/known-before.ts';
import { partOf, riseSentence } from '../../src/console/views/money/rise.ts';

const SEED = 104_006;
const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 10, 20, 12);
const BEFORE = { credits: 4, usd: '0.004', requests: 2 };

/** A report of the last 24 hours of an installation that is this old. */
const report = (ageHours: number | null) => ({
  from: new Date(NOW - 24 * HOUR_MS).toISOString(),
  to: new Date(NOW).toISOString(),
  first_at: ageHours === null ? null : new Date(NOW - ageHours * HOUR_MS).toISOString(),
  total: { before: BEFORE },
  series: [{ before: BEFORE }, { before: BEFORE }],
  other: { before: BEFORE },
});

describe('the period before', () => {
  test('it is compared exactly if the installation is at least as old as its beginning', () => {
    const law = (known: typeof withKnownBefore) =>
      fc.property(fc.option(fc.integer({ min: 1, max: 100 })), (age) => {
        const { total, series, other } = known(report(age));
        const expected = age !== null && age >= 48 ? BEFORE : null;
        return [total, ...series, other].every((line) => line?.before === expected);
      });
    fc.assert(law(withKnownBefore), { seed: SEED });
    expect(
      fc.check(
        law((one) => one),
        { seed: SEED },
      ).failed,
    ).toBe(true);
  });

  const row = (name: string, credits: number, before: number | null) => ({
    id: name,
    name,
    whole: { credits, usd: String(credits / 1_000) },
    before: before === null ? null : { credits: before, usd: String(before / 1_000) },
    change: before === null ? null : { credits: credits - before },
  });

  test('without it, the heading names the key that spends the most, and no part is new', () => {
    const rows = [row('crm', 9_000, null), row('ci', 4_000, null)];
    expect(riseSentence('Key', rows)).toBe('Key crm spends the most: $9.00.');
    expect(rows.map(partOf)).toEqual(['', '']);
  });

  test('with it, a key that spent nothing is new', () => {
    expect(riseSentence('Key', [row('crm', 9_000, 0)])).toBe('Key crm spends $9.00 and spent nothing before.');
    expect(riseSentence('Key', [row('crm', 9_000, 3_000)])).toBe(
      'Key crm spends 3 times as much as before: $9.00, up from $3.00.',
    );
    expect(riseSentence('Key', [row('crm', 1, 2)])).toBe('No key spends more than before.');
  });
});

test('columns that are formatted together have equal decimals, whatever their amounts', () => {
  const amounts = fc.array(fc.integer({ min: 0, max: 99_000_000 }), { minLength: 3, maxLength: 3 });
  const columnsOf = (formatWith?: string) =>
    [0, 1, 2].map((at) => ({
      id: `${at}`,
      figure: (row: readonly number[]) => usd((row[at] ?? 0) / 1e6),
      ...(formatWith !== undefined && { formatWith }),
    }));
  const law = (columns: ReturnType<typeof columnsOf>) =>
    fc.property(fc.array(amounts, { minLength: 1, maxLength: 4 }), (rows) => {
      const formats = formatsOf(columns, rows);
      const texts = columns.flatMap(({ id, figure }) => rows.map((row) => formats.get(id)?.(figure(row)).short ?? ''));
      return new Set(texts.map((text) => text.split('.')[1]?.length)).size === 1;
    });
  fc.assert(law(columnsOf('months')), { seed: SEED });
  expect(fc.check(law(columnsOf()), { seed: SEED }).failed).toBe(true);
});

test('a column of sums with a dollar or more shows cents, and says that a smaller sum is not nothing', () => {
  const texts = (amounts: readonly number[]) => {
    const formats = formatsOf([{ id: 'sum', figure: (amount: number) => asSum(usd(amount)) }], amounts);
    return amounts.map((amount) => formats.get('sum')?.(asSum(usd(amount))).short);
  };
  expect(texts([23.1612, 0.4661, 0.00349, -0.00349, -1.2349, 0])).toEqual([
    ...['$23.16', '$0.47', '< $0.01', '> −$0.01', '−$1.23', '$0.00'],
  ]);
  expect(texts([0.0552, 0.0085])).toEqual(['$0.0552', '$0.0085']);
});
