import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SignalboxError } from '../../../src/core/errors.ts';
import { atomicOf, type PaymentNetwork, worthOf } from '../../../src/core/policy/payments.ts';
import { type TopUpAmount, topUpAmount } from '../../../src/payments/funding/top-up-amount.ts';

/** A token with this many decimals, on a network where a Credit is worth this many millionths of a dollar. */
function networkOf(decimals: number, microdollars: bigint): PaymentNetwork {
  const microcredits = 10n ** 12n;
  const atomic = microdollars * 10n ** BigInt(decimals);
  return {
    id: 'eip155:84532',
    chainId: 84_532,
    asset: { address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', name: 'USDC', version: '2', decimals },
    payTo: '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c',
    rpcUrls: [],
    rpcUrlsEnv: null,
    facilitator: { mode: 'http', url: 'https://facilitator.example', timeoutMs: 1_000, bearerEnv: null },
    rate: { microcredits, atomic },
  };
}

const usdc = networkOf(6, 1_000n);
const wide = { min: 1, max: Number.MAX_SAFE_INTEGER };

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'none';
  } catch (error) {
    return error instanceof SignalboxError ? `${error.code} ${error.info.param}` : String(error);
  }
}

describe('the amount of a top-up', () => {
  test('is the stated Credits, or the stated dollars converted at the price of a Credit', () => {
    expect(topUpAmount({ credits: 1.5 }, wide, usdc)).toBe(1_500_000);
    expect(topUpAmount({ usd: 1 }, wide, usdc)).toBe(1_000_000_000);
    expect(topUpAmount({ usd: 0.1 }, wide, usdc)).toBe(100_000_000);
    // At three thousandths of a dollar a Credit, a dollar is 333.333333 Credits.
    expect(topUpAmount({ usd: 1 }, wide, networkOf(6, 3_000n))).toBe(333_333_333);
    expect(topUpAmount({ usd: 1 }, wide, networkOf(18, 1_000n))).toBe(1_000_000_000);
    expect(topUpAmount({ usd: 1 }, wide, networkOf(2, 1_000n))).toBe(1_000_000_000);
  });

  test('is exactly one of the two, exact, and within the bounds', () => {
    expect(codeOf(() => topUpAmount({}, wide, usdc))).toBe('missing_field credits');
    expect(codeOf(() => topUpAmount({ usd: 1, credits: 1 }, wide, usdc))).toBe('invalid_value credits');
    expect(codeOf(() => topUpAmount({ usd: 0.000_000_1 }, wide, usdc))).toBe('invalid_value usd');
    expect(codeOf(() => topUpAmount({ credits: 1e-7 }, wide, usdc))).toBe('invalid_value credits');
    const bounds = { min: 1_000_000_000, max: 5_000_000_000 };
    expect(codeOf(() => topUpAmount({ usd: 0.999_999 }, bounds, usdc))).toBe('out_of_range usd');
    expect(codeOf(() => topUpAmount({ credits: 5_000.000_001 }, bounds, usdc))).toBe('out_of_range credits');
    const tell = (asked: TopUpAmount) => () => topUpAmount(asked, bounds, usdc);
    expect(tell({ usd: 0.5 })).toThrow('`usd` must be from 1 to 5 in one top-up, not 0.5.');
    expect(tell({ credits: 10 })).toThrow('`credits` must be from 1000 to 5000 in one top-up, not 10.');
    expect(topUpAmount({ usd: 1 }, bounds, usdc)).toBe(bounds.min);
    expect(topUpAmount({ usd: 5 }, bounds, usdc)).toBe(bounds.max);
    // The policy's minimum is a dollar, rounded up to whole microcredits, so a dollar must be enough.
    const rounded = { min: 333_333_334, max: 333_333_333_333 };
    expect(topUpAmount({ usd: 1 }, rounded, networkOf(6, 3_000n))).toBe(333_333_333);
  });

  test('never costs more than the stated dollars, and never less by more than the value of a microcredit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000_000 }),
        fc.integer({ min: 6, max: 18 }),
        fc.bigInt({ min: 1n, max: 10_000_000n }),
        (millionths, decimals, microdollars) => {
          const network = networkOf(decimals, microdollars);
          const asked = BigInt(millionths) * 10n ** BigInt(decimals - 6);
          const amount = topUpAmount({ usd: millionths / 1e6 }, { min: 0, max: wide.max }, network);
          expect(atomicOf(network.rate, amount) <= asked).toBe(true);
          expect(worthOf(network.rate, asked)).toBe(amount);
        },
      ),
      { numRuns: 300 },
    );
  });
});
