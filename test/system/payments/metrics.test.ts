import { describe, expect, test } from 'bun:test';
import { openNetwork } from '../../../src/payments/facilitator/network.ts';
import { paymentFamilies } from '../../../src/payments/metrics.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { StoreError } from '../../../src/store/store.ts';
import { FakeNetwork } from '../../payments/fake-network.ts';
import {
  ask,
  type Bench,
  benchTest,
  CONTEXT,
  NETWORK,
  never,
  newAccount,
  policy,
  rejection,
  shopTest,
  workshop,
} from '../../payments/support.ts';
import { flaky } from '../../store/support.ts';
import { waitFor } from '../../support/answers.ts';
import { figuresOf } from '../../support/families.ts';
import { startChain } from '../support/chain/chain.ts';
import { meansOf, networkOn } from '../support/chain/networks.ts';

function figuresFor({ payments }: Pick<Bench, 'payments'>, network = NETWORK) {
  const figures = figuresOf(paymentFamilies(payments));
  const of = (name: string, more = '') => figures[`signalbox_${name}{network="${network}"${more}}`];
  return {
    captured: of('payments_total', ',state="captured"'),
    failed: of('payments_total', ',state="failed"'),
    credits: of('payments_credits_total'),
    unsettled: of('payments_unsettled'),
    ready: of('payment_network_ready'),
  };
}

const quotesOf = ({ payments }: Bench) =>
  ['chat', 'topup', 'keys'].map(
    (purpose) => figuresOf(paymentFamilies(payments))[`signalbox_payment_quotes_total{purpose="${purpose}"}`],
  );

const NOTHING = { captured: 0, failed: 0, credits: 0, unsettled: 0, ready: 1 };

