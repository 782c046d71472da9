import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignalboxError } from '../../../src/core/errors.ts';
import { idText } from '../../../src/core/id.ts';
import type { FundedHold, Funding, RequestClaim } from '../../../src/gateway/money/funding.ts';
import { write } from '../../../src/store/sql/statement.ts';
import { StoreError } from '../../../src/store/store.ts';
import { tries } from '../../deep/effort.ts';
import { BUDGET, FundingStand, NOTHING_SET_ASIDE, PAYERS, type PayerName } from '../../gateway/money/funding-stand.ts';
import { line } from '../../ledger/support.ts';
import { FEE } from '../model/house.ts';

const MAX = 5_000_000;
let stand: FundingStand;
beforeEach(async () => {
  stand = await FundingStand.open();
});
afterEach(() => stand.close());

/** Makes a request's claim on its name, or a claim that the store refuses. */
const claimOf = (isWritable: boolean): RequestClaim => ({
  claim: () =>
    write({ sql: isWritable ? 'UPDATE checkpoint SET id = 1' : 'INSERT INTO checkpoint (id, through) VALUES (2, 0)' }),
  async begin() {
    if (!isWritable) throw new StoreError('disk full');
  },
});

/** The code of the error with which a request ends. */
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (cause) => (cause instanceof SignalboxError ? cause.code : String(cause)),
  );

for (const payer of PAYERS) {
  describe(`money of ${payer}`, () => {
    test('is held in full, and after the settlement only the charge is gone', async () => {
      const { funding, order } = await stand.case(payer, MAX);
      const funded = await funding.reserve(order, null);
      const { hold } = funded;
      expect(await stand.setAside()).toMatchObject({ open: 1, held: MAX });
      const settled = await hold.settle(line(2_000_000), ({ charged }) => funded.settlementWrites(charged));
      expect(settled.charged).toBe(2_000_000);
      // The first settlement counts. A later settlement writes nothing.
      hold.settle(line(MAX), () => {
        throw new Error('settled twice');
      });
      await stand.house.quiet();
      expect(await stand.setAside()).toEqual(NOTHING_SET_ASIDE);
      expect((await stand.house.ledger.status()).charged).toBe(2_000_000);
    });

    test('is released in full if there was no answer, and then no fee is kept', async () => {
      const { funding, order } = await stand.case(payer, MAX);
      const funded = await funding.reserve(order, null);
      funded.hold.settle(null, ({ charged }) => funded.settlementWrites(charged));
      await stand.house.quiet();
      expect(await stand.setAside()).toEqual(NOTHING_SET_ASIDE);
      const balance = stand.house.ledger.balanceOf(stand.payer)?.free ?? 0;
      expect(balance).toBe(payer === 'a payment' ? MAX + FEE : 0);
    });

    test('is not touched by a request that a budget refuses', async () => {
      const { funding, order } = await stand.case(payer, BUDGET + 1);
      const reserving = funding.reserve(order, null).catch(async (cause) => Promise.reject(await funding.mend(cause)));
      expect(await codeOf(reserving)).toBe('request_exceeds_budget');
      expect(await stand.setAside()).toEqual(NOTHING_SET_ASIDE);
      expect(stand.chain.received).toBe(0n);
    });

    test('is not touched by a request whose own row cannot be written', async () => {
      const { funding, order } = await stand.case(payer, MAX);
      expect(await codeOf(funding.reserve(order, claimOf(false)))).toBe('overloaded');
      await stand.house.quiet();
      expect(await stand.setAside()).toEqual(NOTHING_SET_ASIDE);
      expect(stand.chain.received).toBe(0n);
      expect((await stand.house.ledger.status()).charged).toBe(0);
    });
  });
}

test('a payment that the chain refuses creates no hold', async () => {
  stand.chain.drain(stand.payer);
  const { funding, order } = await stand.case('a payment', MAX);
  expect(await codeOf(funding.reserve(order, null))).toContain('insufficient_balance');
  expect(await stand.setAside()).toEqual(NOTHING_SET_ASIDE);
});

