import { afterAll, expect, test } from 'bun:test';
import type { Authorization } from '../../src/payments/facilitator/facilitator.ts';
import { openNodes } from '../../src/payments/facilitator/nodes.ts';
import { SettlementLimit } from '../../src/payments/facilitator/settlement-limit.ts';
import { startOwnServer } from '../support/own-server.ts';

type Gate = PromiseWithResolvers<void>;

const CHAIN_ID = 84_532;
const BALANCE = 100n;

/** A node that reports a balance of 100 when `answers` resolves. Each call for the balance resolves `asked`. */
let [asked, answers] = [Promise.withResolvers<void>(), Promise.resolve()];
const node = startOwnServer(async (request) => {
  const { id, method } = (await request.json()) as { id: number; method: string };
  if (method === 'eth_chainId') return Response.json({ jsonrpc: '2.0', id, result: `0x${CHAIN_ID.toString(16)}` });
  asked.resolve();
  await answers;
  return Response.json({ jsonrpc: '2.0', id, result: `0x${BALANCE.toString(16).padStart(64, '0')}` });
});
afterAll(() => node.stop());

const nodes = openNodes(CHAIN_ID, [node.url]);
const paying = (amount: bigint): Authorization =>
  ({ payer: `0x${'a1'.repeat(20)}`, amount, requirements: { asset: `0x${'b2'.repeat(20)}` } }) as Authorization;

test('a settlement waits while its wallet cannot pay it together with the settlements in progress', async () => {
  const limit = new SettlementLimit(nodes, 60_000);
  const [begun, first, second] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate];
  const order: string[] = [];
  const one = limit.within(paying(60n), () => first.promise);
  const two = limit.within(paying(40n), () => {
    begun.resolve();
    return second.promise;
  });
  await begun.promise;
  asked = Promise.withResolvers();
  const three = limit.within(paying(1n), async () => order.push('sent'));
  await asked.promise;
  // When this call is answered, the answer about the balance has been read.
  await nodes.each[0]!({ method: 'eth_chainId' });
  expect(order).toEqual([]);
  second.resolve();
  await three;
  first.resolve();
  await Promise.all([one, two]);
});

test('a settlement does not wait for another one that ended while the node was asked', async () => {
  const limit = new SettlementLimit(nodes, 60_000);
  const [first, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  [asked, answers] = [Promise.withResolvers<void>(), release.promise];
  const one = limit.within(paying(60n), () => first.promise);
  // The amount is larger than the wallet's balance. With nothing in progress, the chain decides.
  const two = limit.within(paying(160n), async () => 'sent');
  await asked.promise;
  first.resolve();
  await one;
  release.resolve();
  expect(await two).toBe('sent');
});

test('a settlement that waits too long is not sent', async () => {
  const limit = new SettlementLimit(nodes, 20);
  answers = Promise.resolve();
  const first = Promise.withResolvers<void>();
  const one = limit.within(paying(60n), () => first.promise);
  await expect(limit.within(paying(60n), async () => 'sent')).rejects.toThrow('still being settled');
  first.resolve();
  await one;
});
