import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Fund, fit, hold, isBlocked, release } from '../../src/core/accounting/fund.ts';
import type { HeldSum, Step } from '../../src/core/accounting/held-sum.ts';
import * as reservationRules from '../../src/core/accounting/held-sum.ts';

type Rules = typeof reservationRules;

type Command =
  | { readonly do: 'raise'; readonly by: number }
  | { readonly do: 'post'; readonly cost: number }
  | { readonly do: 'settle'; readonly cost: number | null }
  | { readonly do: 'expire' };

const amount = fc.integer({ min: 0, max: 1_000 });
const cost = fc.oneof(
  { weight: 9, arbitrary: amount },
  { weight: 1, arbitrary: fc.constantFrom(-1, Number.NaN, 1e308, Number.POSITIVE_INFINITY, 0.5) },
);
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('raise' as const), by: fc.oneof(amount, fc.constantFrom(-5, Number.NaN)) }),
  fc.record({ do: fc.constant('post' as const), cost }),
  fc.record({ do: fc.constant('settle' as const), cost: fc.option(cost) }),
  fc.record({ do: fc.constant('expire' as const) }),
);

/** For any order of commands, a hold is never overspent, ends once, and accounts for every microcredit. */
function law(rules: Rules) {
  return fc.property(amount, fc.option(amount), fc.array(command, { maxLength: 12 }), (first, headroom, commands) => {
    const limit = headroom === null ? null : first + headroom;
    let reservation = rules.openHeldSum(first, limit);
    let charged = 0;
    for (const command of commands) {
      const before = reservation;
      const step = run(rules, before, command);
      reservation = step.next;
      charged += step.charged;
      expect(step.charged).toBeGreaterThanOrEqual(0);
      expect(step.excess).toBeGreaterThanOrEqual(0);
      expect(reservation.charged).toBe(charged);
      expect(charged).toBeLessThanOrEqual(reservation.amount);
      if (limit !== null) expect(reservation.amount).toBeLessThanOrEqual(limit);
      expect(reservation.amount).toBeGreaterThanOrEqual(before.amount);
      expect(rules.leftOf(reservation)).toBe(reservation.state === 'pending' ? reservation.amount - charged : 0);
      if (before.state !== 'pending') expect(reservation).toEqual(before);
      if (isKnown(command) && before.state === 'pending') expect(step.charged + step.excess).toBe(command.cost);
      if (before.state === 'pending' && command.do === 'settle') {
        // An answer without a cost is also an attempt. A hold is void only if it had no attempt.
        expect(reservation.state).toBe(command.cost === null && before.charged === 0 ? 'void' : 'posted');
      }
      if (reservation.state === 'expired') expect(charged).toBe(reservation.amount);
    }
  });
}

function run(rules: Rules, reservation: HeldSum, command: Command): Step {
  if (command.do === 'post') return rules.post(reservation, command.cost);
  if (command.do === 'settle') return rules.settle(reservation, command.cost);
  if (command.do === 'expire') return rules.expire(reservation, 'charge');
  return { next: rules.raise(reservation, command.by) ?? reservation, charged: 0, excess: 0 };
}

function isKnown(command: Command): command is Command & { cost: number } {
  return 'cost' in command && command.cost !== null && reservationRules.isCost(command.cost);
}

test('after each step of a hold, charged ≤ reserved ≤ limit, and a closed hold stays closed', () => {
  fc.assert(law(reservationRules), { numRuns: 2_000 });
});

const mutants: Record<string, Partial<Rules>> = {
  'a settle counted twice': {
    settle: (reservation, cost) => reservationRules.settle({ ...reservation, state: 'pending' }, cost),
  },
  'a raise above the limit': {
    raise: (reservation, by) => {
      const raised = reservationRules.raise({ ...reservation, limit: null }, by);
      return raised && { ...raised, limit: reservation.limit };
    },
  },
  'a post that exceeds the rest of the hold': {
    post: (reservation, cost) => {
      const next = { ...reservation, charged: reservation.charged + cost };
      return { next, charged: cost, excess: 0 };
    },
  },
  'an overrun that is lost': {
    settle: (reservation, cost) => ({ ...reservationRules.settle(reservation, cost), excess: 0 }),
  },
};

test.each(Object.entries(mutants))('the law of holds detects %s', (_, mutant) => {
  expect(fc.check(law({ ...reservationRules, ...mutant }), { numRuns: 2_000, endOnFailure: true }).failed).toBe(true);
});

test('a hold above its limit, or with an invalid amount, is a mistake of the program', () => {
  for (const amount of [-1, 0.5, Number.NaN, 2 ** 53]) {
    expect(() => reservationRules.openHeldSum(amount, null)).toThrow(RangeError);
  }
  expect(() => reservationRules.openHeldSum(11, 10)).toThrow(RangeError);
  expect(() => reservationRules.openHeldSum(1, Number.NaN)).toThrow(RangeError);
});

type Fit = (...asked: Parameters<typeof fit<Fund>>) => ReturnType<typeof fit<Fund>>;

/**
 * A hold takes only what all funds have free. A balance may also use what a payment is expected to bring. The hold is whole if there is
 * enough, and never below its least amount. If there is not enough money, the hold leaves as much money for other requests as it takes. If
 * other requests hold money, the hold leaves more, unless it takes only its ample amount.
 */
