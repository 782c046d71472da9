import { expect, test } from 'bun:test';
import type { Decision } from '../../../src/core/decision.ts';
import { plainUsage } from '../../../src/core/usage.ts';
import { entryLine } from '../../../src/gateway/money/charge.ts';
import { receiptOf } from '../../../src/gateway/money/receipt.ts';
import { facts, model, price } from '../../routing/build.ts';

const baseline = model('b', { cost: price(1, 4) });
const receipt = (pinned: boolean, more: object = {}) => {
  const decision = { id: 1, revision: 'r', reason: 'best', facts: facts({ pinned }) } as unknown as Decision;
  const measured = { usage: plainUsage(10, 5), estimated: false };
  const ending = {
    decision,
    baseline,
    model: 'a',
    fallback: false,
    measured,
    charged: 12_000,
    dropped: [],
    attempts: [],
    payment: null,
    cappedBy: null,
    usageReplaced: false,
    adapted: [],
  };
  return receiptOf({ ...ending, ...more });
};

test('a receipt tells what was saved against the baseline, or lost; nothing where the model was asked for by name', () => {
  // 10 + 4 × 5 millicredits on the baseline.
  expect(receipt(false)).toMatchObject({
    saved: 18_000,
    platform: { credits_consumed: 0.012, cost_saved_credits: 0.018 },
  });
  expect(receipt(false, { charged: 31_000 }).saved).toBe(-1_000);
  expect(receipt(true).saved).toBe(0);
});

test('what failed and cost nothing has saved nothing, though the baseline takes a fee for each request', () => {
  const fee = { ...price(1, 4), perRequest: 1_000 };
  const failed = { baseline: model('b', { cost: fee }), measured: null };
  expect(receipt(false, { ...failed, charged: 0 }).saved).toBe(0);
  expect(receipt(false, { ...failed, charged: 7_000 }).saved).toBe(-7_000);
});

test('a receipt says that a fallback answered', () => {
  expect(receipt(false).platform.route_reason).toBe('best');
  expect(receipt(false, { fallback: true }).platform.route_reason).toBe('best:fallback');
});

test('a receipt is an estimate where tokens were counted here, or not measured at all', () => {
  const usage = plainUsage(10, 5);
  expect(receipt(false)).toMatchObject({ usage, platform: { estimated: false } });
  expect(receipt(false, { measured: { usage, estimated: true } })).toMatchObject({
    usage,
    platform: { estimated: true },
  });
  const unmeasured = { usage: plainUsage(0, 0), platform: { estimated: true } };
  expect(receipt(false, { measured: null })).toMatchObject(unmeasured);
});

test('an entry of the ledger is an estimate where the receipt says so: tokens were counted here', () => {
  const own = model('a');
  const lineOf = (outputTokens: number, estimated = false) =>
    entryLine(own, own.endpoints[0], { usage: plainUsage(10, outputTokens), estimated });
  expect(lineOf(5).estimated).toBe(false);
  expect(lineOf(5, true).estimated).toBe(true);
});
