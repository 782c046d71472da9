import { expect, test } from 'bun:test';
import { plainUsage } from '../../../src/core/money/usage.ts';
import { outcomeOf, receiptOf } from '../../../src/gateway/exchange/outcome.ts';
import type { RunnableRequest } from '../../../src/gateway/exchange/runnable-request.ts';
import { entryLine } from '../../../src/gateway/money/charge.ts';
import type { MeasuredUsage } from '../../../src/gateway/money/meter.ts';
import { platformOf, savedBy } from '../../../src/gateway/money/receipt.ts';
import { facts, model, price, snapshot } from '../../routing/build.ts';
import { resultOf } from '../../support/request-context.ts';

const usage = plainUsage(10, 5);
const baseline = model('b', { cost: price(1, 4) });
const unpinned = facts();
const { outcome } = resultOf({ charged: 12_000, saved: 18_000 });
const decision = { id: 1, revision: 'r', reason: 'best', facts: unpinned };

test('the receipt shows the Credits saved or lost against the baseline; it shows none if the request names a model', () => {
  // The baseline would cost 10 + 4 × 5 millicredits.
  expect(savedBy(12_000, usage, baseline, unpinned)).toBe(18_000);
  expect(savedBy(31_000, usage, baseline, unpinned)).toBe(-1_000);
  expect(savedBy(12_000, usage, baseline, facts({ named: ['a'] }))).toBe(0);
  expect(platformOf(outcome, decision, 'a', 'a')).toMatchObject({ credits_consumed: 0.012, cost_saved_credits: 0.018 });
});

test('savings compare with the baseline at the service tier of the request, if it has a price', () => {
  const tiered = model('b', { cost: { ...price(1, 4), tiers: { flex: price(0.5, 2) } } });
  const asking = (tier: string) => facts({ addOns: { tier, units: [], toolUses: {}, rereadings: 0, unpriced: [] } });
  expect(savedBy(12_000, usage, tiered, asking('flex'))).toBe(3_000);
  expect(savedBy(12_000, usage, tiered, asking('scale'))).toBe(18_000);
});

test('a request that failed and cost nothing has saved nothing, although the baseline has a fee for each request', () => {
  const withFee = model('b', { cost: price(1, 4, { perRequest: 1_000 }) });
  expect(savedBy(0, null, withFee, unpinned)).toBe(0);
  expect(savedBy(7_000, null, withFee, unpinned)).toBe(-7_000);
});

test('a receipt says that a fallback answered', () => {
  expect(platformOf(outcome, decision, 'a', 'a').route_reason).toBe('best');
  expect(platformOf(outcome, decision, 'a', 'b')).toMatchObject({ routed_model: 'b', route_reason: 'best:fallback' });
});

test('a receipt says that it is an estimate if Signalbox counted the tokens, or nothing was measured', () => {
  const from = snapshot([baseline]);
  const made = { id: 1, revision: 'r', reason: 'best', baseline: 0, ranked: [{ model: 0 }], facts: unpinned };
  const runnable = { decision: made, runtime: { snapshot: from }, clock: () => 0, startedAt: 0 };
  const receipt = (measured: MeasuredUsage | null) => {
    const attempts = { records: [], insteadOf: undefined, share: null };
    const end = { status: 'completed', error: null, attempts, measured, charged: 0, cutBy: null } as const;
    const asRequest = runnable as unknown as RunnableRequest;
    return receiptOf(asRequest, null, outcomeOf(asRequest, null, end), null);
  };
  expect(receipt({ usage, estimated: false })).toMatchObject({ usage, platform: { estimated: false } });
  expect(receipt({ usage, estimated: true })).toMatchObject({ usage, platform: { estimated: true } });
  expect(receipt(null)).toMatchObject({ usage: plainUsage(0, 0), platform: { estimated: true } });
});

test('a ledger entry says that it is an estimate if the receipt says so, because Signalbox counted the tokens', () => {
  const own = model('a');
  const lineOf = (outputTokens: number, estimated = false) =>
    entryLine(
      {
        model: own,
        endpoint: own.endpoints[0],
        tookMs: 0,
        serviceTier: { asked: null, served: null },
        stated: undefined,
      },
      { usage: plainUsage(10, outputTokens), estimated },
      () => 0,
    );
  expect(lineOf(5).estimated).toBe(false);
  expect(lineOf(5, true).estimated).toBe(true);
});
