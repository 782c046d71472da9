import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { getAddress } from 'viem/utils';
import { SignalboxError } from '../../src/core/errors.ts';
import { atomicOf, worthOf } from '../../src/core/policy/payments.ts';
import { priceOf } from '../../src/payments/make-quote.ts';
import { FakeNetwork } from './fake-network.ts';
import {
  ask,
  HASH,
  headerOf,
  NETWORK,
  network,
  newAccount,
  PAY_TO,
  policy,
  shopTest,
  stockPayload,
  TOKEN,
  workshop,
} from './support.ts';

const terms = fc.record({
  bound: fc.nat(2_000_000_000),
  credit: fc.nat(2_000_000_000),
  isFeeDue: fc.boolean(),
  chargeMin: fc.nat(10_000_000),
  settleFee: fc.nat(10_000_000),
  rate: fc.record({ microcredits: fc.bigInt(1n, 5_000n), atomic: fc.bigInt(1n, 5_000n) }),
});
type Terms = typeof terms extends fc.Arbitrary<infer T> ? T : never;

/** The rules that every price must satisfy. */
function checkAmount({ bound, credit, isFeeDue, chargeMin, settleFee, rate }: Terms, amountOf: typeof atomicOf): void {
  const { price, fee } = priceOf({ bound, credit, isFeeDue }, { chargeMin, settleFee });
  const amount = amountOf(rate, price);
  if (bound - credit <= 0) {
    expect({ amount, fee }).toEqual({ amount: 0n, fee: 0 });
    return;
  }
  expect(fee).toBe(isFeeDue ? settleFee : 0);
  const suffices = (units: bigint) => worthOf(rate, units) - fee >= bound - credit && worthOf(rate, units) >= chargeMin;
  expect(suffices(amount)).toBe(true);
  expect(suffices(amount - 1n)).toBe(false);
}

describe('A price', () => {
  test('is the smallest amount that covers the cost and the fee, and at least the minimum charge', () => {
    fc.assert(fc.property(terms, (given) => checkAmount(given, atomicOf)));
  });

  test('would fail the check if it were rounded down, or one unit higher', () => {
    const down: typeof atomicOf = ({ microcredits, atomic }, amount) => (BigInt(amount) * atomic) / microcredits;
    const more: typeof atomicOf = (rate, amount) => atomicOf(rate, amount) + 1n;
    for (const mutant of [down, more]) {
      const law = fc.property(terms, (given) => checkAmount(given, mutant));
      expect(fc.check(law, { endOnFailure: true }).failed).toBe(true);
    }
  });
});

describe('A quote', () => {
  shopTest('lists every ready network in the order of the policy, with checksum addresses', async (shop) => {
    const other = network({ id: 'eip155:31337', chainId: 31_337, asset: { ...network().asset, name: 'Test' } });
    const { payments, clock } = await shop.open({ policy: policy({ networks: [other, network()] }) });
    const { required, price } = payments.quote(ask());
    expect(price).toBe(6_000_000);
    expect(required.x402Version).toBe(2);
    expect(required.resource.url).toBe('https://gateway.example/v1/chat/completions');
    expect(required.accepts.map((offer) => offer.network)).toEqual(['eip155:31337', NETWORK]);
    expect(required.accepts[1]).toEqual({
      scheme: 'exact',
      network: NETWORK,
      amount: '6000',
      asset: getAddress(TOKEN),
      payTo: getAddress(PAY_TO),
      maxTimeoutSeconds: 180,
      extra: {
        name: 'USDC',
        version: '2',
        paymentFlow: 'upfront',
        quote_id: expect.stringMatching(/^quo_[0-9a-z]{11}$/),
        request_hash: HASH,
        expires_at: new Date(clock.now + 120_000).toISOString(),
        terms: expect.stringMatching(/^[\w-]+\.[\w-]{43}$/),
      },
    });
    expect(getAddress(TOKEN)).not.toBe(TOKEN as never);
  });

  shopTest(
    'can be signed by a standard client, and is recognised after restarts and by other processes',
    async (shop) => {
      const first = await shop.open();
      const account = newAccount();
      const given = ask({ credit: 1_500_000 });
      const { required } = first.payments.quote(given);
      const header = headerOf(await stockPayload(account, required));
      await first.close();
      const second = await shop.open({ clock: first.clock });
      const offer = await second.read(header, { wallet: account.address.toLowerCase() });
      expect(offer.payer).toBe(account.address.toLowerCase());
      expect(offer.amount).toBe(4_500n);
      const { purpose, requestHash, bound, credit, revision, models } = given;
      expect(offer.terms).toEqual({
        id: String(required.accepts[0]?.extra.quote_id),
        expiresAt: first.clock.now + 120_000,
        fee: 1_000_000,
        ...{ purpose, requestHash, bound, credit, revision, models },
      });
      expect(header.length).toBeLessThan(3_000);
    },
  );

  shopTest('that the balance covers needs only a signature, which a standard client gives', async (shop) => {
    const { payments, read } = await shop.open();
    const { required, price } = payments.quote(ask({ credit: 5_000_000 }));
    expect(price).toBe(0);
    expect(required.accepts[0]?.amount).toBe('0');
    const offer = await read(headerOf(await stockPayload(newAccount(), required)));
    expect({ amount: offer.amount, fee: offer.terms.fee }).toEqual({ amount: 0n, fee: 0 });
  });

  shopTest('contains no fee if none is due, and is at least the minimum charge', async (shop) => {
    const { payments } = await shop.open();
    expect(payments.quote(ask({ isFeeDue: false })).price).toBe(5_000_000);
    expect(payments.quote(ask({ bound: 10, isFeeDue: false })).price).toBe(1_000_000);
  });

  test('is refused while no network is ready or payments are off', async () => {
    const clock = { now: Date.now() };
    const chain = new FakeNetwork(clock);
    chain.isUp = false;
    await using shop = workshop();
    const { payments } = await shop.open({ chain, clock });
    const off = await shop.open({ policy: null });
    for (const one of [payments, off.payments]) {
      expect(() => one.quote(ask())).toThrow(SignalboxError);
      try {
        one.quote(ask());
      } catch (cause) {
        expect(cause).toMatchObject({ code: 'payment_unavailable', info: { retryAfterMs: 5_000 } });
      }
    }
  });
});
