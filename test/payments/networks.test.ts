import { describe, expect } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import type { PaymentNetwork } from '../../src/core/policy/payments.ts';
import { waitFor } from '../support/answers.ts';
import { FakeNetwork } from './fake-network.ts';
import {
  ask,
  type Bench,
  benchTest,
  CONTEXT,
  NETWORK,
  network,
  newAccount,
  PAY_TO,
  policy,
  rejection,
  shopTest,
} from './support.ts';

const OTHER = network({ id: 'eip155:31337', chainId: 31_337 });

/** The networks in a quote; none if no quote can be made. */
function quotedNetworks({ payments }: Bench): string[] {
  try {
    return payments.quote(ask()).required.accepts.map(({ network }) => network);
  } catch (cause) {
    if (cause instanceof SignalboxError && cause.code === 'payment_unavailable') return [];
    throw cause;
  }
}

/** Opens a new chain for each policy, and fails for a policy that pays to `refused`. */
function chains(clock: { now: number }) {
  const made = new Map<PaymentNetwork, FakeNetwork>();
  const refused = `0x${'99'.repeat(20)}`;
  const open = (given: PaymentNetwork) => {
    if (given.payTo === refused) throw new Error('The variable GAS_KEY is not set.');
    const chain = new FakeNetwork(clock);
    made.set(given, chain);
    return chain;
  };
  return { made, refused, open, closed: () => [...made.values()].map(({ closed }) => closed) };
}

