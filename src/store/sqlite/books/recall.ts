import type { Dimensions } from '../../../core/accounting/entry.ts';
import { openHeldSum } from '../../../core/accounting/held-sum.ts';
import { timeOfId } from '../../../core/id.ts';
import { dimensionsOf } from '../../account-row.ts';
import type { OpResult } from '../../books.ts';
import { first, type SqlReader, sql } from '../../sql/statement.ts';
import { findSteps, hasBalance } from './adjust.ts';
import type { BookedFund } from './fund-states.ts';
import { LATE } from './journal.ts';
import { BookedReservation } from './reservations.ts';
import { type NumberedAccount, SELECT_ACCOUNT } from './tables.ts';

/**
 * Sums the corrections that the books themselves have made, microcredits; null for a reservation that was not settled after it had expired.
 */
export const SELECT_LATE = sql('SELECT sum(amount) AS amount FROM adjustments WHERE reservation = ? AND note = ?');

type FundsOf = (dimensions: Dimensions, atMs: number) => Promise<readonly BookedFund[]>;

const charged = (sum: number, overrun: number): OpResult => ({ kind: 'charged', charged: sum, overrun });

/**
 * Restores a closed reservation from the journal, with the first result of each of its steps. Returns null if the reservation does not
 * exist or is open. A reservation that expired and was never settled can still be settled.
 *
 * @param fundsOf returns the funds in which its charges count now
 */
export async function recall(reader: SqlReader, id: number, fundsOf: FundsOf): Promise<BookedReservation | null> {
  const rows = await findSteps(reader, id);
  const end = rows?.findLast(({ kind }) => kind === 'settle' || kind === 'expire');
  const account = rows && (await first<NumberedAccount>(reader, SELECT_ACCOUNT, rows[0].account));
  if (!rows || !end || !account) return null;
  const [{ amount, funds: fundIds, owner, expires }] = rows;
  const dimensions = dimensionsOf(account);
  const onBalance = await hasBalance(reader, fundIds);
  const counted = await fundsOf(dimensions, timeOfId(id));
  const funds = counted.filter(({ isBalance }) => !isBalance || onBalance);
  const spender = { id: account.id, dimensions, sum: null };
  const made = new BookedReservation({ id, account: spender, funds, fundIds, amount, owner, expires });
  made.isWritten = true;
  let [reserved, posted] = [amount, 0];
  for (const [at, row] of rows.entries()) {
    const next = rows[at + 1];
    const excess = next?.kind === 'overrun' ? next.amount : 0;
    if (row.kind === 'overrun') made.overrun += row.amount;
    else if (row.kind === 'raise') reserved += row.amount;
    else if (row.kind === 'post') posted += row.amount;
    if (row.step === null) continue;
    made.remember(
      row.step,
      row.kind === 'raise' ? { kind: 'granted', amount: row.amount } : charged(row.amount, excess),
    );
  }
  const open = { ...openHeldSum(reserved, null), charged: posted };
  made.state = { ...open, state: end.kind === 'expire' ? 'expired' : 'posted', charged: posted + end.amount };
  made.closing = charged(made.charged, made.overrun);
  const late = await first<{ amount: number | null }>(reader, SELECT_LATE, id, LATE);
  const corrected = late?.amount ?? null;
  if (corrected !== null) made.corrected = charged(made.charged + corrected, made.overrun);
  else if (end.kind === 'expire') made.late = open;
  return made;
}
