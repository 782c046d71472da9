import type { LedgerBooks, LedgerOp } from '../../books.ts';
import { sql, write } from '../../sql/statement.ts';
import type { BooksQuery } from './names.ts';

const SELECT_REQUESTED = `SELECT id, kind, key_id AS "keyId", reservation, amount, note, time FROM adjustments
    WHERE adopted = 0 ORDER BY id`;
const ADOPT = sql('UPDATE adjustments SET adopted = 1 WHERE id = ?');

interface RequestedRow {
  readonly id: number;
  readonly kind: 'grant' | 'correct';
  readonly keyId: string;
  readonly reservation: number | null;
  readonly amount: number;
  readonly note: string;
  readonly time: number;
}

/**
 * Books the grants and refunds that commands have requested in the table `adjustments`. Several instances may do this at the same time: the
 * ID of the request makes sure that each request is booked once. A request that the rules refuse, such as a refund for a hold that is still
 * open, stays in the table for the next run and does not block the other requests.
 */
export async function adoptRequested(query: BooksQuery, apply: LedgerBooks['apply']): Promise<void> {
  for (const row of await query<RequestedRow>(SELECT_REQUESTED, [])) {
    try {
      await apply([opOf(row)], [write(ADOPT, row.id)]);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
    }
  }
}

/**
 * The ID of a request becomes the ID of the grant. The ID of a request cannot equal the ID of a grant that Signalbox makes itself, because
 * Signalbox's own IDs contain the time and are far larger.
 */
function opOf({ id, keyId: holder, reservation, amount, note, time: at }: RequestedRow): LedgerOp {
  if (reservation === null) return { kind: 'grant', id, at, holder, amount, note };
  return { kind: 'correct', id: `request ${id}`, at, reservation, amount: -amount, note };
}
