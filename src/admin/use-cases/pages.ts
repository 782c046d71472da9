/** The most bytes of the rows of a page, as JSON in UTF-8. A page with a single row may be larger. */
const PAGE_BYTES_MAX = 1_048_576;

/** A part of a list. */
export interface Page<Row, Body = Row> {
  readonly rows: readonly Row[];
  /** The rows in the form of the answer. */
  readonly data: readonly Body[];
  /** Whether more rows follow. If the page ends early, the next page begins after its last row. */
  readonly hasMore: boolean;
}

/** A page to which rows are added. Every list uses this class to limit its pages. */
export class GrowingPage<Row, Body> {
  readonly rows: Row[] = [];
  readonly data: Body[] = [];
  readonly #limit: number;
  #bytesLeft = PAGE_BYTES_MAX;

  /** @param limit the most rows of the page */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.rows.length >= this.#limit;
  }

  /**
   * Adds a row.
   * @returns false if the row does not fit on the page; the first row always fits
   */
  take(row: Row, body: Body): boolean {
    if (this.isFull) return false;
    this.#bytesLeft -= Buffer.byteLength(JSON.stringify(body));
    if (this.#bytesLeft < 0 && this.rows.length > 0) return false;
    this.rows.push(row);
    this.data.push(body);
    return true;
  }
}

/** Collects a page from rows that are read one by one. Stops reading at the first row that does not fit. */
export async function pageOf<Row, Body>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  limit: number,
  bodyOf: (row: Row) => Body | Promise<Body>,
): Promise<Page<Row, Body>> {
  const page = new GrowingPage<Row, Body>(limit);
  for await (const row of rows) {
    if (page.isFull || !page.take(row, await bodyOf(row))) return { ...page, hasMore: true };
  }
  return { ...page, hasMore: false };
}

/** Collects a page from rows in memory, without waiting. */
export function pageOfList<Row, Body>(rows: Iterable<Row>, limit: number, bodyOf: (row: Row) => Body): Page<Row, Body> {
  const page = new GrowingPage<Row, Body>(limit);
  for (const row of rows) if (page.isFull || !page.take(row, bodyOf(row))) return { ...page, hasMore: true };
  return { ...page, hasMore: false };
}
