import { SELECT_LAST, SELECT_STATE, type StateRow } from '../store/sqlite/books/tables.ts';
import type { Ledger, LedgerOptions } from './ledger.ts';
import { StoredLedger } from './stored-ledger.ts';

/**
 * Opens the ledger of this one server, and closes what an earlier run left open by the policy's rule: charged
 * in full, since what the upstreams did is not known, or released. Throws an Error of one clear sentence when
 * the policy counts in other Credits than the entries.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { store, terms } = options;
  const [state] = await store.query<StateRow>(SELECT_STATE);
  if (!state) throw new Error('The ledger has no checkpoint: the database is damaged.');
  const [last] = await store.query<{ id: number | null }>(SELECT_LAST);
  const ledger = new StoredLedger(options, state, last?.id ?? 0);
  await ledger.begin(terms, state);
  return ledger;
}
