import { idText } from '../../../src/core/id.ts';
import { holderCaller } from '../../../src/core/people/caller.ts';
import { isShortage } from '../../../src/ledger/available-funds.ts';
import type { Earmark } from '../../../src/ledger/hold.ts';
import { PaymentHold } from '../../../src/payments/funding/payment-hold.ts';
import { nameOf } from '../../../src/store/instance.ts';
import type { Payment } from '../../../src/store/payments.ts';
import type { Member } from './member.ts';

/** The amount that a payment brings, and the fee that is kept of it, microcredits. */
const PAID = 1_000;
const FEE = 50;
const WALLETS = ['0x00000000000000000000000000000000000000a1', '0x00000000000000000000000000000000000000b2'];

/** A payment, with the money that is set aside for its request. */
interface StoredPayment {
  readonly payment: Payment;
  readonly earmark: Earmark;
}

/**
 * Claims a payment and sets money aside for its request, as a settlement does before it sends anything. Signatures and the chain are tested
 * elsewhere, because they take a thousand times as long.
 * @returns null if there is not enough money
 */
export async function claimed(
  { gateway: { ledger }, store }: Member,
  ids: { readonly payment: number; readonly decision: number },
  amount: number,
): Promise<StoredPayment | null> {
  const payer = WALLETS[ids.payment % 3 === 0 ? 0 : 1]!;
  const now = store.instance.now();
  const payment: Payment = {
    ...{
      id: ids.payment,
      state: 'settling',
      purpose: 'chat',
      network: 'eip155:1',
      asset: '0xc0',
      payTo: '0xd0',
      payer,
    },
    ...{ nonce: String(ids.payment), amount: 1n, paid: PAID, fee: FEE, bound: PAID - FEE, charged: null },
    ...{ decision: ids.decision, keyId: null, quote: 'q', requestMark: 'm', validBefore: 0, transaction: null },
    ...{ error: null, created: now, updated: now, owner: nameOf(store.instance) },
  };
  await store.commit([store.payments.insert(payment)]);
  const request = {
    ...{
      id: ids.decision,
      caller: holderCaller(payer),
      selector: 'best',
      agentWallet: null,
      holder: null,
      limit: null,
    },
    ...{ amounts: [amount] as const, least: null, waitMs: 0, expiresAt: now + 900_000 },
  };
  const earmark = await ledger.earmark(request, PAID - FEE);
  if (!isShortage(earmark)) return { payment, earmark };
  store.append([store.payments.remove(payment.id)]);
  return null;
}

/**
 * Books the payment after it has arrived.
 * @returns the hold; null if no request runs on it, so that all of it is added to the balance
 */
export async function captured(
  { gateway, store }: Member,
  { payment, earmark }: StoredPayment,
): Promise<PaymentHold | null> {
  const { id, payer, paid, fee } = payment;
  const note = idText('pay_', id);
  const arrived: Payment = { ...payment, state: 'captured', transaction: '0xt' };
  const hold = await earmark.capture({ paid, fee, note }, [store.payments.capture(arrived)]);
  if (hold) return new PaymentHold(gateway, hold, arrived);
  const { payments, ledger } = gateway;
  await ledger.deposit(payer, { paid: 0, fee: -fee, note }, payments.settleWrites(arrived, 0, 0));
  return null;
}
