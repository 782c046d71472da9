import { describe, expect } from 'bun:test';
import { idText } from '../../src/core/id.ts';
import { StoreError } from '../../src/store/store.ts';
import type { FakeNetwork } from './fake-network.ts';
import {
  benchTest,
  CONTEXT,
  failure,
  never,
  newAccount,
  only,
  refusal,
  shopTest,
  TOKEN,
  type Workshop,
} from './support.ts';

/** Makes a payment whose settlement ended in the given way, and returns its error. */
async function unsettledBench(shop: Workshop, behavior: FakeNetwork['behavior']) {
  const bench = await shop.open();
  const header = await bench.header(newAccount());
  const offer = await bench.read(header);
  bench.chain.behavior = behavior;
  const error = await failure(bench.payments.settle(offer, CONTEXT, never));
  return { bench, offer, header, error, id: (await only(bench)).id };
}

describe('A payment with an unknown outcome', () => {
  shopTest(
    'is reported with its ID, and blocks another payment of the same wallet for the same request',
    async (shop) => {
      const { bench, offer, error, id } = await unsettledBench(shop, 'pending');
      const text = idText('pay_', id);
      expect([error.code, error.status, error.info.retryAfterMs]).toEqual(['payment_unsettled', 503, 5_000]);
      expect([error.info.details, error.info.headers]).toEqual([{ payment_id: text }, { 'x-payment-id': text }]);
      const transaction = `0xpending${offer.nonce.slice(-4)}`;
      expect(await only(bench)).toMatchObject({ state: 'unknown', error: 'timeout', transaction });
      expect((await bench.payments.unsettled(offer.payer, offer.terms.requestHash))?.id).toBe(id);
      expect(await bench.payments.unsettled(offer.payer, '00'.repeat(32))).toBeNull();
      expect(await bench.payments.unsettled(newAccount().address.toLowerCase(), offer.terms.requestHash)).toBeNull();
    },
  );

  shopTest('becomes balance without a fee when it is submitted again and the chain has it', async (shop) => {
    const { bench, offer, id } = await unsettledBench(shop, 'lost');
    const resolution = await bench.payments.settle(offer, { decision: 99, keyId: null }, never);
    const settled = await bench.row(id);
    expect(resolution).toEqual({ state: 'known', payment: settled });
    expect(settled).toMatchObject({ state: 'settled', fee: 0, charged: null, error: null, decision: 77 });
    expect(settled.transaction).toBe(bench.chain.used.get(offer.nonce)!);
    const note = idText('pay_', id);
    expect(await bench.booked()).toEqual([{ wallet: offer.payer, paid: 6_000_000, fee: 0, note }]);
    expect(await bench.payments.unsettled(offer.payer, offer.terms.requestHash)).toBeNull();
    expect(await bench.payments.settle(offer, CONTEXT, never)).toEqual({ state: 'known', payment: settled });
    expect((await bench.booked()).length).toBe(1);
  });

  shopTest(
    'is sent again when it is submitted again, if it was not used and its quote is still valid',
    async (shop) => {
      const { bench, offer, id } = await unsettledBench(shop, 'stuck');
      bench.chain.behavior = 'prompt';
      const resolution = await bench.payments.settle(offer, { decision: 99, keyId: null }, bench.book);
      const row = await bench.row(id);
      expect(resolution).toEqual({ state: 'captured', payment: row, booked: 'booked' });
      expect(row).toMatchObject({ state: 'captured', fee: 1_000_000, decision: 99, error: null });
      expect((await bench.booked()).length).toBe(1);
    },
  );

  benchTest(
    'is not sent with other terms, because the arrival would be booked with the terms that were signed first',
    async (bench) => {
      const account = newAccount();
      const first = await bench.header(account, { purpose: 'topup', bound: 90_000_000 });
      bench.chain.behavior = 'stuck';
      const offer = await bench.read(first, { purpose: 'topup' });
      await failure(bench.payments.settle(offer, CONTEXT, never));
      bench.chain.behavior = 'prompt';
      const calls = bench.chain.count('settle');
      // A payment with the same nonce and another signature pays less, or can be mined after Signalbox has stopped polling the chain.
      const { amount, validBefore, requirements, terms } = offer;
      for (const other of [
        { amount: amount / 90n, requirements: { ...requirements, amount: String(amount / 90n) } },
        { validBefore: validBefore + 3_600 },
        { requirements: { ...requirements, payTo: TOKEN } },
        { terms: { ...terms, requestHash: '00'.repeat(32) } },
      ]) {
        const refused = await failure(bench.payments.settle({ ...offer, ...other }, CONTEXT, bench.book));
        expect(refused.code).toBe('payment_unsettled');
      }
      expect(bench.chain.count('settle')).toBe(calls);
      expect([await bench.booked(), bench.chain.received]).toEqual([[], 0n]);
      expect((await bench.payments.settle(offer, CONTEXT, bench.book)).state).toBe('captured');
    },
  );

  shopTest(
    'stays unknown if a retry fails, is not sent or gets no answer, because the first attempt may still arrive',
    async (shop) => {
      const { bench, offer, id } = await unsettledBench(shop, 'pending');
      const { transaction } = await bench.row(id);
      for (const behavior of ['refused', 'unavailable', 'stuck', 'broken'] as const) {
        bench.chain.behavior = behavior;
        expect((await failure(bench.payments.settle(offer, CONTEXT, never))).code).toBe('payment_unsettled');
        expect(await bench.row(id)).toMatchObject({ state: 'unknown', transaction });
      }
      bench.chain.mine();
      expect((await bench.payments.settle(offer, CONTEXT, never)).state).toBe('known');
      expect((await bench.booked()).map(({ paid }) => paid)).toEqual([6_000_000]);
    },
  );

  shopTest(
    'is not sent again after its quote has expired or if the time is short, and fails when the chain says so',
    async (shop) => {
      const { bench, offer, id } = await unsettledBench(shop, 'stuck');
      bench.chain.behavior = 'prompt';
      const short = { ...offer, validBefore: Math.ceil(bench.clock.now / 1_000) + 10 };
      expect((await failure(bench.payments.settle(short, CONTEXT, never))).code).toBe('payment_unsettled');
      bench.clock.now = offer.terms.expiresAt;
      expect((await failure(bench.payments.settle(offer, CONTEXT, never))).code).toBe('payment_unsettled');
      bench.clock.now = offer.validBefore * 1_000;
      expect(await refusal(bench.payments.settle(offer, CONTEXT, never))).toBe('payment_failed');
      expect(await bench.row(id)).toMatchObject({ state: 'failed', error: 'authorization_expired' });
      expect(bench.chain.count('settle')).toBe(1);
      expect(await bench.payments.unsettled(offer.payer, offer.terms.requestHash)).toBeNull();
    },
  );

  shopTest('has failed if its payer has cancelled the authorization', async (shop) => {
    const { bench, offer, id } = await unsettledBench(shop, 'pending');
    bench.chain.cancel(offer.nonce);
    expect(await refusal(bench.payments.settle(offer, CONTEXT, never))).toBe('payment_failed');
    expect(await bench.row(id)).toMatchObject({ state: 'failed', error: 'authorization_cancelled' });
  });

  shopTest('stays unknown while the chain does not answer, or the policy lacks its network', async (shop) => {
    const { bench, offer, id } = await unsettledBench(shop, 'stuck');
    bench.chain.isUp = false;
    expect((await failure(bench.payments.settle(offer, CONTEXT, never))).code).toBe('payment_unsettled');
    (await bench.payments.prepare(null))();
    expect((await failure(bench.payments.settle(offer, CONTEXT, never))).code).toBe('payment_unsettled');
    expect(await bench.row(id)).toMatchObject({ state: 'unknown' });
  });

  shopTest('results from an interrupted settlement, which is reported to the operator', async (shop) => {
    const { bench, error } = await unsettledBench(shop, 'broken');
    expect(error.code).toBe('payment_unsettled');
    expect(await only(bench)).toMatchObject({ state: 'unknown', error: 'settlement_broke_off' });
    expect(bench.log.filter(({ level }) => level === 'error').length).toBe(1);
  });

  benchTest('results from an arrival that could not be booked; later it is booked from the chain', async (bench) => {
    const offer = await bench.signedPayment(newAccount());
    const broken = () => Promise.reject(new StoreError('the disk is full'));
    const error = await failure(bench.payments.settle(offer, CONTEXT, broken));
    expect(error.code).toBe('payment_unsettled');
    expect(await only(bench)).toMatchObject({ state: 'settling' });
    expect(await bench.payments.unsettled(offer.payer, offer.terms.requestHash)).not.toBeNull();
    expect((await bench.payments.settle(offer, CONTEXT, never)).state).toBe('known');
    expect((await bench.booked()).map(({ paid, fee }) => [paid, fee])).toEqual([[6_000_000, 0]]);
  });

  benchTest('is not booked again if its booking succeeded but was reported as failed', async (bench) => {
    const offer = await bench.signedPayment(newAccount());
    const error = await failure(
      bench.payments.settle(offer, CONTEXT, async (payment, writes) => {
        await bench.book(payment, writes);
        throw new StoreError('the confirmation was lost');
      }),
    );
    expect(error.code).toBe('payment_unsettled');
    expect(await bench.payments.settle(offer, CONTEXT, never)).toMatchObject({ state: 'known' });
    expect((await bench.booked()).length).toBe(1);
  });
});
