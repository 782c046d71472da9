import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import type { PaymentAsset, PaymentNetwork } from '../../../src/core/policy/payments.ts';
import {
  type Authorization,
  type Chain,
  FacilitatorUnavailable,
} from '../../../src/payments/facilitator/facilitator.ts';
import { openNetwork } from '../../../src/payments/facilitator/network.ts';
import type { Authorized } from '../../support/pay.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { contract } from '../support/chain/compile.ts';
import { authorize, meansOf, networkOn, traceOf } from '../support/chain/networks.ts';
import { startRpcProxy } from '../support/chain/rpc-proxy.ts';
import { TOKEN_ABI } from '../support/chain/token-abi.ts';

const RUN = parseAbi(['function run(address[] targets, bytes[] calls)']);

let chain: TestChain;
beforeAll(async () => {
  chain = await startChain();
});
afterAll(() => chain.stop());

const reader = async (changes: Partial<PaymentNetwork> = {}): Promise<Chain> =>
  (await openNetwork(networkOn(chain, changes), meansOf(chain))).chain;
const authorized = ({ payload }: Authorization) => payload.payload as { authorization: Authorized; signature: Hex };

/** Returns the call that carries out an authorization. Any account may send the call. */
function callOf(payment: Authorization): Hex {
  const { authorization: a, signature } = authorized(payment);
  return encodeFunctionData({
    abi: TOKEN_ABI,
    functionName: 'transferWithAuthorization',
    args: [a.from, a.to, BigInt(a.value), BigInt(a.validAfter), BigInt(a.validBefore), a.nonce, signature],
  });
}

describe('an authorization', () => {
  test('an authorization that was not used is unused, and expires by the chain’s time', async () => {
    await using own = await startChain();
    const read = (await openNetwork(networkOn(own), meansOf(own))).chain;
    const payment = await authorize(await own.payer(1_000n), networkOn(own), 1_000n);
    const trace = traceOf(payment);
    expect(await read.outcome(trace)).toEqual({ state: 'unused', expired: false });
    const before = await own.client.getBlock();
    await own.client.setNextBlockTimestamp({ timestamp: BigInt(trace.validBefore) - 1n });
    await own.mine();
    expect(await read.outcome(trace)).toEqual({ state: 'unused', expired: false });
    await own.client.setNextBlockTimestamp({ timestamp: BigInt(trace.validBefore) });
    await own.mine();
    expect(await read.outcome(trace)).toEqual({ state: 'unused', expired: true });
    expect((await own.client.getBlock()).number).toBe(before.number + 2n);
  });

  test('an authorization that any account carried out is used, in this transaction', async () => {
    const payer = await chain.payer(1_000n);
    const payment = await authorize(payer, networkOn(chain), 1_000n);
    const { hash } = await chain.send(payer, { to: chain.token, data: callOf(payment) });
    expect(await (await reader()).outcome(traceOf(payment))).toEqual({ state: 'used', transaction: hash });
  });

  test('an authorization that the payer cancelled is cancelled, even next to a transfer of the same amount', async () => {
    const payer = await chain.payer(2_000n);
    const payment = await authorize(payer, networkOn(chain), 1_000n);
    await chain.cancel(payer, authorized(payment).authorization.nonce);
    await chain.transfer(payer, chain.payTo, 1_000n);
    expect(await (await reader()).outcome(traceOf(payment))).toEqual({ state: 'cancelled' });
  });

  test.each([
    ['to another payee', { to: '0x00000000000000000000000000000000000000aa' }],
    ['of less', { value: '999' }],
  ] as const)('an authorization whose nonce the payer used for a %s is cancelled', async (_, changes) => {
    const payer = await chain.payer(2_000n);
    const payment = await authorize(payer, networkOn(chain), 1_000n);
    const { nonce } = authorized(payment).authorization;
    const other = await authorize(payer, networkOn(chain), 1_000n, { authorization: { ...changes, nonce } });
    await chain.send(payer, { to: chain.token, data: callOf(other) });
    expect(await (await reader()).outcome(traceOf(payment))).toEqual({ state: 'cancelled' });
  });

  test('a transfer next to an authorization does not pay it, because the transfer could be counted several times', async () => {
    const payer = await chain.payer(10_000n);
    const { created } = await chain.send(payer, { data: contract('Trickster')?.bytecode ?? '0x' });
    if (created === null) throw new Error('The contract was not created.');
    const payments = [
      await authorize(payer, networkOn(chain), 1_000n),
      await authorize(payer, networkOn(chain), 1_000n),
    ];
    const spent = await Promise.all(
      payments.map((payment) => {
        const { nonce } = authorized(payment).authorization;
        return authorize(payer, networkOn(chain), 1_000n, { authorization: { to: payer.address, nonce } });
      }),
    );
    const allow = encodeFunctionData({ abi: TOKEN_ABI, functionName: 'approve', args: [created, 1_000n] });
    await chain.send(payer, { to: chain.token, data: allow });
    const move = encodeFunctionData({
      abi: TOKEN_ABI,
      functionName: 'transferFrom',
      args: [payer.address, chain.payTo, 1_000n],
    });
    const calls = [callOf(spent[0]!), move, callOf(spent[1]!)];
    const data = encodeFunctionData({ abi: RUN, functionName: 'run', args: [calls.map(() => chain.token), calls] });
    await chain.send(payer, { to: created, data });
    const read = await reader();
    expect(await Promise.all(payments.map((payment) => read.outcome(traceOf(payment))))).toEqual([
      { state: 'cancelled' },
      { state: 'cancelled' },
    ]);
  });

  test('each of several authorizations in one transaction gets its own transfer', async () => {
    const payer = await chain.payer(10_000n);
    const { created } = await chain.send(payer, { data: contract('Trickster')?.bytecode ?? '0x' });
    if (created === null) throw new Error('The contract was not created.');
    const payments = [
      await authorize(payer, networkOn(chain), 1_000n),
      await authorize(payer, networkOn(chain), 2_000n),
    ];
    const calls = payments.map(callOf);
    const data = encodeFunctionData({ abi: RUN, functionName: 'run', args: [calls.map(() => chain.token), calls] });
    const { hash: transaction } = await chain.send(payer, { to: created, data });
    const read = await reader();
    for (const payment of payments) {
      expect(await read.outcome(traceOf(payment))).toEqual({ state: 'used', transaction });
    }
  });

  test('an authorization used long ago is found with a few queries, in pages as small as the node demands', async () => {
    await using own = await startChain();
    await using node = await startRpcProxy(own.url);
    const network = networkOn(own, { rpcUrls: [node.url] });
    const read = (await openNetwork(network, meansOf(own))).chain;
    const payer = await own.payer(1_000n);
    // An hour of blocks before and after the transaction.
    await own.client.mine({ blocks: 600, interval: 6 });
    const block = await own.client.getBlock();
    const seconds = Number(block.timestamp);
    const payment = await authorize(payer, network, 1_000n, {
      authorization: { validBefore: String(seconds + 300) },
    });
    const { hash } = await own.send(payer, { to: own.token, data: callOf(payment) });
    await own.client.mine({ blocks: 600, interval: 6 });
    const trace = { ...traceOf(payment), since: seconds * 1000 };
    expect(await read.outcome(trace)).toEqual({ state: 'used', transaction: hash });
    expect(node.count('eth_getLogs')).toBe(1);
    expect(node.count('eth_getBlockByNumber')).toBeLessThan(30);
    node.limitLogs(20);
    expect(await read.outcome(trace)).toEqual({ state: 'used', transaction: hash });
  });

  test('an authorization that a node reports as used without showing its use stays undecided', async () => {
    await using node = await startRpcProxy(chain.url);
    const read = await reader({ rpcUrls: [node.url] });
    const payer = await chain.payer(1_000n);
    const payment = await authorize(payer, networkOn(chain), 1_000n);
    await chain.send(payer, { to: chain.token, data: callOf(payment) });
    node.answer('eth_getLogs', []);
    await expect(read.outcome(traceOf(payment))).rejects.toThrow(FacilitatorUnavailable);
    node.answer('eth_getLogs', undefined);
    expect((await read.outcome(traceOf(payment))).state).toBe('used');
    await node.down();
    await expect(read.outcome(traceOf(payment))).rejects.toThrow(FacilitatorUnavailable);
  });
});

