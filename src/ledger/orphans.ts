import type { Microcredits } from '../core/money/credits.ts';
import { isAddress } from '../core/money/holder-address.ts';
import type { LedgerBooks } from '../store/books.ts';

/** The holds of ended instances that a sweep closed. Amounts are microcredits. */
export interface OrphansClosed {
  readonly ids: readonly number[];
  readonly charged: Microcredits;
  /** The amount that these holds could still have charged. */
  readonly held: Microcredits;
}

export const NO_ORPHANS: OrphansClosed = { ids: [], charged: 0, held: 0 };

/**
 * Closes the holds that ended instances left open: the sweep charges these holds in full, because the work of the upstream is unknown, or
 * releases the holds. Another sweep may run at the same time: each hold ends once.
 * @throws StoreError by rejecting
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
      // A wallet has paid in advance and must not pay for a crash, so its hold is released.
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
