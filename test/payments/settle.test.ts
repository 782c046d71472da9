import { describe, expect } from 'bun:test';
import { errorBody } from '../../src/core/api/error.ts';
import { idText } from '../../src/core/id.ts';
import type { Payment } from '../../src/store/payments.ts';
import { StoreError } from '../../src/store/store.ts';
import { flaky } from '../store/support.ts';
import {
  all,
  ask,
  benchTest,
  CONTEXT,
  failure,
  headerOf,
  NETWORK,
  never,
  newAccount,
  only,
  policy,
  refusal,
  rejection,
  shopTest,
  stockPayload,
} from './support.ts';

describe('A new payment', () => {
  benchTest('is verified, stored, settled and booked in this order, and can be looked up afterwards', async (bench) => {
    const { payments, chain, clock } = bench;
    const account = newAccount();
    const signed = await bench.signedPayment(account);
    expect(await payments.find(signed)).toBeNull();
    const gate = Promise.withResolvers<void>();
    chain.gate = gate.promise;
    const settling = payments.settle(signed, { decision: 77, keyId: 'key-1' }, bench.book);
    while (chain.count('settle') === 0) await Bun.sleep(1);
    const begun = await only(bench);
    const payer = account.address.toLowerCase();
    expect(begun).toMatchObject({ state: 'settling', payer, amount: 6_000n, paid: 6_000_000, fee: 1_000_000 });
    expect(begun).toMatchObject({ bound: 5_000_000, charged: null, decision: 77, keyId: 'key-1', network: NETWORK });
    expect(begun).toMatchObject({
      transaction: null,
      error: null,
      created: clock.now,
      validBefore: signed.validBefore,
    });
    gate.resolve();
    const resolution = await settling;
    const captured: Payment = { ...begun, state: 'captured', transaction: chain.used.get(signed.nonce)! };
    expect(resolution).toEqual({ state: 'captured', payment: captured, booked: 'booked' });
    expect(await only(bench)).toEqual(captured);
    expect(chain.calls).toEqual(['check', 'verify', 'settle']);
    expect(await payments.unsettled(payer, signed.terms.requestHash)).toBeNull();
    expect(await bench.booked()).toEqual([{ wallet: payer, paid: 6_000_000, fee: 1_000_000, note: `pay ${begun.id}` }]);
    expect(await payments.settle(signed, CONTEXT, never)).toEqual({ state: 'known', payment: captured });
    await bench.store.commit(payments.settleWrites(captured, 2_350_000, 1_000_000));
    const settled = await only(bench);
    expect(settled).toEqual({ ...captured, state: 'settled', charged: 2_350_000, owner: null });
    expect(await payments.settle(signed, CONTEXT, never)).toEqual({ state: 'known', payment: settled });
    expect(await payments.find(signed)).toEqual(settled);
    expect(chain.count('settle')).toBe(1);
  });

  benchTest(
    'of amount 0 proves the wallet while the quote is valid, without network calls or writes',
    async (bench) => {
      const signed = await bench.signedPayment(newAccount(), { credit: 5_000_000 });
      expect(await bench.payments.settle(signed, CONTEXT, never)).toEqual({ state: 'proved' });
      expect(await bench.payments.find(signed)).toBeNull();
      bench.clock.now = signed.terms.expiresAt;
      expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('quote_expired');
      expect(bench.chain.calls).toEqual(['check']);
      expect(await all(bench)).toEqual([]);
    },
  );

  benchTest(
    'is not sent if its sender has already disconnected, and counts as new when it is submitted again',
    async (bench) => {
      const signed = await bench.signedPayment(newAccount());
      const error = await failure(bench.payments.settle(signed, { ...CONTEXT, signal: AbortSignal.abort() }, never));
      expect(error.code).toBe('payment_unavailable');
      expect(bench.chain.count('settle')).toBe(0);
      expect(await all(bench)).toEqual([]);
      expect((await bench.payments.settle(signed, CONTEXT, bench.book)).state).toBe('captured');
    },
  );

  benchTest('is refused without network calls if its quote has expired or too little time is left', async (bench) => {
    const { payments, clock } = bench;
    const signed = await bench.signedPayment(newAccount());
    const short = { ...signed, validBefore: Math.floor(clock.now / 1_000) + 59 };
    expect(await refusal(payments.settle(short, CONTEXT, never))).toBe('too_little_time');
    clock.now = signed.terms.expiresAt;
    expect(await refusal(payments.settle(signed, CONTEXT, never))).toBe('quote_expired');
    clock.now--;
    expect((await payments.settle(signed, CONTEXT, bench.book)).state).toBe('captured');
    expect(bench.chain.calls).toEqual(['check', 'verify', 'settle']);
  });

  benchTest(
    'of a blocked wallet is refused with 403 until the wallet is unblocked, even if it is only a proof',
    async (bench, shop) => {
      const account = newAccount();
      const offers = [await bench.signedPayment(account), await bench.signedPayment(account, { credit: 5_000_000 })];
      const wallet = account.address.toLowerCase();
      await bench.payments.blocklist.add(wallet, 'fraud');
      expect(bench.payments.blocklist.blocked.has(wallet)).toBe(true);
      for (const signed of offers) {
        const error = await failure(bench.payments.settle(signed, CONTEXT, never));
        expect([error.code, error.status]).toEqual(['insufficient_permissions', 403]);
      }
      expect(bench.chain.calls).toEqual(['check']);
      await bench.close();
      const later = await shop.open();
      expect(later.payments.blocklist.blocked.has(wallet)).toBe(true);
      await later.payments.blocklist.remove(wallet);
      expect((await later.payments.settle(offers[0]!, CONTEXT, later.book)).state).toBe('captured');
    },
  );

  benchTest(
    'that fails verification is refused with the facilitator’s code, if the code is well-formed',
    async (bench) => {
      const signed = await bench.signedPayment(newAccount());
      bench.chain.invalid = 'insufficient_funds';
      expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('insufficient_funds');
      bench.chain.invalid = '<b>Call +1 555</b>';
      expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('refused_by_facilitator');
      expect(await all(bench)).toEqual([]);
      bench.chain.invalid = null;
      expect((await bench.payments.settle(signed, CONTEXT, bench.book)).state).toBe('captured');
    },
  );

  benchTest('whose authorization was used elsewhere before is not credited', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    bench.chain.used.set(signed.nonce, '0xelsewhere');
    expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('nonce_already_used');
    expect(await bench.booked()).toEqual([]);
  });

  benchTest('is refused while the network is not ready or does not answer, and after it was removed', async (bench) => {
    const { payments, chain } = bench;
    const signed = await bench.signedPayment(newAccount());
    chain.isUp = false;
    const error = await failure(payments.settle(signed, CONTEXT, never));
    expect([error.code, error.info.retryAfterMs]).toEqual(['payment_unavailable', 5_000]);
    expect(JSON.stringify(errorBody(error))).not.toContain('secret');
    const away = policy({ networks: [{ ...policy().networks[0], id: 'eip155:31337', chainId: 31_337 }] });
    const moved = policy({ networks: [{ ...policy().networks[0], payTo: newAccount().address }] });
    (await payments.prepare(moved))();
    // The network answers again, but was not checked yet.
    chain.isUp = true;
    expect((await failure(payments.settle(signed, CONTEXT, never))).code).toBe('payment_unavailable');
    expect(chain.count('verify')).toBe(1);
    (await payments.prepare(away))();
    expect(await refusal(payments.settle(signed, CONTEXT, never))).toBe('no_longer_offered');
    (await payments.prepare(null))();
    expect(await refusal(payments.settle(signed, CONTEXT, never))).toBe('no_longer_offered');
    expect(await all(bench)).toEqual([]);
  });

  benchTest('in an asset that the policy has changed in the meantime is refused', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    const [first] = policy().networks;
    const other = policy({ networks: [{ ...first, asset: { ...first.asset, address: `0x${'12'.repeat(20)}` } }] });
    (await bench.payments.prepare(other))();
    expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('no_longer_offered');
  });

  benchTest('that the chain refuses has failed for good, and cannot be tried again', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    bench.chain.behavior = 'refused';
    expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('insufficient_funds');
    expect(await only(bench)).toMatchObject({ state: 'failed', error: 'insufficient_funds' });
    bench.chain.behavior = 'prompt';
    expect(await refusal(bench.payments.settle(signed, CONTEXT, never))).toBe('payment_failed');
    expect(bench.chain.count('settle')).toBe(1);
    expect(await bench.payments.unsettled(signed.payer, signed.terms.requestHash)).toBeNull();
  });

  benchTest('that could not be sent leaves nothing in the store, and can be submitted again', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    bench.chain.behavior = 'unavailable';
    expect((await failure(bench.payments.settle(signed, CONTEXT, never))).code).toBe('payment_unavailable');
    expect(await all(bench)).toEqual([]);
    expect(await bench.payments.unsettled(signed.payer, signed.terms.requestHash)).toBeNull();
    bench.chain.behavior = 'prompt';
    expect((await bench.payments.settle(signed, CONTEXT, bench.book)).state).toBe('captured');
  });

  benchTest('is settled once, even if several requests send it at the same time', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    const gate = Promise.withResolvers<void>();
    bench.chain.gate = gate.promise;
    const settling = Array.from({ length: 5 }, () => bench.payments.settle(signed, CONTEXT, bench.book));
    const others = await Promise.all(settling.slice(1).map(failure));
    gate.resolve();
    const first = await settling[0]!;
    const id = idText('pay_', (await only(bench)).id);
    expect(first.state).toBe('captured');
    for (const error of others) {
      expect([error.code, error.info.retry, error.info.details]).toEqual(['in_flight', false, { payment_id: id }]);
    }
    expect(bench.chain.count('settle')).toBe(1);
    expect((await bench.booked()).length).toBe(1);
  });

  shopTest('is not sent if it cannot be stored', async (shop) => {
    let isBroken = false;
    const bench = await shop.open({ wrap: (store) => flaky(store, () => isBroken) });
    const signed = await bench.signedPayment(newAccount());
    isBroken = true;
    const error = await failure(bench.payments.settle(signed, CONTEXT, never));
    expect([error.code, error.status]).toEqual(['overloaded', 503]);
    expect(bench.chain.count('settle')).toBe(0);
    isBroken = false;
    expect((await bench.payments.settle(signed, CONTEXT, bench.book)).state).toBe('captured');
  });
});