describe('checking the chain', () => {
  const asset = (changes: Partial<PaymentAsset>) => ({ asset: { ...networkOn(chain).asset, ...changes } });

  test('the check passes if the chain matches the policy, and runs once', async () => {
    await using node = await startRpcProxy(chain.url);
    const read = await reader({ rpcUrls: [node.url] });
    await read.check();
    const calls = node.count();
    await read.check();
    expect(node.count()).toBe(calls);
  });

  test('reports each mismatch', async () => {
    const checked = async (changes: Partial<PaymentNetwork>) => (await reader(changes)).check();
    await expect(checked({ id: 'eip155:8453', chainId: 8453 })).rejects.toThrow(
      'The node of the network eip155:8453 serves the chain 84532.',
    );
    await expect(checked(asset({ decimals: 18 }))).rejects.toThrow(
      'The asset of the network eip155:84532 has 6 decimals, not 18.',
    );
    await expect(checked(asset({ name: 'USD Coin' }))).rejects.toThrow(
      'The asset of the network eip155:84532 does not sign as "USD Coin", version "2".',
    );
    await expect(checked(asset({ address: chain.payTo }))).rejects.toThrow(
      'The asset of the network eip155:84532 has no contract at its address.',
    );
    const { created } = await chain.send(await chain.payer(0n), { data: contract('Trickster')?.bytecode ?? '0x' });
    await expect(checked(asset({ address: created ?? '' }))).rejects.toThrow(
      'The asset of the network eip155:84532 is not a token contract.',
    );
  });

  test('the check runs again after a node did not answer', async () => {
    await using node = await startRpcProxy(chain.url);
    const read = await reader({ rpcUrls: [node.url] });
    await node.down();
    await expect(read.check()).rejects.toThrow(FacilitatorUnavailable);
    await node.up();
    await read.check();
  });
});
