import { describe, expect } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import { idText } from '../../src/core/id.ts';
import type { SignedPayment } from '../../src/payments/read-payment.ts';
import { write } from '../../src/store/sql/statement.ts';
import { flaky } from '../store/support.ts';
import { quietFor, waitFor } from '../support/answers.ts';
import { FakeNetwork } from './fake-network.ts';
import {
  all,
  ask,
  type Bench,
  type BenchOptions,
  benchTest,
  CONTEXT,
  headerOf,
  never,
  newAccount,
  policy,
  rejection,
  shopTest,
  stockPayload,
} from './support.ts';

/** Makes a payment of unknown outcome. */
async function leave(
  bench: Bench,
  behavior: FakeNetwork['behavior'] = 'stuck',
): Promise<{ signed: SignedPayment; id: number }> {
  const signed = await bench.signedPayment(newAccount());
  bench.chain.behavior = behavior;
  await rejection(bench.payments.settle(signed, CONTEXT, never));
  const [row] = await bench.payments.list({ state: null, payer: signed.payer, limit: 1, before: null });
  return { signed, id: row!.id };
}

const stateOf = async (bench: Bench, id: number) => (await bench.row(id)).state;

/** The reconciler polls quickly in these tests. The clock that the test moves decides when a payment is checked. */
const QUICK: BenchOptions = { reconcileEveryMs: 4 };

