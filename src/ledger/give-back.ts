import { idText } from '../core/id.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { CorrectOp, LedgerBooks } from '../store/books.ts';

/** The charge to refund. */
interface GiveBack {
  /** The closed hold that was charged. */
  readonly hold: number;
  /** The note of the journal entry. */
  readonly note: string;
  /** Another closed hold; its charge is the highest amount to refund. If absent, the whole remaining charge is refunded. */
  readonly instead?: number;
}

/**
 * Refunds the remaining charge of a hold. The ID of the refund is built from the IDs of the holds, so the refund happens once, even if
 * several processes request the refund.
 * @param at ms since 1970
 * @returns the refunded microcredits, once durable; 0 if the hold does not exist or no charge is left
 * @throws StoreError by rejecting
 */
export async function giveBack(
  books: Pick<LedgerBooks, 'apply' | 'reservation'>,
  { hold, note, instead }: GiveBack,
  at: number,
): Promise<Microcredits> {
  const booked = await books.reservation(hold);
  if (!booked || (!booked.isOpen && booked.givenBack >= booked.charged)) return 0;
  const most = instead === undefined ? Number.MAX_SAFE_INTEGER : ((await books.reservation(instead))?.charged ?? 0);
  const id = ['giveback', hold, instead].flatMap((part) =>
    typeof part === 'number' ? idText('dec_', part) : (part ?? []),
  );
  const op: CorrectOp = { kind: 'correct', id: id.join('/'), at, reservation: hold, amount: most, note };
  const [result] = await books.apply([op]);
  return result?.kind === 'granted' ? result.amount : 0;
}
