import { join } from 'node:path';
import { type LedgerState, NO_LEDGER } from '../core/budget.ts';
import { readStore, storeExists } from '../store/open.ts';

/** The URL of the store of a data folder: the path of its database. */
export const databaseOf = (data: string): string => join(data, 'signalbox.db');

/** Settlements that the database could not take, in a data folder. */
export const spoolOf = (data: string): string => join(data, 'settlements.spool');

/** Reads the state of the ledger in a data folder, which a policy must fit before a server starts. */
export async function ledgerOnDisk(data: string): Promise<() => LedgerState> {
  if (!(await storeExists(databaseOf(data)))) return () => NO_LEDGER;
  using reader = await readStore(databaseOf(data), ['ledger']);
  const state = await reader.ledger.state();
  return () => state;
}