describe('The metrics of payments', () => {
  shopTest('are absent while payments are off, and zero once they are on', async (shop) => {
    const bench = await shop.open({ policy: null });
    expect(figuresOf(paymentFamilies(bench.payments))).toEqual({});
    (await bench.payments.prepare(policy()))();
    await waitFor(() => bench.payments.ready().length === 1);
    expect(figuresFor(bench)).toEqual(NOTHING);
    expect(quotesOf(bench)).toEqual([0, 0, 0]);
  });

  benchTest('count quotes by purpose', async (bench) => {
    bench.payments.quote(ask());
    bench.payments.quote(ask());
    bench.payments.quote(ask({ purpose: 'topup' }));
    expect(quotesOf(bench)).toEqual([2, 1, 0]);
  });

  benchTest('count each payment that has arrived, with its Credits, once, however often it is sent', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    await bench.payments.settle(signed, CONTEXT, bench.book);
    await bench.payments.settle(signed, CONTEXT, bench.book);
    expect(figuresFor(bench)).toEqual({ ...NOTHING, captured: 1, credits: 6 });
    const proof = await bench.signedPayment(newAccount(), { credit: 5_000_000 });
    await bench.payments.settle(proof, CONTEXT, never);
    expect(figuresFor(bench)).toEqual({ ...NOTHING, captured: 1, credits: 6 });
  });

  benchTest('count payments that the chain refused, and none that was never sent', async (bench) => {
    bench.chain.behavior = 'unavailable';
    await rejection(bench.payments.settle(await bench.signedPayment(newAccount()), CONTEXT, never));
    expect(figuresFor(bench)).toEqual(NOTHING);
    bench.chain.behavior = 'refused';
    await rejection(bench.payments.settle(await bench.signedPayment(newAccount()), CONTEXT, never));
    expect(figuresFor(bench)).toEqual({ ...NOTHING, failed: 1 });
  });

  benchTest('show unsettled payments, and their outcomes according to the chain', async (bench) => {
    const offers = [await bench.signedPayment(newAccount()), await bench.signedPayment(newAccount())] as const;
    for (const [at, way] of (['lost', 'stuck'] as const).entries()) {
      bench.chain.behavior = way;
      await rejection(bench.payments.settle(offers[at as 0 | 1], CONTEXT, never));
    }
    expect(figuresFor(bench)).toEqual({ ...NOTHING, unsettled: 2 });
    bench.chain.cancel(offers[1].nonce);
    const rows = await bench.payments.list({ state: 'unknown', payer: null, limit: 10, before: null });
    for (const { id } of rows) await bench.payments.reconcile(id);
    expect(figuresFor(bench)).toEqual({ ...NOTHING, captured: 1, failed: 1, credits: 6 });
  });

  shopTest('count a payment whose commit succeeded without confirmation once it is found', async (shop) => {
    let isLost = false;
    const deaf = (store: SqlStore): SqlStore => ({
      ...flaky(store),
      async commit(writes) {
        await store.commit(writes);
        if (isLost) throw new StoreError('the answer was lost');
      },
    });
    const bench = await shop.open({ wrap: deaf, reconcileEveryMs: 4 });
    const signed = await bench.signedPayment(newAccount());
    const settled = bench.payments.settle(signed, CONTEXT, (payment, captured) => {
      isLost = true;
      return bench.book(payment, captured);
    });
    await rejection(settled);
    isLost = false;
    await waitFor(() => figuresFor(bench).unsettled === 0);
    expect(figuresFor(bench)).toEqual({ ...NOTHING, captured: 1, credits: 6 });
    await bench.payments.settle(signed, CONTEXT, never);
    expect(figuresFor(bench)).toEqual({ ...NOTHING, captured: 1, credits: 6 });
  });

  shopTest('count a failure once, even if the disk refused it and the chain is asked again', async (shop) => {
    let isRefusing = false;
    const refusing = (store: SqlStore): SqlStore => ({
      ...flaky(store),
      append: (writes) => void (isRefusing || store.append(writes)),
    });
    const bench = await shop.open({ wrap: refusing });
    const signed = await bench.signedPayment(newAccount());
    bench.chain.behavior = 'stuck';
    await rejection(bench.payments.settle(signed, CONTEXT, never));
    bench.chain.cancel(signed.nonce);
    const [row] = await bench.payments.list({ state: 'unknown', payer: null, limit: 1, before: null });
    isRefusing = true;
    await bench.payments.reconcile(row!.id);
    isRefusing = false;
    expect((await bench.row(row!.id)).state).toBe('unknown');
    expect((await bench.payments.reconcile(row!.id))?.state).toBe('failed');
    expect(figuresFor(bench)).toEqual({ ...NOTHING, failed: 1 });
  });

  shopTest(
    'show the networks that are ready, and unsettled payments on a network that the policy dropped',
    async (shop) => {
      const clock = { now: Date.now() };
      const dead = new FakeNetwork(clock);
      dead.isUp = false;
      const [own] = policy().networks;
      const other = { ...own, id: 'eip155:31337', chainId: 31_337 };
      const bench = await shop.open({
        clock,
        policy: policy({ networks: [own, other] }),
        open: ({ id }, chain) => (id === own.id ? chain : dead),
      });
      await waitFor(() => bench.payments.ready().length === 1);
      expect([figuresFor(bench).ready, figuresFor(bench, other.id).ready]).toEqual([1, 0]);
      bench.chain.behavior = 'stuck';
      await rejection(bench.payments.settle(await bench.signedPayment(newAccount()), CONTEXT, never));
      (await bench.payments.prepare(policy({ networks: [other] })))();
      expect(figuresFor(bench)).toMatchObject({ unsettled: 1, ready: undefined });
      expect(figuresFor(bench, other.id)).toMatchObject({ unsettled: 0, ready: 0 });
    },
  );

  test('show the latest gas ratio, and nothing before it is known', async () => {
    await using chain = await startChain();
    const { facilitator } = await openNetwork(networkOn(chain), meansOf(chain));
    await using shop = workshop();
    const bench = await shop.open({ open: (_, fake) => Object.assign(fake, { facilitator }) });
    const samples = () =>
      figuresOf(paymentFamilies(bench.payments))[`signalbox_payment_gas_ratio{network="${NETWORK}"}`];
    const { facilitator: terms } = networkOn(chain);
    if (terms.mode !== 'local') throw new Error('somebody else pays the gas');
    await waitFor(() => samples() !== undefined);
    await chain.client.setBalance({ address: chain.gasAddress, value: terms.gasAlarmWei / 2n });
    await facilitator.watch?.();
    expect(samples()).toBe(0.5);
  });

  shopTest('show no gas if a service pays it', async (shop) => {
    const { payments } = await shop.open();
    const { gas } = Object.groupBy(Object.keys(figuresOf(paymentFamilies(payments))), (name) =>
      name.includes('gas') ? 'gas' : 'other',
    );
    expect(gas).toBeUndefined();
  });
});
