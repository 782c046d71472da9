import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Query, queryText } from './base.ts';
import { read } from './client.ts';
import type { ApiFailure } from './failure.ts';
import type { ReadOf, ReadPath } from './reads.ts';
import { RENEWAL_MS, whileSeen } from './resource.ts';

/** A list that is read in pages as the viewer scrolls. The list never moves by itself: rows that were added later are only counted. */
export interface PagedList<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  /** How many rows were added since the first page was read, at most one page. */
  readonly fresh: number;
  readonly failure: ApiFailure | null;
  /** Whether the list waits for its first page. */
  readonly isLoading: boolean;
  /** Reads the next page. `more` does nothing while a page is loading. */
  more(): void;
  /** Starts again with the newest rows. */
  renew(): void;
  /** Replaces a row after a change; null removes the row. */
  put(id: string | number, row: Row | null): void;
}

/** The path of a list that the API returns in pages with a cursor. */
export type ListPath = {
  [Path in ReadPath]: ReadOf<Path> extends { data: readonly { id: string | number }[]; has_more: boolean }
    ? Path
    : never;
}[ReadPath];
type RowOf<Path extends ListPath> = ReadOf<Path> extends { data: readonly (infer Row)[] } ? Row : never;

export type ListedRow<Path extends ListPath> = RowOf<Path> & { readonly id: string | number };

interface Pages<Row> extends Omit<PagedList<Row>, 'more' | 'renew' | 'put'> {
  /** The cursor of the next page. */
  readonly next: string | number | null;
}

const NOTHING = { rows: [], hasMore: false, next: null, fresh: 0, failure: null, isLoading: true };

export interface PagesOptions {
  readonly limit?: number;
  /** How often the list checks for newer rows, in ms; null for never. */
  readonly every?: number | null;
  /**
   * The parameter that requests only rows newer than a given row. Without this parameter, the list reads its first page again and compares.
   */
  readonly newerBy?: string;
  /** The parameter in which the last ID of a page is sent; `after` by default. */
  readonly cursor?: 'after' | 'before';
}

/** A page in the form that every list returns. A page has `next_after` if the page can end before it is full. */
interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly next_after?: string | null;
}

/** Reads the pages of a list with a cursor and a `limit`. */
export function usePages<Path extends ListPath>(
  path: Path,
  query: Query = {},
  { limit = 50, every = RENEWAL_MS, newerBy, cursor = 'after' }: PagesOptions = {},
): PagedList<ListedRow<Path>> {
  type Row = ListedRow<Path>;
  const [pages, setPages] = useState<Pages<Row>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const running = useRef<{ readonly control: AbortController; readonly isPoll: boolean } | null>(null);
  const address = path + queryText(query);

  const load = useCallback(
    async (more: Query, take: (page: ListPage<Row>) => void, isPoll = false) => {
      running.current?.control.abort();
      const control = new AbortController();
      running.current = { control, isPoll };
      const result = await read(path, { ...query, limit, ...more }, control.signal).catch(() => null);
      if (result === null || control.signal.aborted) return;
      running.current = null;
      if (!result.ok) return setPages((now) => ({ ...now, failure: result.failure, isLoading: false }));
      // All paths of `ListPath` return these members.
      take(result.value as unknown as ListPage<Row>);
    },
    // The address changes exactly when the path or the query changes.
    [address, limit, cursor],
  );

  useEffect(() => {
    setPages((now) => ({ ...now, isLoading: true, fresh: 0 }));
    let first: string | number | null = null;
    void load({}, (page) => {
      first = page.data[0]?.id ?? null;
      setPages({ rows: page.data, ...endOf(page), fresh: 0, failure: null, isLoading: false });
    });
    const stop = whileSeen(every, () => {
      // No poll runs while a page of the list is loading.
      if (running.current) return;
      const newer = newerBy !== undefined && first !== null ? { [newerBy]: first } : {};
      const count = ({ data }: ListPage<Row>) =>
        setPages((now) => ({ ...now, failure: null, fresh: freshIn(data, now.rows) }));
      void load(newer, count, true);
    });
    return () => {
      stop();
      running.current?.control.abort();
      running.current = null;
    };
  }, [load, every, newerBy, turn]);

  const { hasMore, next } = pages;
  return {
    ...pages,
    more() {
      // Loading more cancels a poll, because the poll runs again soon, but the viewer may not scroll again.
      if (!hasMore || next === null || running.current?.isPoll === false) return;
      void load({ [cursor]: next }, (page) =>
        setPages((now) => ({ ...now, rows: [...now.rows, ...page.data], ...endOf(page), failure: null })),
      );
    },
    renew: () => setTurn((now) => now + 1),
    put: (id, row) =>
      setPages((now) => ({ ...now, rows: now.rows.flatMap((one) => (one.id === id ? (row ?? []) : one)) })),
  };
}

const endOf = <Row extends { readonly id: string | number }>({ data, has_more, next_after }: ListPage<Row>) => ({
  hasMore: has_more,
  next: next_after ?? data.at(-1)?.id ?? null,
});

function freshIn<Row extends { readonly id: string | number }>(newest: readonly Row[], shown: readonly Row[]): number {
  const known = new Set(shown.map(({ id }) => id));
  const at = newest.findIndex(({ id }) => known.has(id));
  return at < 0 ? newest.length : at;
}