test('a repeated payment uses the balance that it became, and only its first request is charged to it', async () => {
  const { funding, order } = await stand.case('a payment', MAX);
  const first = await funding.reserve(order, null);
  first.hold.settle(null, ({ charged }) => first.settlementWrites(charged));
  const again = await funding.reserve({ ...order, id: order.id + 1 }, null);
  expect(again.isSettledPayment).toBe(false);
  expect(again.shown(1_000_000)).toMatchObject({ source: 'wallet_credits', payer: stand.payer });
  again.hold.settle(line(1_000_000), ({ charged }) => again.settlementWrites(charged));
  await stand.house.quiet();
  expect(stand.house.ledger.balanceOf(stand.payer)?.free).toBe(MAX + FEE - 1_000_000);
  expect(stand.chain.settles).toBe(1);
});

describe('the payment details of an answer', () => {
  test('are absent for a key', async () => {
    const { funding, order } = await stand.case('a key', MAX);
    const funded = await funding.reserve(order, null);
    const error = new SignalboxError('upstream_failed', 'It broke.');
    expect(funded.shown(1)).toBeNull();
    expect(funded.headers).toEqual({});
    expect(funded.errorOf(error, false)).toBe(error);
    funded.hold.settle(null, () => []);
  });

  test('are in the answer, in headers, and in errors, which say whether the payment can be sent again', async () => {
    const { funding, order } = await stand.case('a payment', MAX);
    const funded = await funding.reserve(order, null);
    const { headers } = funded;
    expect(Object.keys(headers)).toEqual(['payment-response', 'x-payment-id']);
    const id = headers['x-payment-id'];
    expect(funded.shown(MAX)).toMatchObject({ id, source: 'x402', payer: stand.payer, fee_credits: FEE / 1e6 });
    const error = new SignalboxError('upstream_failed', 'It broke.', { retry: true });
    expect(funded.errorOf(error, true)).toMatchObject({
      message: 'It broke.',
      info: { retry: false, details: { payment_id: id } },
    });
    expect(funded.errorOf(error, false).message).toContain('You can send the same PAYMENT-SIGNATURE again');
    funded.hold.settle(null, ({ charged }) => funded.settlementWrites(charged));
  });
});

