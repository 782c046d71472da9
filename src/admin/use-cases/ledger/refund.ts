import { idText } from '../../../core/id.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { creditsText } from '../../../core/text/text.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { StoredReservation } from '../../../store/ledger-table.ts';
import { isStoreLocked, openStore } from '../../../store/open.ts';
import { isUnmet } from '../../../store/store.ts';
import { grantDetails } from '../keys.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { servedChange } from '../served.ts';

/**
 * Returns the amount to refund.
 * @param decision ID of the decision, for messages
 * @param wanted null for everything that is left
 * @throws UsageError for an amount that cannot be refunded
 */
export function refundable(decision: string, booked: StoredReservation, wanted: Microcredits | null): Microcredits {
  if (booked.isOpen)
    throw new UsageError(
      `${decision} is still running, so its cost is not known yet. Try again when the request has ended.`,
    );
  const left = booked.charged - booked.givenBack;
  const given = booked.givenBack > 0 ? `, of which ${creditsText(booked.givenBack)} were already refunded` : '';
  const charged = `${decision} was charged ${creditsText(booked.charged)}${given}`;
  if (left <= 0) throw new UsageError(`${charged}: there is nothing left to refund.`);
  const amount = wanted ?? left;
  if (amount > left) throw new UsageError(`${charged}: you cannot refund ${creditsText(amount)}.`);
  return amount;
}

/**
 * Makes a refund, and waits until a running server has applied it.
 * @returns false if a server has not applied it yet
 * @throws UsageError; rejects with StoreError
 */
export async function refund(
  by: Principal,
  file: string,
  booked: StoredReservation,
  { amount, note }: { readonly amount: Microcredits; readonly note: string },
  now: number,
): Promise<boolean> {
  checkAction(by.caller, 'ledger.refund');
  const store = await openStore(file, { mode: 'beside' });
  try {
    const subject = { kind: 'decision', id: idText('dec_', booked.reservation) };
    const details = grantDetails({ amount, note });
    const entry = store.trail.add({ time: now, actor: by.actor, action: 'refund', subject, details });
    await store.commit([entry, store.ledger.refund(booked, amount, note, now)]);
    return await servedChange(
      () => isStoreLocked(file),
      () => store.ledger.isAdopted(booked.reservation),
    );
  } catch (cause) {
    if (!isUnmet(cause)) throw cause;
    throw new UsageError(
      'Another refund of this decision was made at the same moment. Check the ledger, then try again.',
    );
  } finally {
    await store.close();
  }
}
