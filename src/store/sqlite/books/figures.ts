import type { Microcredits } from '../../../core/credits.ts';
import { idAt } from '../../../core/id.ts';
import { isWallet } from '../../../core/wallet.ts';
import { quarterOf } from '../../../ledger/rules/quarter.ts';
import type { Window } from '../../../ledger/rules/window.ts';
import type { OpenReservation } from '../../journal-reader.ts';
import type { SqlReader, Statement } from '../statement.ts';
import { grantedTo } from './adjust.ts';
import { type Balance, recover } from './recover.ts';
import { Sums } from './sums.ts';
import { SELECT_STATE, type StateRow } from './tables.ts';

/** The money that a key may spend and has spent, read from the books without the ledger. */
type Books = SqlReader;

/** The sums up to the checkpoint, and the journal after it, in one statement: so they are of one moment. */
const SELECT_SPENT: Statement = {
  sql: `SELECT coalesce((SELECT sum(s.microcredits) FROM spend AS s JOIN accounts AS a ON a.id = s.account
        WHERE s.quarter >= ?2 AND s.quarter < ?3 AND a.key_id = ?1), 0)
      + coalesce((SELECT sum(j.amount) FROM journal AS j JOIN accounts AS a ON a.id = j.account
        WHERE j.seq > (SELECT through FROM checkpoint) AND j.kind IN ('post', 'settle', 'expire', 'correct')
          AND j.reservation >= ?4 AND j.reservation < ?5 AND a.key_id = ?1), 0) AS spent`,
};

/** The charges of a key for its reservations in a window, less refunds. */
export async function spentIn(books: Books, keyId: string, { starts, ends }: Window): Promise<Microcredits> {
  const [from, to] = [starts, Math.min(ends, Number.MAX_SAFE_INTEGER)];
  const ids = [idAt(from), Number.isFinite(ends) ? idAt(to) : Number.MAX_SAFE_INTEGER];
  const [row] = await books.query<{ spent: number }>(SELECT_SPENT, [keyId, quarterOf(from), quarterOf(to), ...ids]);
  return row?.spent ?? 0;
}

const SELECT_IS_PREPAID: Statement = {
  sql: `SELECT 1 FROM adjustments WHERE kind = 'grant' AND key_id = ? LIMIT 1`,
};

/**
 * The grants of a key, requested ones included, and its spending of them; null for a key without a grant.
 * A wallet has a balance in any case, of what it has paid in and was granted.
 */
export async function keyBalance(
  books: Books,
  holder: string,
): Promise<{ granted: Microcredits; spent: Microcredits } | null> {
  if (!isWallet(holder) && (await books.query(SELECT_IS_PREPAID, [holder])).length === 0) return null;
  const balances = await balancesOf(books);
  if (!balances) return null;
  return { granted: await grantedTo(books, holder), spent: balances.get(holder)?.spent ?? 0 };
}

/** All balances at the end of the journal, by the ID of the key or the address of the wallet; null without a ledger. */
export async function balancesOf(books: Books): Promise<ReadonlyMap<string, Balance> | null> {
  const [state] = await books.query<StateRow>(SELECT_STATE);
  if (!state) return null;
  // Written by the ledger alone.
  const open = JSON.parse(state.open) as readonly OpenReservation[];
  return (await recover(books, { through: state.through, open }, new Sums())).balances;
}
