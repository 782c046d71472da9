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
}

type ListPath = {
  [Path in ReadPath]: ReadOf<Path> extends { data: readonly { id: string }[]; has_more: boolean } ? Path : never;
}[ReadPath];
type RowOf<Path extends ListPath> = ReadOf<Path> extends { data: readonly (infer Row)[] } ? Row : never;

interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly fresh: number;
  readonly failure: ApiFailure | null;
  readonly isLoading: boolean;
}

const NOTHING = { rows: [], hasMore: false, fresh: 0, failure: null, isLoading: true };

interface PagesOptions {
  readonly limit?: number;
  readonly every?: number | null;
  /** The parameter that the last ID of a page is sent in. */
  readonly cursor?: 'after' | 'before';
  readonly isWanted?: boolean;
}

/** The pages of a list, by `after` and `limit`. @param every how often it looks for newer rows, ms; null for never */
export function usePages<Path extends ListPath>(
  path: Path,
  query: Query = {},
  { limit = 50, every = RENEWAL_MS, cursor = 'after', isWanted = true }: PagesOptions = {},
): PagedList<RowOf<Path> & { readonly id: string }> {
  type Row = RowOf<Path> & { readonly id: string };
  const [pages, setPages] = useState<Pages<Row>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const running = useRef<AbortController | null>(null);
  const address = path + queryText(query);

  const load = useCallback(
    async (after: string | null, take: (got: readonly Row[], hasMore: boolean) => void) => {
      running.current?.abort();
      const control = new AbortController();
      running.current = control;
      const result = await read(path, { ...query, limit, [cursor]: after }, control.signal).catch(() => null);
      if (result === null || control.signal.aborted) return;
      running.current = null;
      if (!result.ok) return setPages((now) => ({ ...now, failure: result.failure, isLoading: false }));
      // `ListPath` has these members only.
      const page = result.value as unknown as { readonly data: readonly Row[]; readonly has_more: boolean };
      take(page.data, page.has_more);
    },
    // The address stands for path and query.
    [address, limit, cursor],
  );

  useEffect(() => {
    if (!isWanted) return;
    setPages((now) => ({ ...now, isLoading: true, fresh: 0 }));
    void load(null, (rows, hasMore) => setPages({ rows, hasMore, fresh: 0, failure: null, isLoading: false }));
    const stop =
      every === null
        ? () => {}
        : whileSeen(every, () => {
            // A page that is on its way comes first.
            if (running.current) return;
            void load(null, (rows) => setPages((now) => ({ ...now, failure: null, fresh: freshIn(rows, now.rows) })));
          });
    return () => {
      stop();
      running.current?.abort();
      running.current = null;
    };
  }, [load, every, turn, isWanted]);

  const { rows, hasMore } = pages;
  return {
    ...pages,
    more() {
      const last = rows.at(-1);
      if (!hasMore || !last || running.current) return;
      void load(last.id, (next, more) =>
        setPages((now) => ({ ...now, rows: [...now.rows, ...next], hasMore: more, failure: null })),
      );
    },
    renew: () => setTurn((now) => now + 1),
  };
}

function freshIn<Row extends { readonly id: string }>(newest: readonly Row[], shown: readonly Row[]): number {
  const known = new Set(shown.map(({ id }) => id));
  const at = newest.findIndex(({ id }) => known.has(id));
  return at < 0 ? newest.length : at;
}
