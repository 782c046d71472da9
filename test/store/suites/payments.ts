import { expect, test } from 'bun:test';
import type { Payment } from '../../../src/store/payments.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

export const payment = (id: number, more: Partial<Payment> = {}): Payment => ({
  id,
  state: 'settling',
  purpose: 'chat',
  network: 'eip155:8453',
  asset: '0xasset',
  payTo: '0xto',
  payer: '0xpayer',
  nonce: `0x${id}`,
  amount: 12_345_678_901_234_567_890n,
  paid: 1_000_000,
  fee: 2_000,
  bound: 900_000,
  charged: null,
  decision: null,
  keyId: null,
  quote: 'quo_1',
  requestMark: 'mark',
  validBefore: 1_800_000_000,
  transaction: null,
  error: null,
  created: 5,
  updated: 5,
  owner: null,
  ...more,
});

const ANY = { state: null, payer: null, limit: 9, before: null };
const idsOf = (payments: readonly Payment[]) => payments.map(({ id }) => id);

/** The guarantees of every table of payments, and of the tables that belong to payments. */
export function paymentSuite(open: () => Promise<TestedStore>): void {
  test('a payment is read as it was stored, by its ID and by its authorization', async () => {
    await using store = await open();
    const { payments } = store;
    await store.commit([payments.insert(payment(1))]);
    expect(await payments.get(1)).toEqual(payment(1));
    expect(await payments.find(payment(1))).toEqual(payment(1));
    expect(await payments.find({ ...payment(1), nonce: '0x2' })).toBeNull();
    expect(await payments.get(2)).toBeNull();
  });

  test('an authorization is stored once, even under different IDs', async () => {
    await using store = await open();
    const { payments } = store;
    await store.commit([payments.insert(payment(1))]);
    expect(await refusalOf(store.commit([payments.insert(payment(2, { nonce: '0x1' }))]))).toBe('refused');
    expect(await refusalOf(store.commit([payments.insert(payment(1, { nonce: '0x9' }))]))).toBe('refused');
  });

  test('a payment is taken over only from the owner that the caller saw, and abandoned once', async () => {
    await using store = await open();
    const { payments } = store;
    const [one, other] = [
      { slot: 1, epoch: 2 },
      { slot: 2, epoch: 2 },
    ];
    const seen = payment(1, { owner: one });
    await store.commit([payments.insert(seen)]);
    expect(await payments.get(1)).toEqual(seen);
    await store.commit([payments.take(seen, other)]);
    expect(await refusalOf(store.commit([payments.take(seen, one)]))).toBe('unmet');
    expect(await refusalOf(store.commit([payments.take({ ...seen, owner: null }, one)]))).toBe('unmet');
    expect(await payments.get(1)).toEqual({ ...seen, owner: other });
    expect(await refusalOf(store.commit([payments.abandon({ id: 1, owner: other }, 7)]))).toBe('unmet');
    const arrived = payment(1, { owner: other, fee: 9 });
    await store.commit([payments.capture(arrived)]);
    expect(await refusalOf(store.commit([payments.take({ ...arrived, state: 'settling' }, one)]))).toBe('unmet');
    expect(await refusalOf(store.commit([payments.abandon(seen, 7)]))).toBe('unmet');
    await store.commit([payments.abandon(arrived, 7)]);
    expect(await payments.get(1)).toEqual({
      ...arrived,
      state: 'settled',
      charged: 0,
      fee: 0,
      updated: 7,
      owner: null,
    });
    expect(await refusalOf(store.commit([payments.abandon(arrived, 8)]))).toBe('unmet');
    // The owner was alive after all and reports the charge. The fee was refunded before.
    await store.commit([payments.settle(1, 30, 9, 9)]);
    expect(await payments.get(1)).toMatchObject({ state: 'settled', charged: 30, fee: 0, updated: 9 });
    await store.commit([payments.settle(1, 40, 9, 10)]);
    expect(await payments.get(1)).toMatchObject({ charged: 30, updated: 9 });
    expect(await refusalOf(store.commit([payments.capture(arrived)]))).toBe('refused');
  });

  test('unsettled payments of a wallet are found by their request', async () => {
    await using store = await open();
    const { payments } = store;
    await store.commit([
      payments.insert(payment(2)),
      payments.insert(payment(1)),
      payments.insert(payment(3, { requestMark: 'other' })),
      payments.insert(payment(4, { payer: '0xother' })),
      payments.insert(payment(5)),
      payments.doubt(payment(2, { error: 'lost' })),
      payments.capture(payment(5)),
    ]);
    expect(idsOf(await payments.unsettledOf('0xpayer', 'mark'))).toEqual([1, 2]);
    expect(await payments.unsettledOf('0xpayer', 'none')).toEqual([]);
  });

  test('if several instances saw the same nonce of a gas key, only one instance takes the nonce, and only this instance can release it', async () => {
    await using store = await open();
    const { gasNonces: table } = store;
    const one = { nonce: 4, time: 5, owner: { slot: 1, epoch: 2 } };
    const other = { nonce: 5, time: 6, owner: { slot: 2, epoch: 2 } };
    expect(await table.find('key')).toBeNull();
    await store.commit([table.take('key', one, null)]);
    expect(await refusalOf(store.commit([table.take('key', other, null)]))).toBe('unmet');
    await store.commit([table.take('key', other, one)]);
    expect(await refusalOf(store.commit([table.take('key', { ...one, nonce: 6 }, one)]))).toBe('unmet');
    await store.commit([table.release('key', one), table.take('another', one, null)]);
    expect([await table.find('key'), await table.find('another')]).toEqual([other, one]);
    await store.commit([table.release('key', other)]);
    expect(await table.find('key')).toBeNull();
  });

  test('a payment arrives once: a second capture fails its commit, before and after the settlement', async () => {
    await using store = await open();
    const { payments, blocklist } = store;
    await store.commit([payments.insert(payment(1))]);
    const arrived = payment(1, { fee: 1, decision: 7, keyId: 'key', transaction: '0xt', updated: 6 });
    await store.commit([payments.capture(arrived)]);
    expect(await payments.get(1)).toEqual({ ...arrived, state: 'captured' });
    const again = () => refusalOf(store.commit([blocklist.put('0xb', '', 1), payments.capture(arrived)]));
    expect(await again()).toBe('refused');
    await store.commit([payments.settle(1, 40, 2, 8), payments.settle(1, 99, 9, 9)]);
    expect(await payments.get(1)).toMatchObject({ state: 'settled', charged: 40, fee: 2, updated: 8 });
    expect(await again()).toBe('refused');
    expect(await blocklist.all()).toEqual([]);
  });

  test('only an unresolved payment becomes unknown or failed, only a payment that was never sent is removed, and a failed payment can still arrive', async () => {
    await using store = await open();
    const { payments } = store;
    await store.commit([1, 2, 3].map((id) => payments.insert(payment(id))));
    await store.commit([payments.doubt(payment(1, { transaction: '0xt', error: 'gone', updated: 7 }))]);
    expect(await payments.get(1)).toMatchObject({ state: 'unknown', transaction: '0xt', error: 'gone', updated: 7 });
    await store.commit([payments.fail(payment(1, { error: 'expired' })), payments.remove(1), payments.remove(2)]);
    expect(await payments.get(1)).toMatchObject({ state: 'failed', error: 'expired' });
    expect(await payments.get(2)).toBeNull();
    await store.commit([payments.doubt(payment(1)), payments.settle(3, 1, 1, 1)]);
    expect([(await payments.get(1))?.state, (await payments.get(3))?.state]).toEqual(['failed', 'settling']);
    await store.commit([payments.capture(payment(1))]);
    await store.commit([payments.fail(payment(1)), payments.remove(1)]);
    expect(await payments.get(1)).toMatchObject({ state: 'captured', error: null });
  });

  test('payments are listed newest first, by state and payer, before an ID; unresolved ones are listed oldest first', async () => {
    await using store = await open();
    const { payments } = store;
    await store.commit([4, 2, 1, 3].map((id) => payments.insert(payment(id, { payer: id % 2 ? '0xodd' : '0xeven' }))));
    await store.commit([payments.fail(payment(2)), payments.capture(payment(3))]);
    expect(idsOf(await payments.list(ANY))).toEqual([4, 3, 2, 1]);
    expect(idsOf(await payments.list({ ...ANY, limit: 2, before: 4 }))).toEqual([3, 2]);
    expect(idsOf(await payments.list({ ...ANY, payer: '0xodd' }))).toEqual([3, 1]);
    expect(idsOf(await payments.list({ ...ANY, payer: '0xeven', state: 'failed' }))).toEqual([2]);
    expect(idsOf(await payments.unresolved())).toEqual([1, 3, 4]);
  });

  test('a wallet is blocked until it is unblocked', async () => {
    await using store = await open();
    const { blocklist } = store;
    await store.commit([
      blocklist.put('0xa', 'fraud', 1),
      blocklist.put('0xb', '', 1),
      blocklist.put('0xa', 'more', 2),
    ]);
    expect((await blocklist.all()).sort()).toEqual(['0xa', '0xb']);
    await store.commit([blocklist.delete('0xa')]);
    expect(await blocklist.all()).toEqual(['0xb']);
  });

  test('blocking a wallet without a change fails its commit, and so does unblocking a wallet that is not blocked', async () => {
    await using store = await open();
    const { blocklist } = store;
    await store.commit([blocklist.put('0xa', 'fraud', 1)]);
    expect(await refusalOf(store.commit([blocklist.put('0xa', 'fraud', 2)]))).toBe('unmet');
    expect(await refusalOf(store.commit([blocklist.delete('0xb')]))).toBe('unmet');
    expect(await blocklist.all()).toEqual(['0xa']);
  });

  test('a pending settlement keeps its last value until it is deleted or too old', async () => {
    await using store = await open();
    const table = store.pendingSettlements;
    await store.commit([table.put('a', '1', 1), table.put('a', '2', 2), table.put('b', '3', 9)]);
    expect([await table.get('a'), await table.get('c')]).toEqual(['2', null]);
    await store.commit([table.deleteBefore(2)]);
    expect(await table.get('a')).toBe('2');
    await store.commit([table.deleteBefore(3), table.delete('c')]);
    expect([await table.get('a'), await table.get('b')]).toEqual([null, '3']);
  });

  test('the secret of quotes is the first one stored', async () => {
    await using store = await open();
    const { quoteSecret } = store;
    expect(await quoteSecret.get()).toBeNull();
    const secret = new Uint8Array(32).fill(3);
    await store.commit([quoteSecret.putOnce(secret)]);
    await store.commit([quoteSecret.putOnce(new Uint8Array(32))]);
    expect(await quoteSecret.get()).toEqual(secret);
    expect(await refusalOf(store.commit([quoteSecret.putOnce(new Uint8Array(31))]))).toBe('refused');
  });
}