/** Simultaneous requests of one payer, or the end of a running request. */
const step = fc.oneof(
  fc.record({
    payer: fc.constantFrom<PayerName>(...PAYERS),
    bounds: fc.array(fc.integer({ min: 1, max: 9_000_000 }), { minLength: 1, maxLength: 2 }),
    isWritable: fc.boolean(),
  }),
  fc.record({ ends: fc.nat(), share: fc.option(fc.integer({ min: 0, max: 100 })) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A fault that a mutant puts into each funding. */
type Infection = (funding: Funding) => Funding;
const healthy: Infection = (funding) => funding;

/** A payment as its funding reported it. */
interface SettledPayment {
  readonly id: string;
  readonly charged: number;
  readonly fee: number;
}

/** Plays steps on a new gateway. Throws if some money is not settled or released exactly once. */
async function play(steps: readonly Step[], infect: Infection): Promise<void> {
  const own = await FundingStand.open();
  try {
    const running: { readonly payer: PayerName; readonly funded: FundedHold }[] = [];
    const charges: Record<PayerName, number> = { 'a key': 0, 'a balance': 0, 'a payment': 0 };
    const settled: SettledPayment[] = [];
    const end = async (at: number, share: number | null) => {
      const [ended] = running.splice(at, 1);
      if (!ended) return;
      const { hold } = ended.funded;
      const cost = share === null ? null : line(Math.floor((hold.reserved * share) / 100));
      const { charged } = await hold.settle(cost, (settlement) => ended.funded.settlementWrites(settlement.charged));
      charges[ended.payer] += charged;
      if (!ended.funded.isSettledPayment) return;
      settled.push({ id: ended.funded.headers['x-payment-id']!, charged, fee: charged > 0 ? FEE : 0 });
    };
    for (const one of steps) {
      if ('ends' in one) await end(running.length === 0 ? 0 : one.ends % running.length, one.share);
      else {
        const { payer, bounds, isWritable } = one;
        const cases = [];
        for (const bound of bounds) cases.push(await own.case(payer, bound));
        const tried = cases.map(({ funding, order }) => {
          return infect(funding).reserve(order, claimOf(isWritable));
        });
        for (const result of await Promise.allSettled(tried)) {
          if (result.status === 'fulfilled') running.push({ payer, funded: result.value });
        }
      }
      const held = running.reduce((sum, { funded }) => sum + funded.hold.left, 0);
      expect(await own.setAside()).toMatchObject({ open: running.length, held });
    }
    while (running.length > 0) await end(0, 50);
    await own.house.quiet();
    await expectBalanced(own, charges, settled);
  } finally {
    await own.close();
  }
}

/** Expects that nothing is held, and that each balance is the deposits minus the charges. */
async function expectBalanced(
  { house, payer }: FundingStand,
  charges: Readonly<Record<PayerName, number>>,
  settled: readonly SettledPayment[],
) {
  const { charged, open, held } = await house.ledger.status();
  expect({ charged, open, held }).toEqual({ charged: sum(Object.values(charges)), open: 0, held: 0 });
  const payments = await house.payments.list({ state: null, payer, limit: 1_000, before: null });
  const stored = payments.filter(({ state }) => state === 'settled');
  const told = stored.map(({ id, charged: of, fee }) => ({ id: idText('pay_', id), charged: of ?? 0, fee }));
  expect(told).toEqual(settled.toSorted((a, b) => (a.id < b.id ? 1 : -1)));
  const brought = stored.map(({ paid, fee }) => paid - fee);
  expect(house.ledger.balanceOf(payer)?.free ?? 0).toBe(sum(brought) - charges['a payment']);
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const law = (infect: Infection) =>
  fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => play(steps, infect));

const { numRuns, seed } = tries('with every payer, reserved money is settled or released exactly once', 3, 300);

test('with every payer, reserved money is settled or released exactly once', async () => {
  await fc.assert(law(healthy), { numRuns, seed });
});

/** A funding with a different `reserve`. */
const reserving =
  (reserve: (inner: Funding, ...given: Parameters<Funding['reserve']>) => Promise<FundedHold>): Infection =>
  (inner) => ({
    caller: inner.caller,
    provedCaller: inner.provedCaller,
    identity: inner.identity,
    terms: () => inner.terms(),
    reserve: (order, claim) => reserve(inner, order, claim),
    mend: (cause) => inner.mend(cause),
  });

const MUTANTS: Readonly<Record<string, Infection>> = {
  'a hold stays although the row of its request cannot be written': reserving(async (inner, order, claim) => {
    const funded = await inner.reserve(order, null);
    await claim?.begin(order.id);
    return funded;
  }),
  'a payment is not settled with its hold': reserving(async (inner, order, claim) => {
    return Object.assign(await inner.reserve(order, claim), { settlementWrites: () => [] });
  }),
  'a fee is kept although nothing was charged': reserving(async (inner, order, claim) => {
    const funded = await inner.reserve(order, claim);
    const settlementWrites = funded.settlementWrites.bind(funded);
    return Object.assign(funded, { settlementWrites: (charged: number) => settlementWrites(Math.max(1, charged)) });
  }),
};

describe('the law finds the mutant in which', () => {
  for (const [name, infection] of Object.entries(MUTANTS)) {
    test(name, async () => {
      const { failed } = await fc.check(law(infection), { numRuns: 600, seed, endOnFailure: true });
      expect(failed).toBe(true);
    });
  }
});
