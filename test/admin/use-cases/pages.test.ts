import { describe, expect, test } from 'bun:test';
import { pageOf, pageOfList } from '../../../src/admin/use-cases/pages.ts';
import { inBatches } from '../../../src/store/batches.ts';

const MIB = 1_048_576;

/** Rows of 1,000 bytes as JSON, read in batches. */
function rowsOf(count: number, bytes = 1_000) {
  const read: number[] = [];
  const shown: number[] = [];
  const rows = inBatches<number>(async (last, limit) => {
    const from = last === null ? 0 : last + 1;
    const found = Array.from({ length: Math.min(limit, count - from) }, (_, at) => from + at);
    read.push(...found);
    return found;
  });
  const bodyOf = (row: number) => {
    shown.push(row);
    return { id: `${row}`.padStart(bytes - 9, '0') };
  };
  return { rows, bodyOf, read, shown };
}

describe('a page', () => {
  test('a page ends at its limit of rows and says whether more follow', async () => {
    for (const [count, limit, hasMore] of [
      [5, 5, false],
      [6, 5, true],
      [0, 5, false],
    ] as const) {
      const { rows, bodyOf } = rowsOf(count);
      const page = await pageOf(rows, limit, bodyOf);
      expect([page.rows.length, page.data.length, page.hasMore]).toEqual([
        Math.min(count, 5),
        Math.min(count, 5),
        hasMore,
      ]);
    }
  });

  test('a page ends at 1 MiB in UTF-8, and stops at the first row that does not fit', async () => {
    const { rows, bodyOf, read, shown } = rowsOf(100_000);
    const page = await pageOf(rows, 100_000, bodyOf);
    expect(page.hasMore).toBe(true);
    expect(page.data.length).toBe(Math.floor(MIB / 1_000));
    expect(shown).toHaveLength(page.data.length + 1);
    expect(read.length).toBeLessThan(page.data.length + 65);
    const wide = pageOfList(Array.from({ length: 9 }), 9, () => '模'.repeat(100_000));
    expect([wide.rows.length, wide.hasMore]).toEqual([3, true]);
  });

  test('a page has at least one row, even if the row is larger than 1 MiB, so that a reader always advances', async () => {
    const { rows, bodyOf } = rowsOf(2, 2 * MIB);
    expect(await pageOf(rows, 10, bodyOf)).toMatchObject({ rows: [0], hasMore: true });
  });

  test('a page reads no batch after the batch that fills it', async () => {
    const { rows, bodyOf, read } = rowsOf(1_000);
    await pageOf(rows, 10, bodyOf);
    expect(read.length).toBe(64);
  });
});
