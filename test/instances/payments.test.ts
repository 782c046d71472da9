import { expect } from 'bun:test';
import { idText } from '../../src/core/id.ts';
import type { InstanceName } from '../../src/store/instance.ts';
import { isSameInstance } from '../../src/store/instance.ts';
import type { Payment } from '../../src/store/payments.ts';
import { FakeNetwork } from '../payments/fake-network.ts';
import { all, type Bench, CONTEXT, failure, never, newAccount, shopTest, type Workshop } from '../payments/support.ts';
import { waitFor } from '../support/answers.ts';

/** The payment services of several instances that share one store and one chain. */
function fleet(shop: Workshop) {
  const clock = { now: Date.now() };
  const chain = new FakeNetwork(clock);
  const live: InstanceName[] = [];
  const lives = async (name: InstanceName) => live.some((one) => isSameInstance(one, name));
  return {
    chain,
    clock,
    async open(slot: number): Promise<Bench & { die(): void }> {
      const name = { slot, epoch: live.length + 1 };
      live.push(name);
      const bench = await shop.open({ chain, clock, instance: { ...name, lives } });
      return Object.assign(bench, { die: () => void live.splice(live.indexOf(name), 1) });
    },
  };
}

const captured = async (bench: Bench): Promise<Payment> => {
  const signed = await bench.signedPayment(newAccount());
  const resolution = await bench.payments.settle(signed, CONTEXT, bench.book);
  if (resolution.state !== 'captured') throw new Error(`it is ${resolution.state}`);
  return resolution.payment;
};

shopTest(
  'a start keeps the payment of a running request; when the request has ended, the payment is added to the balance once',
  async (shop) => {
    const ships = fleet(shop);
    const one = await ships.open(0);
    const paid = await captured(one);
    const other = await ships.open(1);
    await other.payments.sweep();
    expect(await other.row(paid.id)).toEqual(paid);
    await one.store.commit(one.payments.settleWrites(paid, 3_000_000, paid.fee));
    expect(await other.row(paid.id)).toMatchObject({
      state: 'settled',
      charged: 3_000_000,
      fee: paid.fee,
      owner: null,
    });
    const left = await captured(one);
    const third = await ships.open(2);
    one.die();
    await Promise.all([other.payments.sweep(), third.payments.sweep(), other.payments.sweep()]);
    expect(await other.row(left.id)).toMatchObject({ state: 'settled', charged: 0, fee: 0, owner: null });
    const note = idText('pay_', left.id);
    const fees = (await other.booked()).filter(({ fee }) => fee < 0);
    expect(fees).toEqual([{ wallet: left.payer, paid: 0, fee: -left.fee, note }]);
  },
);

shopTest('an authorization that reaches two instances at once is sent to the chain once', async (shop) => {
  const ships = fleet(shop);
  const [one, other] = [await ships.open(0), await ships.open(1)];
  const signed = await one.signedPayment(newAccount());
  const gate = Promise.withResolvers<void>();
  ships.chain.gate = gate.promise;
  const both = [one, other].map((bench) => bench.payments.settle(signed, CONTEXT, bench.book));
  const refused = await Promise.any(both.map(failure));
  expect(refused.code).toBe('in_flight');
  expect((await failure(other.payments.settle(signed, CONTEXT, never))).code).toBe('in_flight');
  gate.resolve();
  const results = await Promise.allSettled(both);
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(ships.chain.count('settle')).toBe(1);
  expect(await all(one)).toMatchObject([{ state: 'captured' }]);
});

shopTest('a payment whose outcome is unknown is sent again by one instance at a time', async (shop) => {
  const ships = fleet(shop);
  const [one, other] = [await ships.open(0), await ships.open(1)];
  const signed = await one.signedPayment(newAccount());
  ships.chain.behavior = 'stuck';
  expect((await failure(one.payments.settle(signed, CONTEXT, never))).code).toBe('payment_unsettled');
  ships.chain.behavior = 'prompt';
  const gate = Promise.withResolvers<void>();
  ships.chain.gate = gate.promise;
  const both = [one, other].map((bench) => bench.payments.settle(signed, CONTEXT, bench.book));
  expect((await Promise.any(both.map(failure))).code).toBe('in_flight');
  gate.resolve();
  await Promise.allSettled(both);
  expect(ships.chain.count('settle')).toBe(2);
  expect(await all(one)).toMatchObject([{ state: 'captured' }]);
});

shopTest(
  'a payment that is not settled is known on the other instance once its sender no longer waits for it',
  async (shop) => {
    const ships = fleet(shop);
    const [one, other] = [await ships.open(0), await ships.open(1)];
    const signed = await one.signedPayment(newAccount());
    const gate = Promise.withResolvers<void>();
    ships.chain.gate = gate.promise;
    const { payer, terms } = signed;
    const open = () => other.payments.unsettled(payer, terms.requestHash);
    const sender = new AbortController();
    const settling = one.payments.settle(signed, { ...CONTEXT, signal: sender.signal }, one.book);
    await waitFor(() => ships.chain.count('settle') === 1);
    // Two equal requests at the same time mean two payments.
    expect(await open()).toBeNull();
    sender.abort();
    await waitFor(async () => (await open()) !== null);
    gate.resolve();
    expect((await settling).state).toBe('captured');
    expect(await open()).toBeNull();
  },
);

shopTest(
  'if an instance ends while it sends a payment, another instance looks up the payment or sends it',
  async (shop) => {
    const ships = fleet(shop);
    const [one, other] = [await ships.open(0), await ships.open(1)];
    const signed = await one.signedPayment(newAccount());
    ships.chain.gate = new Promise(() => {});
    void one.payments.settle(signed, CONTEXT, never).catch(() => {});
    await waitFor(() => ships.chain.count('settle') === 1);
    expect((await failure(other.payments.settle(signed, CONTEXT, never))).code).toBe('in_flight');
    one.die();
    await other.payments.sweep();
    expect(await all(other)).toMatchObject([{ state: 'settling', owner: null }]);
    ships.chain.gate = Promise.resolve();
    expect((await other.payments.settle(signed, CONTEXT, other.book)).state).toBe('captured');
    expect((await other.payments.settle(signed, CONTEXT, never)).state).toBe('known');
  },
);
