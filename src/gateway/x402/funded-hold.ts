import type { Microcredits } from '../../core/credits.ts';
import { SignalboxError } from '../../core/errors.ts';
import { idText } from '../../core/id.ts';
import { isWallet } from '../../core/wallet.ts';
import type { Hold } from '../../ledger/hold.ts';
import type { Order } from '../../ledger/order.ts';
import { isShortage, type Shortage } from '../../ledger/standing.ts';
import type { Payment, SignedPayment } from '../../payments/payment.ts';
import { PaymentRefused } from '../../payments/payments.ts';
import type { Write } from '../../store/store.ts';
import { orOverloaded } from '../../store/unwritten.ts';
import type { Gateway } from '../gateway.ts';
import { shortageError } from '../shortage.ts';
import type { Way } from './payer.ts';
import { balanceShown, ofPayment, type PlatformPayment, paymentShown } from './platform-payment.ts';

/** Money that was set aside for a request. */
export interface Aside {
  readonly hold: Hold;
  /** How a wallet pays; null for a key. */
  readonly payment: Paying | null;
}

/** A wallet's payment, or its balance, that a request runs on. */
export interface Paying {
  /** The payment that has just arrived; null where the request runs on balance. */
  readonly payment: Payment | null;
  /** For the commit that closes the reservation, which was charged so much. */
  settled(charged: Microcredits): readonly Write[];
  /** As it is told beside an answer. */
  shown(charged: Microcredits): PlatformPayment;
}

/**
 * Sets the worst case aside, having a payment settled where one was offered. `begun` must be written down before money
 * moves. Throws SignalboxError or PaymentRefused, and then nothing is held.
 */
export async function setAside(
  gateway: Gateway,
  { offer, keyId }: Way,
  order: Order,
  begun: Promise<void> | null,
): Promise<Aside> {
  if (offer === null) {
    const hold = await reserve(gateway, order);
    if (begun) await confirmed(hold, begun);
    return { hold, payment: isWallet(order.caller.keyId) ? onBalance(order) : null };
  }
  if (begun) await written(() => begun);
  return byOffer(gateway, offer, keyId, order);
}

async function reserve(gateway: Gateway, order: Order): Promise<Hold> {
  const reserved = await written(() => gateway.ledger.reserve(order));
  if (isShortage(reserved)) throw shortageError(reserved, order.caller, gateway);
  return reserved;
}

/** Gives the money back when something cannot be written down. */
async function confirmed(hold: Hold, begun: Promise<void>): Promise<void> {
  try {
    await written(() => begun);
  } catch (cause) {
    hold.settle(null, () => []);
    throw cause;
  }
}

/** Has the payment settled, unless it brought its money before; then its request runs on the balance. */
async function byOffer(gateway: Gateway, offer: SignedPayment, keyId: string | null, order: Order): Promise<Aside> {
  const { payments, ledger } = gateway;
  const { bound, credit } = offer.terms;
  const isPaid = offer.amount === 0n || hasArrived(await written(() => payments.find(offer)));
  const earmark = isPaid ? null : await written(() => ledger.earmark(order, bound - credit));
  if (earmark && isShortage(earmark)) throw balanceError(gateway, earmark, order);
  try {
    const resolution = await payments.settle(
      offer,
      { decision: order.id, keyId, signal: order.signal },
      (payment, writes) => {
        if (!earmark) throw new Error('a payment arrived that nothing was set aside for');
        const { id, paid, fee } = payment;
        return earmark.capture({ paid, fee, note: idText('pay_', id) }, writes);
      },
    );
    if (resolution.state !== 'captured') {
      earmark?.release();
      // Whoever comes upon a signature later may not spend by it.
      if (offer.terms.expiresAt <= gateway.now()) throw expired();
      return await paidFor(resolution.state === 'known' ? resolution.payment : null, fromBalance(gateway, order));
    }
    const { booked: hold, payment } = resolution;
    if (hold) return { hold, payment: paying(gateway, payment) };
    await paidFor(
      payment,
      written(() => allBalance(gateway, payment)),
    );
    throw new PaymentRefused('balance_lowered', 'The balance was lowered meanwhile; what was paid is added to it.');
  } catch (cause) {
    earmark?.release();
    throw cause;
  }
}

/** What fails after its money has come must not be repeated as if nothing had. */
async function paidFor<T>(payment: Payment | null, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw cause instanceof SignalboxError ? ofPayment(cause, payment) : cause;
  }
}

const expired = () =>
  new PaymentRefused('quote_expired', 'The quote has expired; what was paid before is balance of the wallet.');

const hasArrived = (payment: Payment | null): boolean => payment?.state === 'captured' || payment?.state === 'settled';

/** For a wallet that has proved itself. */
async function fromBalance(gateway: Gateway, order: Order): Promise<Aside> {
  const reserved = await written(() => gateway.ledger.reserve(order));
  if (isShortage(reserved)) throw balanceError(gateway, reserved, order);
  return { hold: reserved, payment: onBalance(order) };
}

/** A balance that was spent since it was quoted with asks for another quote; budgets and running requests do not. */
function balanceError(gateway: Gateway, shortage: Shortage, { caller }: Order): Error {
  if (shortage.kind === 'balance' && shortage.why === 'exhausted') {
    return new PaymentRefused('balance_spent', 'The balance of this wallet no longer covers its part of the price.');
  }
  return shortageError(shortage, caller, gateway);
}

/** All that a payment brought is balance: nothing runs on it. */
function allBalance({ payments, ledger }: Gateway, payment: Payment): Promise<void> {
  const { id, payer, fee } = payment;
  const waived = { paid: 0, fee: -fee, note: idText('pay_', id) };
  return ledger.deposit(payer, waived, payments.settleWrites(payment, 0, 0));
}

function paying({ payments, ledger }: Gateway, payment: Payment): Paying {
  const { id, payer, fee } = payment;
  // Whoever got nothing pays nothing, not even for the settlement.
  const feeFor = (charged: Microcredits) => (charged > 0 ? fee : 0);
  return {
    payment,
    settled: (charged) => {
      if (charged === 0) ledger.waiveFee(payer, fee, idText('pay_', id));
      return payments.settleWrites(payment, charged, feeFor(charged));
    },
    shown: (charged) => paymentShown(payment, charged, feeFor(charged)),
  };
}

const onBalance = ({ caller, payer }: Order): Paying => ({
  payment: null,
  settled: () => [],
  shown: (charged) => balanceShown(payer ?? caller.keyId, charged),
});

/** What cannot be written down may not be spent. */
const written = <T>(write: () => Promise<T>): Promise<T> =>
  orOverloaded('The ledger cannot be written, so nothing may be spent; try again.', write);