describe('In the background', () => {
  shopTest('a payment becomes balance when the chain has it, without any request', async (shop) => {
    const bench = await shop.open(QUICK);
    const { signed, id } = await leave(bench, 'pending');
    await waitFor(() => bench.chain.count('outcome') > 0);
    expect(await stateOf(bench, id)).toBe('unknown');
    bench.chain.mine();
    bench.clock.now += 10_000;
    await waitFor(async () => (await stateOf(bench, id)) === 'settled');
    const note = idText('pay_', id);
    expect(await bench.booked()).toEqual([{ wallet: signed.payer, paid: 6_000_000, fee: 0, note }]);
    expect(await bench.payments.unsettled(signed.payer, signed.terms.requestHash)).toBeNull();
    const calls = bench.chain.count('outcome');
    bench.clock.now += 100_000;
    await quietFor(20, 'a check of a settled payment, in rounds of 4 ms', () => bench.chain.count('outcome') > calls);
  });

  shopTest('a payment fails when its authorization has expired or was cancelled', async (shop) => {
    const bench = await shop.open(QUICK);
    const unresolved = [await leave(bench), await leave(bench)] as const;
    bench.chain.cancel(unresolved[0].signed.nonce);
    bench.clock.now += 10_000;
    await waitFor(async () => (await stateOf(bench, unresolved[0].id)) === 'failed');
    expect(await stateOf(bench, unresolved[1].id)).toBe('unknown');
    bench.clock.now = unresolved[1].signed.validBefore * 1_000;
    await waitFor(async () => (await stateOf(bench, unresolved[1].id)) === 'failed');
    expect(await bench.booked()).toEqual([]);
  });

  shopTest('a payment on one network does not wait for another network that does not answer', async (shop) => {
    const clock = { now: Date.now() };
    const slow = new FakeNetwork(clock);
    const [own] = policy().networks;
    const both = policy({ networks: [{ ...own, id: 'eip155:31337', chainId: 31_337 }, own] });
    const open: BenchOptions['open'] = ({ id }, chain) => (id === own.id ? chain : slow);
    const bench = await shop.open({ ...QUICK, clock, policy: both, open });
    await waitFor(() => bench.payments.ready().length === 2);
    const { promise, resolve } = Promise.withResolvers<void>();
    slow.chainGate = promise;
    slow.behavior = 'stuck';
    const account = newAccount();
    const { required } = bench.payments.quote(ask());
    for (const [offered, behavior] of [
      [required.accepts[0], 'stuck'],
      [required.accepts[1], 'lost'],
    ] as const) {
      const payload = await stockPayload(account, { ...required, accepts: [offered!] });
      const signed = await bench.read(headerOf(payload));
      bench.chain.behavior = behavior;
      await rejection(bench.payments.settle(signed, CONTEXT, never));
    }
    await waitFor(async () => (await all(bench)).map(({ state }) => state).join() === 'settled,unknown');
    resolve();
  });

  shopTest('the chain is asked less and less often, but at least once a minute', async (shop) => {
    const bench = await shop.open({ reconcileEveryMs: 8 });
    await leave(bench);
    await waitFor(() => bench.chain.count('outcome') === 1);
    const pauses = [...Array.from({ length: 13 }, (_, i) => 8 * 2 ** i), 60_000, 60_000];
    for (const [i, pause] of pauses.entries()) {
      bench.clock.now += pause - 1;
      await quietFor(20, `a check before ${pause} ms, in rounds of 8`, () => bench.chain.count('outcome') > i + 1);
      bench.clock.now += 1;
      await waitFor(() => bench.chain.count('outcome') === i + 2);
    }
  });

  shopTest('a payment that cannot be booked, or for which the chain does not answer, is tried again', async (shop) => {
    let isBroken = false;
    const bench = await shop.open({ ...QUICK, wrap: (store) => flaky(store, () => isBroken) });
    const { id } = await leave(bench, 'lost');
    bench.chain.isUp = false;
    isBroken = true;
    const more = async () => {
      const calls = bench.chain.count('outcome');
      bench.clock.now += 60_000;
      await waitFor(() => bench.chain.count('outcome') > calls);
    };
    await more();
    bench.chain.isUp = true;
    await more();
    expect(await stateOf(bench, id)).toBe('unknown');
    isBroken = false;
    await more();
    await waitFor(async () => (await stateOf(bench, id)) === 'settled');
    expect((await bench.booked()).length).toBe(1);
  });

  shopTest('an overdue payment and a removed network are each reported to the operator once', async (shop) => {
    const bench = await shop.open(QUICK);
    const { signed, id } = await leave(bench);
    bench.chain.isUp = false;
    const alarms = () => bench.log.filter(({ level }) => level === 'error');
    const rounds = async (n: number) => {
      for (let i = 0; i < n; i++) {
        const calls = bench.chain.count('outcome');
        bench.clock.now += 60_000;
        await waitFor(() => bench.chain.count('outcome') > calls);
      }
    };
    bench.clock.now = signed.validBefore * 1_000 + 3_500_000;
    await rounds(1);
    expect(alarms()).toEqual([]);
    await rounds(4);
    const payment = { payment: idText('pay_', id), network: 'eip155:84532', wallet: signed.payer };
    expect(alarms().map(({ fields }) => fields)).toEqual([payment]);
    (await bench.payments.prepare(null))();
    bench.clock.now += 60_000;
    await waitFor(() => alarms().length === 2);
    bench.clock.now += 600_000;
    await quietFor(30, 'a third alarm, in rounds of 4 ms', () => alarms().length > 2);
    expect(alarms().map(({ fields }) => fields)).toEqual([payment, payment]);
    expect(await stateOf(bench, id)).toBe('unknown');
  });

  shopTest('a payment that is being settled is not looked up', async (shop) => {
    const bench = await shop.open(QUICK);
    const signed = await bench.signedPayment(newAccount());
    const gate = Promise.withResolvers<void>();
    bench.chain.gate = gate.promise;
    const settling = bench.payments.settle(signed, CONTEXT, bench.book);
    await waitFor(() => bench.chain.count('settle') === 1);
    const [row] = await bench.payments.list({ state: 'settling', payer: null, limit: 1, before: null });
    bench.clock.now += 60_000;
    await quietFor(30, 'a check, in rounds of 4 ms', () => bench.chain.count('outcome') > 0);
    expect(await bench.payments.reconcile(row!.id)).toEqual(row!);
    expect(bench.chain.count('outcome')).toBe(0);
    gate.resolve();
    expect((await settling).state).toBe('captured');
  });

  benchTest(
    'a request with the same payment waits for a lookup in progress, and the payment is booked once',
    async (bench) => {
      const { signed, id } = await leave(bench, 'lost');
      const gate = Promise.withResolvers<void>();
      bench.chain.chainGate = gate.promise;
      const look = bench.payments.reconcile(id);
      await waitFor(() => bench.chain.count('outcome') === 1);
      const comers = [1, 2].map(() => bench.payments.settle(signed, CONTEXT, never));
      gate.resolve();
      expect((await look)?.state).toBe('settled');
      const outcomes = await Promise.allSettled(comers);
      expect(outcomes[0]).toMatchObject({ status: 'fulfilled', value: { state: 'known' } });
      // Of two simultaneous requests, the second may have to wait.
      if (outcomes[1]?.status === 'rejected') expect(outcomes[1].reason).toMatchObject({ code: 'in_flight' });
      expect((await bench.booked()).length).toBe(1);
    },
  );
});

