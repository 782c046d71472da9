import type { Microcredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import type { CorrectOp, LedgerBooks } from '../store/books.ts';

/** The charge to give back. */
interface GiveBack {
  /** The closed hold that was charged. */
  readonly hold: number;
  /** Shown in the journal. */
  readonly note: string;
  /** Another closed hold, whose charge is the most that is given back; absent: all that is left. */
  readonly instead?: number;
}

/**
 * Gives back the rest of a hold's charge. The correction's ID is made of what it gives back, and for what, so that it happens once,
 * however many ask for it.
 * @param at ms since 1970
 * @returns microcredits, once durable; 0 without such a hold, or with nothing left. Rejects with StoreError.
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
