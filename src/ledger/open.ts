import type { Ledger, LedgerOptions } from './ledger.ts';
import { StoredLedger } from './stored-ledger.ts';

/**
 * Opens the ledger of this one server, and closes what an earlier run left open by the policy's rule: charged
 * in full, since what the upstreams did is not known, or released. Throws an Error of one clear sentence when
 * the policy counts in other Credits than the entries.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const ledger = new StoredLedger(options);
  await ledger.begin(options.terms);
  return ledger;
}
