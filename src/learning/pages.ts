import type { OutcomeRow } from '../store/learning.ts';

/** The most rows of a page. */
export const PAGE = 1_000;

/** Outcomes in their order, in pages. @param read reads a page above an ID @param after the ID to begin above */
export async function* pagesOf<Row extends OutcomeRow>(
  read: (after: number) => Promise<readonly Row[]>,
  after: number,
): AsyncGenerator<readonly Row[]> {
  for (let last: number | undefined = after; last !== undefined; ) {
    const rows = await read(last);
    if (rows.length > 0) yield rows;
    last = rows.at(-1)?.id;
  }
}
