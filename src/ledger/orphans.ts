import type { Microcredits } from '../core/credits.ts';
import { isAddress } from '../core/holder-address.ts';
import type { LedgerBooks } from '../store/books.ts';

/** The holds of dead instances that a sweep closed. Amounts are microcredits. */
export interface OrphansClosed {
  readonly ids: readonly number[];
  readonly charged: Microcredits;
  /** The sum that could still have been charged. */
  readonly held: Microcredits;
}

export const NO_ORPHANS: OrphansClosed = { ids: [], charged: 0, held: 0 };

/**
 * Closes the holds that dead instances left open: charged in full, because the upstreams' work is unknown, or released. Another sweep
 * may close them too: each ends once. Rejects with StoreError.
 */
export async function closeOrphans(
  books: Pick<LedgerBooks, 'orphans' | 'apply'>,
  onCrash: 'charge' | 'release',
  at: number,
): Promise<OrphansClosed> {
  const orphans = await books.orphans();
  if (orphans.length === 0) return NO_ORPHANS;
  const results = await books.apply(
    orphans.map(({ id, holder }) => {
      // A holder by address has paid in advance, and must not pay for a crash.
      return { kind: 'expire', id, at, rule: isAddress(holder ?? '') ? 'release' : onCrash } as const;
    }),
  );
  let charged = 0;
  let held = 0;
  for (const [i, orphan] of orphans.entries()) {
    const result = results[i];
    if (result?.kind === 'charged') charged += result.charged - orphan.charged;
    held += orphan.reserved - orphan.charged;
  }
  return { ids: orphans.map(({ id }) => id), charged, held };
}