describe('The store', () => {
  benchTest('refuses a second deposit for one payment, together with its whole commit', async (bench) => {
    const signed = await bench.signedPayment(newAccount());
    let again: (() => Promise<unknown>) | null = null;
    const { state } = await bench.payments.settle(signed, CONTEXT, (payment, writes) => {
      again = () => bench.book(payment, writes);
      return bench.book(payment, writes);
    });
    expect(state).toBe('captured');
    expect(await rejection(again!())).toBeInstanceOf(StoreError);
    await bench.store.commit(bench.payments.settleWrites(await only(bench), 1, 1_000_000));
    expect(await rejection(again!())).toBeInstanceOf(StoreError);
    expect((await bench.booked()).length).toBe(1);
    // A settled payment does not change.
    await bench.store.commit(bench.payments.settleWrites(await only(bench), 2, 2));
    expect(await only(bench)).toMatchObject({ charged: 1, fee: 1_000_000 });
  });

  benchTest('lists payments by state, by wallet, and before a given payment, newest first', async (bench) => {
    const { payments } = bench;
    const [ann, bob] = [newAccount(), newAccount()];
    const wallet = ann.address.toLowerCase();
    for (const [account, behavior] of [
      [ann, 'prompt'],
      [bob, 'refused'],
      [ann, 'stuck'],
      [ann, 'prompt'],
    ] as const) {
      bench.chain.behavior = behavior;
      await payments.settle(await bench.signedPayment(account), CONTEXT, bench.book).catch(() => {});
    }
    const states = async (query: Partial<Parameters<typeof payments.list>[0]>) => {
      const found = await payments.list({ state: null, payer: null, limit: 100, before: null, ...query });
      return found.map(({ state }) => state);
    };
    const ids = (await all(bench)).map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => b - a));
    expect(await states({})).toEqual(['captured', 'unknown', 'failed', 'captured']);
    expect(await states({ limit: 2 })).toEqual(['captured', 'unknown']);
    expect(await states({ before: ids[1]! })).toEqual(['failed', 'captured']);
    expect(await states({ payer: wallet })).toEqual(['captured', 'unknown', 'captured']);
    expect(await states({ payer: wallet, state: 'captured', limit: 1, before: ids[0]! })).toEqual(['captured']);
    expect(await states({ state: 'failed' })).toEqual(['failed']);
    expect(await payments.get(1)).toBeNull();
    expect((await payments.get(ids[0]!))?.id).toBe(ids[0]!);
  });

  benchTest('contains no signature, and neither does the log', async (bench) => {
    for (const behavior of ['prompt', 'refused', 'stuck', 'unavailable'] as const) {
      bench.chain.behavior = behavior;
      const signed = await bench.signedPayment(newAccount());
      await bench.payments.settle(signed, CONTEXT, bench.book).catch(() => {});
      const rows = await bench.store.query({ sql: 'SELECT * FROM payments' });
      expect(signed.secret).toStartWith('0x');
      expect(JSON.stringify([bench.log, rows])).not.toContain(signed.secret.slice(2, 40));
    }
    const required = bench.payments.quote(ask()).required;
    expect(headerOf(await stockPayload(newAccount(), required))).not.toBe('');
  });
});
