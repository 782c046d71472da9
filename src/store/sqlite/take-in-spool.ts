import { resolve } from 'node:path';
import type { SpoolReport } from '../driver.ts';
import { closedBy, unbooked } from './books/spooled.ts';
import type { WatchedStore } from './database.ts';
import { SETTLE } from './payments.ts';
import { readSpool, Spool } from './spool.ts';

/**
 * Books the settlements that an earlier run left in its spool, and gives the store a new one. To be called before the
 * books are opened, which close every reservation that is open then.
 * @throws an Error of one clear sentence, and changes nothing, when the spool is damaged or does not belong to the database.
 */
export async function takeInSpool(path: string, store: WatchedStore): Promise<SpoolReport> {
  const { units, isTorn } = readSpool(path);
  const { writes, closed, charged } = await unbooked(store, resolve(path), units, [SETTLE]);
  if (writes.length > 0) await store.commit(writes);
  store.useSpool(Spool.create(path));
  return { closed, charged, isTorn };
}

/** @returns the number of settlements in a spool; undefined where it cannot be read: another server may have taken it over. */
export function settlementsIn(path: string): number | undefined {
  try {
    return closedBy(readSpool(path).units).length;
  } catch {
    return undefined;
  }
}