function fitLaw(fitOf: Fit) {
  const amount = fc.integer({ min: 0, max: 60 });
  const fundOf = (kind: 'budget' | 'balance') =>
    fc.tuple(fc.integer({ min: -20, max: 100 }), amount, amount).map(([limit, spent, heldNow]) => {
      const title = { kind, name: kind, subject: '', definition: '', starts: 0, ends: 1 } as const;
      const fund = new Fund(title, limit, spent);
      fund.held = heldNow;
      return fund;
    });
  const funds = fc.tuple(fc.array(fundOf('budget'), { maxLength: 2 }), fundOf('balance'));
  const asked = fc.tuple(
    fc.array(amount, { minLength: 1, maxLength: 3 }),
    amount,
    fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    fc.option(amount),
  );
  return fc.property(funds, asked, ([windows, purse], [amounts, expected, share, some]) => {
    const all = [...windows, purse];
    const [first = 0] = amounts;
    const least = share === null ? first : Math.floor(share * first);
    // If the expected payment exceeds the amount, it may cover what the balance lacks.
    const needs = (fund: Fund, n: number) => (fund === purse ? n - expected : n);
    const fits = (n: number, times: number) =>
      all.every((fund) => {
        const free = fund.limit - fund.spent - fund.held;
        return needs(fund, n) <= free && (times === 1 || needs(fund, n) * times <= Math.max(0, free));
      });
    const ample = share === null ? null : some;
    const taken =
      share === null ? fitOf(all, amounts, expected) : fitOf(all, amounts, expected, least, ample ?? undefined);
    if (isBlocked(taken)) {
      expect(fits(least, 1)).toBe(false);
      const isExhausted = all.some((fund) => needs(fund, least) > fund.limit - fund.spent);
      expect(taken.why).toBe(isExhausted ? 'exhausted' : 'contended');
      const { fund } = taken;
      expect(needs(fund, least)).toBeGreaterThan(fund.limit - fund.spent - (isExhausted ? 0 : fund.held));
      return;
    }
    expect(taken).toBeGreaterThanOrEqual(least);
    expect(fits(taken, 1)).toBe(true);
    // The hold takes everything that it may take, to the last microcredit.
    if (fits(first, 1)) expect(taken).toBe(Math.max(first, ...amounts.slice(1).filter((n) => fits(n, 2))));
    else if (ample === null) expect(fits(taken + 1, 1)).toBe(false);
    else {
      // The hold leaves as much as it takes, or seven times as much if other requests hold money. The rule does not apply to a hold of its
      // ample or least amount.
      const part = all.some((fund) => fund.held > 0) ? 8 : 2;
      if (taken > Math.max(ample, least)) expect(fits(taken * part, 1)).toBe(true);
      // A hold takes its ample amount if the fund has that much free.
      if (taken < Math.min(ample, first)) expect(fits(taken + 1, 1)).toBe(false);
      expect(fits((taken + 1) * part, 1)).toBe(false);
    }
    const before = all.map((fund) => fund.held);
    hold(all, taken, expected);
    expect(all.map((fund, i) => fund.held - before[i]!)).toEqual(all.map((fund) => Math.max(0, needs(fund, taken))));
    release(all, taken, expected);
    expect(all.map((fund) => fund.held)).toEqual(before);
  });
}

test('a hold takes only free money of every fund, plus the expected payment for a balance, and a release returns the whole amount', () => {
  fc.assert(fitLaw(fit), { numRuns: 4_000 });
});

const misfits: Record<string, Fit> = {
  'a hold below its least amount': (funds, amounts, expected) => fit(funds, amounts, expected, 0),
  'a hold sized by the fund with the most money': (funds, amounts, expected, least) => {
    const taken = fit(funds, amounts, expected, least);
    return isBlocked(taken) || taken >= amounts[0]! ? taken : Math.max(...funds.map(({ free }) => free));
  },
  'a hold that is cut although its first amount is free': (funds, amounts, expected, least = amounts[0]!) => {
    const taken = fit(funds, amounts, expected, least);
    return isBlocked(taken) || least === amounts[0] ? taken : least;
  },
  'a hold of everything that is free': (funds, amounts, expected, least) => fit(funds, amounts, expected, least),
  'a hold that leaves no more to others although others hold money': (funds, amounts, expected, least, ample) =>
    fit(
      funds.map((fund) => new Fund(fund.title, fund.limit - fund.held, fund.spent)),
      amounts,
      expected,
      least,
      ample,
    ),
  'a hold of only its ample amount although more is free': (
    funds,
    amounts,
    expected,
    least = amounts[0]!,
    ample = 99,
  ) => {
    const taken = fit(funds, amounts, expected, least, ample);
    return isBlocked(taken) || taken >= amounts[0]! ? taken : Math.max(least, Math.min(taken, ample));
  },
  'a hold that is refused although its least amount is free': (funds, amounts, expected) =>
    fit(funds, amounts, expected),
};

test.each(Object.entries(misfits))('the law of holds fails for %s', (_, misfit) => {
  expect(fc.check(fitLaw(misfit), { numRuns: 4_000, endOnFailure: true }).failed).toBe(true);
});
