import { ask, note, tick } from './actions.ts';
import { WALLETS } from './chance.ts';
import type { Entry } from './entries.ts';
import type { Play } from './play.ts';
import type { Payment } from './reference.ts';

/** A wallet makes a request, or pays for a key, with a payment that will cover a part of the cost. */
export function earmark(play: Play): void {
  const { chance } = play;
  const wallet = chance.one(WALLETS);
  const model = chance.one(['auto', 'fast']);
  const key = chance.who();
  const isBeside = chance.yes(0.4);
  const expected = chance.int(0, 130);
  ask(play, {
    who: isBeside ? key : { keyId: wallet, labels: {}, model },
    payer: isBeside ? wallet : null,
    expected,
  });
}

/** The payment arrives, usually with the expected amount. */
export function capture(play: Play): void {
  const { chance, reference } = play;
  const found = chance.any(play.earmarks());
  if (!found) return;
  const { asked, earmark } = found;
  const { id, expected } = asked.ask;
  const fee = chance.yes(0.6) ? chance.int(1, 20) : 0;
  const paid = Math.max(fee + 1, (expected ?? 0) + fee + (chance.yes(0.3) ? chance.int(-40, 40) : 0));
  const payment: Payment = { wallet: reference.earmarks.get(id)!.holder, note: play.newNote, paid, fee };
  note(play, { id, ...payment });
  const captured = earmark.capture(payment, []);
  const entry = reference.capture(id, payment);
  if (entry) {
    play.asked.delete(id);
    book(play, entry, captured);
    return;
  }
  asked.told = null;
  play.track(captured, asked);
}

/** No payment arrives. The release may be called twice. */
export function letGo(play: Play): void {
  const { chance, reference } = play;
  const found = chance.any(play.earmarks());
  if (!found) return;
  const { asked, earmark } = found;
  note(play, asked.ask.id);
  earmark.release();
  if (chance.yes(0.3)) earmark.release();
  reference.release(asked.ask.id);
  play.asked.delete(asked.ask.id);
}

/** A wallet tops up, or the fee of a payment is refunded on its own. */
export function deposit(play: Play): void {
  const { chance, reference, subject } = play;
  const kept = chance.yes(0.3) ? chance.any(reference.kept) : undefined;
  const paid = chance.int(1, 300);
  const payment: Payment = kept
    ? { ...kept, paid: 0, fee: -kept.fee }
    : { wallet: chance.one(WALLETS), note: play.newNote, paid, fee: chance.int(0, Math.min(paid, 20)) };
  note(play, payment);
  book(play, reference.deposit(payment), subject.ledger.deposit(payment.wallet, payment, []));
  // Before the deposit is on disk.
  if (chance.yes(0.5)) tick(play);
}

function book(play: Play, entry: Entry, done: Promise<unknown>): void {
  const paid: Play['paid'][number] = { entry, told: null };
  play.paid.push(paid);
  play.track(
    done.then(() => 'booked' as const),
    paid,
  );
}
