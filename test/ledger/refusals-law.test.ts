import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { FundTitle } from '../../src/core/accounting/fund.ts';
import { type FundRefusal, Refusals } from '../../src/ledger/refusals.ts';
import { effort } from '../deep/effort.ts';

const { runs, seed, proved } = effort('refusals', 200, 5_000);

const TITLE: FundTitle = {
  kind: 'budget',
  name: 'all',
  subject: '',
  definition: '[]',
  window: 'day',
  starts: 0,
  ends: 1,
};

/** What happens to a fund: a request that needs this much, which costs nothing to all of it, or a new limit. */
const events = fc.array(
  fc.oneof(
    fc.record({ needed: fc.integer({ min: 1, max: 60 }), share: fc.constantFrom(0, 0.5, 1) }),
    fc.record({ limit: fc.integer({ min: 1, max: 60 }) }),
  ),
  { maxLength: 20 },
);

type Kept = Pick<Refusals, 'keep' | 'current'>;

/** A fund refuses requests exactly from a refusal that it could have paid when empty, until it pays again or the request would fit. */
const lawOf = (create: () => Kept) =>
  fc.property(events, (list) => {
    const refusals = create();
    const fund: { limit: number; spent: number; last: FundRefusal | null } = { limit: 30, spent: 0, last: null };
    const expected = () => (fund.last && fund.last.needed > fund.limit - fund.spent ? fund.last : null);
    for (const [now, event] of list.entries()) {
      const before = expected();
      if ('limit' in event) fund.limit = event.limit;
      else if (event.needed <= fund.limit - fund.spent) {
        const cost = Math.ceil(event.needed * event.share);
        fund.spent += cost;
        if (cost > 0) fund.last = null;
      } else {
        const { needed } = event;
        const { limit, spent } = fund;
        refusals.keep({ why: 'exhausted', title: TITLE, limit, spent, held: 0, needed }, now);
        if (needed <= limit) fund.last = { since: before?.since ?? now, needed };
      }
      const found = refusals.current({ title: TITLE, spent: fund.spent, unspent: fund.limit - fund.spent });
      if (found?.since !== expected()?.since || found?.needed !== expected()?.needed) return false;
    }
    return true;
  });

test('a fund counts as refusing from a refusal until it pays for a request or the refused request fits', () => {
  fc.assert(
    lawOf(() => new Refusals()),
    { numRuns: runs, seed },
  );
  proved('a fund counts as refusing from a refusal until it pays for a request or the refused request fits');
});

test('the law rejects refusals that a paid request does not end, and refusals of requests that no limit allows', () => {
  class Lasting extends Refusals {
    override current(fund: Parameters<Refusals['current']>[0]) {
      return super.current({ ...fund, spent: 0 });
    }
  }
  class Unlimited extends Refusals {
    override keep(one: Parameters<Refusals['keep']>[0], now: number) {
      return super.keep({ ...one, limit: Number.POSITIVE_INFINITY }, now);
    }
  }
  for (const mutant of [Lasting, Unlimited]) {
    expect(
      fc.check(
        lawOf(() => new mutant()),
        { numRuns: 300, seed },
      ).failed,
    ).toBe(true);
  }
});