describe('A network', () => {
  shopTest('is opened with its services when payments are turned on, and not before', async (shop) => {
    const bench = await shop.open({ policy: null });
    expect(bench.payments.policy).toBeNull();
    expect(bench.opened).toEqual([]);
    const given = policy();
    const apply = await bench.payments.prepare(given);
    expect(bench.payments.policy).toBeNull();
    apply();
    expect(bench.payments.policy).toBe(given);
    const [{ policy: opened, host } = { policy: null, host: null }] = bench.opened;
    expect(opened).toBe(given.networks[0]);
    expect(host?.env('GAS_KEY')).toBe('the GAS_KEY');
    expect(host?.now()).toBe(bench.clock.now);
    host?.onAlarm('the gas key has little left');
    expect(bench.log.at(-1)).toEqual({
      level: 'error',
      message: 'the gas key has little left',
      fields: { network: NETWORK },
    });
  });

  shopTest('checks its gas key once when it becomes ready', async (shop) => {
    const clock = { now: Date.now() };
    const { made, open } = chains(clock);
    const bench = await shop.open({ policy: null, clock, open });
    (await bench.payments.prepare(policy()))();
    await waitFor(() => [...made.values()][0]?.watched === 1);
    expect(quotedNetworks(bench)).toEqual([NETWORK]);
    (await bench.payments.prepare(policy({ chargeMin: 1 })))();
    expect([...made.values()].map(({ watched }) => watched)).toEqual([1]);
  });

  shopTest('stays open if a policy does not change it, and is closed if a policy removes it', async (shop) => {
    const clock = { now: Date.now() };
    const { open, closed } = chains(clock);
    const bench = await shop.open({ policy: null, clock, open });
    (await bench.payments.prepare(policy()))();
    (await bench.payments.prepare(policy({ chargeMin: 1, networks: [network(), OTHER] })))();
    expect(closed()).toEqual([0, 0]);
    await waitFor(() => quotedNetworks(bench).length === 2);
    (await bench.payments.prepare(policy({ networks: [OTHER, network({ payTo: `0x${'44'.repeat(20)}` })] })))();
    expect(closed()).toEqual([1, 0, 0]);
    await waitFor(() => quotedNetworks(bench).length === 2);
    expect(quotedNetworks(bench)).toEqual([OTHER.id, NETWORK]);
    (await bench.payments.prepare(null))();
    expect(closed()).toEqual([1, 1, 1]);
    expect(bench.payments.policy).toBeNull();
  });

  shopTest(
    'with an error that an operator must fix makes the whole policy invalid, and changes nothing',
    async (shop) => {
      const clock = { now: Date.now() };
      const { open, closed, refused } = chains(clock);
      const bench = await shop.open({ policy: null, clock, open });
      (await bench.payments.prepare(policy()))();
      await waitFor(() => quotedNetworks(bench).length === 1);
      const wrong = policy({ networks: [network(), OTHER, network({ id: 'eip155:1', chainId: 1, payTo: refused })] });
      expect(await rejection(bench.payments.prepare(wrong))).toEqual(new Error('The variable GAS_KEY is not set.'));
      expect(closed()).toEqual([0, 1]);
      expect(quotedNetworks(bench)).toEqual([NETWORK]);
    },
  );

  shopTest('of a preparation that was never activated is closed by the next preparation', async (shop) => {
    const clock = { now: Date.now() };
    const { open, closed } = chains(clock);
    const bench = await shop.open({ policy: null, clock, open });
    await bench.payments.prepare(policy());
    (await bench.payments.prepare(policy()))();
    expect(closed()).toEqual([1, 0]);
    await bench.payments.prepare(policy({ networks: [network(), OTHER] }));
    await bench.close();
    expect(closed()).toEqual([1, 1, 1]);
  });

  benchTest('stays open for a settlement in progress if a policy removes it', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    const gate = Promise.withResolvers<void>();
    bench.chain.gate = gate.promise;
    const settling = bench.payments.settle(signed, CONTEXT, bench.book);
    await waitFor(() => bench.chain.count('settle') === 1);
    (await bench.payments.prepare(null))();
    expect(bench.chain.closed).toBe(0);
    gate.resolve();
    expect((await settling).state).toBe('captured');
    expect(bench.chain.closed).toBe(1);
  });

  benchTest('settles a payment quoted before a reload to the payee of its quote', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    (await bench.payments.prepare(policy({ networks: [network({ payTo: `0x${'44'.repeat(20)}` })] })))();
    await waitFor(() => quotedNetworks(bench).length === 1);
    const { payment } = (await bench.payments.settle(signed, CONTEXT, bench.book)) as { payment: { payTo: string } };
    expect(payment.payTo.toLowerCase()).toBe(PAY_TO);
  });

  shopTest('is quoted when it answers, after one warning to the operator', async (shop) => {
    const clock = { now: Date.now() };
    const chain = new FakeNetwork(clock);
    chain.isUp = false;
    const bench = await shop.open({ clock, chain });
    await waitFor(() => chain.count('check') === 2);
    expect(quotedNetworks(bench)).toEqual([]);
    expect(bench.log.map(({ level }) => level)).toEqual(['warn']);
    chain.isUp = true;
    await waitFor(() => quotedNetworks(bench).length === 1, 20_000);
  });

  shopTest('that does not match the policy is not used, and is reported', async (shop) => {
    const clock = { now: Date.now() };
    const { open, made } = chains(clock);
    const wrong = (given: PaymentNetwork) => {
      const chain = open(given);
      if (given === OTHER) chain.mismatch = 'The chain at eip155:31337 is eip155:1.';
      return chain;
    };
    const bench = await shop.open({ policy: null, clock, open: wrong });
    (await bench.payments.prepare(policy({ networks: [OTHER, network()] })))();
    await waitFor(() => quotedNetworks(bench).length > 0);
    expect(quotedNetworks(bench)).toEqual([NETWORK]);
    const alarms = bench.log.filter(({ level }) => level === 'error');
    expect(alarms.map(({ fields }) => fields)).toEqual([
      { network: OTHER.id, detail: 'The chain at eip155:31337 is eip155:1.' },
    ]);
    expect([...made.values()].map((chain) => chain.count('check'))).toEqual([1, 1]);
  });
});

describe('Pending settlements', () => {
  shopTest('survive restarts under hashes of their keys, until they are deleted or expire', async (shop) => {
    const first = await shop.open();
    const pending = first.opened[0]!.host.pending;
    const key = `0x${'5a'.repeat(65)}`;
    expect(await pending.get(key)).toBeUndefined();
    await pending.set(key, '0xone');
    await pending.set(key, '0xtwo');
    await pending.set('other', '0xother');
    await first.close();
    const second = await shop.open({ clock: { now: first.clock.now + 6 * 86_400_000 } });
    const kept = second.opened[0]!.host.pending;
    expect([await kept.get(key), await kept.get('other')]).toEqual(['0xtwo', '0xother']);
    await kept.delete('other');
    expect(await kept.get('other')).toBeUndefined();
    const dump = JSON.stringify(await second.store.query({ sql: 'SELECT * FROM pending_settlements' }));
    expect(dump).not.toContain('5a5a');
    second.clock.now += 2 * 86_400_000;
    await kept.set('third', '0xthird');
    expect([await kept.get(key), await kept.get('third')]).toEqual([undefined, '0xthird']);
  });
});
