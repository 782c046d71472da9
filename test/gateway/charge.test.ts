import { describe, expect, test } from 'bun:test';
import { plainUsage } from '../../src/core/usage.ts';
import { entryLine } from '../../src/gateway/charge.ts';
import { model } from '../routing/build.ts';

const own = model('a');
const lineOf = (outputTokens: number, estimated = false) =>
  entryLine(own, own.endpoints[0], { usage: plainUsage(10, outputTokens), estimated }, 1_000);

describe('An attempt in the ledger', () => {
  test('is an estimate where the receipt says so: tokens were counted here, or cannot be true', () => {
    expect(lineOf(5).estimated).toBe(false);
    expect(lineOf(5, true).estimated).toBe(true);
    expect(lineOf(-1)).toMatchObject({ estimated: true, cost: 1_000 });
  });
});
