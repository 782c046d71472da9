import type { Microcredits } from '../core/credits.ts';
import { isAddress } from '../core/holder-address.ts';
import type { LedgerBooks } from '../store/books.ts';

/** The holds that a crash left open and a start closed. Amounts are microcredits. */
export interface OrphansClosed {
  readonly ids: readonly number[];
  readonly charged: Microcredits;
  /** The sum that could still have been charged. */
  readonly held: Microcredits;
}

/** Closes the holds that an earlier run left open: charged in full, or released. Rejects with StoreError. */
export async function closeOrphans(
  books: Pick<LedgerBooks, 'orphans' | 'apply'>,
  onCrash: 'charge' | 'release',
  at: number,
): Promise<OrphansClosed> {
  const { orphans } = books;
  const ids = orphans.map(({ id }) => id);
  let charged = 0;
  let held = 0;
  if (orphans.length === 0) return { ids, charged, held };
  const results = await books.apply(
    orphans.map(({ id, holder }) => {
      // A holder by address has paid in advance, and must not pay for a crash.
      return { kind: 'expire', id, at, rule: isAddress(holder ?? '') ? 'release' : onCrash } as const;
    }),
  );
  for (const [i, orphan] of orphans.entries()) {
    const result = results[i];
    if (result?.kind === 'charged') charged += result.charged - orphan.charged;
    held += orphan.reserved - orphan.charged;
  }
  return { ids, charged, held };
}
