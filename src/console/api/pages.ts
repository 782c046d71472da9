import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Query, queryText } from './base.ts';
import { read } from './client.ts';
import type { ApiFailure } from './failure.ts';
import type { ReadOf, ReadPath } from './reads.ts';
import { RENEWAL_MS, whileSeen } from './resource.ts';

/** A list by keyset, as far as it was scrolled. It never moves by itself: rows that came since are only counted. */
export interface PagedList<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  /** How many came since the first page was read, at most a page. */
  readonly fresh: number;
  readonly failure: ApiFailure | null;
  /** Whether nothing is there yet. */
  readonly isLoading: boolean;
  /** Reads the next page, once. */
  more(): void;
  /** Begins anew with the newest. */
  renew(): void;
  /** Shows a row as a change has left it; null where it is gone. */
  put(id: string | number, row: Row | null): void;
}

/** The path of a list by keyset. */
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
  /** How often it looks for newer rows, ms; null for never. */
  readonly every?: number | null;
  /** The parameter by which the list tells only rows newer than one; absent where it has none, and its first page is compared. */
  readonly newerBy?: string;
  /** The parameter that the last ID of a page is sent in; `after` unless given. */
  readonly cursor?: 'after' | 'before';
}

/** A page as every list has it. `next_after` stands where a page can end before it is full. */
interface ListPage<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly next_after?: string | null;
}

/** The pages of a list, by a cursor and `limit`. */
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
      // `ListPath` has these members only.
      take(result.value as unknown as ListPage<Row>);
    },
    // The address stands for path and query.
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
      // A page that is on its way comes first.
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
      // It takes the place of a poll, which comes again; a caller who scrolls does not.
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