describe('After a restart', () => {
  shopTest(
    'a payment whose request was interrupted becomes balance, and its fee is refunded, in one commit',
    async (shop) => {
      const first = await shop.open();
      const signed = await first.signedPayment(newAccount());
      const { payment } = (await first.payments.settle(signed, CONTEXT, first.book)) as { payment: { id: number } };
      await first.close();
      const second = await shop.open();
      const row = await second.row(payment.id);
      expect(row).toMatchObject({ state: 'settled', fee: 0, charged: 0, paid: 6_000_000 });
      const fees = (await second.booked()).slice(1);
      expect(fees).toEqual([{ wallet: signed.payer, paid: 0, fee: -1_000_000, note: idText('pay_', payment.id) }]);
      expect(await second.payments.settle(signed, CONTEXT, never)).toEqual({ state: 'known', payment: row });
      await second.close();
      expect((await (await shop.open()).booked()).length).toBe(2);
    },
  );

  shopTest('payments with an unknown outcome are looked up as soon as their network is ready', async (shop) => {
    const first = await shop.open();
    const sent = await leave(first, 'lost');
    // The settlement was interrupted in the middle, so its outcome was not stored.
    await first.store.commit([write({ sql: "UPDATE payments SET state = 'settling', tx = NULL" })]);
    await first.close();
    const second = await shop.open({ ...QUICK, chain: first.chain, policy: null });
    const { requestHash } = sent.signed.terms;
    expect((await second.payments.unsettled(sent.signed.payer, requestHash))?.id).toBe(sent.id);
    await quietFor(20, 'a check on a network that is not ready', () => second.chain.count('outcome') > 0);
    (await second.payments.prepare(policy()))();
    await waitFor(async () => (await stateOf(second, sent.id)) === 'settled');
    expect((await second.booked()).map(({ paid, fee }) => [paid, fee])).toEqual([[6_000_000, 0]]);
    expect(await second.payments.unsettled(sent.signed.payer, requestHash)).toBeNull();
  });

  shopTest('a payment that was stored but never sent can be sent when it is submitted again', async (shop) => {
    const first = await shop.open();
    const { signed, id } = await leave(first);
    await first.store.commit([write({ sql: "UPDATE payments SET state = 'settling'" })]);
    await first.close();
    const second = await shop.open({ clock: first.clock });
    expect((await second.payments.settle(signed, CONTEXT, second.book)).state).toBe('captured');
    expect(await stateOf(second, id)).toBe('captured');
  });
});

describe('An operator', () => {
  benchTest('can request a check of one payment on the chain, and gets its current state', async (bench) => {
    const { payments, chain } = bench;
    expect(await payments.reconcile(1)).toBeNull();
    const { id } = await leave(bench, 'pending');
    expect((await payments.reconcile(id))?.state).toBe('unknown');
    chain.isUp = false;
    const error = await rejection(payments.reconcile(id));
    expect(error).toBeInstanceOf(SignalboxError);
    expect(error).toMatchObject({ code: 'payment_unavailable' });
    chain.isUp = true;
    chain.mine();
    expect(await payments.reconcile(id)).toEqual(await bench.row(id));
    expect(await stateOf(bench, id)).toBe('settled');
    const calls = chain.count('outcome');
    expect((await payments.reconcile(id))?.state).toBe('settled');
    expect(chain.count('outcome')).toBe(calls);
    (await payments.prepare(null))();
    expect(await rejection(payments.reconcile((await leaveFailed(bench)).id))).toMatchObject({
      code: 'payment_unavailable',
    });
  });

  benchTest('finds the money of a payment that a facilitator wrongly reported as failed', async (bench) => {
    const { signed, id } = await leave(bench, 'refused');
    expect(await stateOf(bench, id)).toBe('failed');
    bench.clock.now = signed.validBefore * 1_000;
    expect(await bench.payments.reconcile(id)).toMatchObject({ state: 'failed', error: 'insufficient_funds' });
    bench.chain.used.set(signed.nonce, '0xafterall');
    expect(await bench.payments.reconcile(id)).toMatchObject({ state: 'settled', fee: 0, transaction: '0xafterall' });
    expect((await bench.booked()).map(({ paid }) => paid)).toEqual([6_000_000]);
    expect(await bench.payments.settle(signed, CONTEXT, never)).toMatchObject({ state: 'known' });
  });
});

/** A failed payment that was made while payments were on. */
async function leaveFailed(bench: Bench) {
  (await bench.payments.prepare(policy()))();
  await waitFor(() => bench.log.filter(({ message }) => message === 'a payment network is ready').length > 1);
  const unresolved = await leave(bench, 'refused');
  (await bench.payments.prepare(null))();
  return unresolved;
}
