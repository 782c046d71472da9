import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { PaymentNetwork } from '../../../src/core/policy/payments.ts';
import {
  type Authorization,
  FacilitatorUnavailable,
  type NetworkClients,
  type NetworkHost,
} from '../../../src/payments/facilitator/facilitator.ts';
import { openNetwork } from '../../../src/payments/facilitator/network.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { authorize, meansOf, networkOn, patientFor, traceOf } from '../support/chain/networks.ts';
import { type RpcProxy, startRpcProxy } from '../support/chain/rpc-proxy.ts';

const SEND = 'eth_sendRawTransaction';

let chain: TestChain;
let node: RpcProxy;
/** A node that never answers, and a verification with it. The verification begins before all tests because it takes long. */
let silent: RpcProxy;
let unanswered: Promise<unknown>;
const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(async () => {
  chain = await startChain();
  node = await startRpcProxy(chain.url);
  process.on('unhandledRejection', note);
  silent = await startRpcProxy(chain.url);
  const { facilitator } = await open(through({ rpcUrls: [silent.url] }));
  const payment = await authorized();
  silent.fail('hang');
  unanswered = facilitator.verify(payment).catch((error) => error);
});
beforeEach(async () => {
  node.fail(null);
  await node.up();
});
afterEach(async () => {
  await chain.automine(true);
  // The library does not await every promise that it starts.
  expect(unhandled.splice(0)).toEqual([]);
});
afterAll(async () => {
  process.off('unhandledRejection', note);
  await Promise.all([node.stop(), silent.stop()]);
  await chain.stop();
});

const through = (changes: Partial<PaymentNetwork> = {}): PaymentNetwork =>
  networkOn(chain, { rpcUrls: [node.url], ...changes });
const hasty = { facilitator: patientFor(300) };
const open = (network = through(), means: NetworkHost = meansOf(chain)): Promise<NetworkClients> =>
  openNetwork(network, means);
const authorized = async (amount = 1_000n): Promise<Authorization> =>
  authorize(await chain.payer(5_000n), networkOn(chain), amount);

describe('a node', () => {
  test('a node that is down is reported at once, and not as a bad signature', async () => {
    const { facilitator } = await open();
    const payment = await authorized();
    await node.down();
    await expect(facilitator.verify(payment)).rejects.toThrow(FacilitatorUnavailable);
    await expect(facilitator.settle(payment)).rejects.toThrow(FacilitatorUnavailable);
    await node.up();
    expect(await facilitator.verify(payment)).toEqual({ valid: true });
    expect((await facilitator.settle(payment)).state).toBe('captured');
  });

  test.each(['error', 'status', 'garbage', 'empty', 'cut'] as const)(
    'a node that fails with %s is unavailable, whichever call fails before a transaction is sent',
    async (fault) => {
      const methods = ['eth_getCode', 'eth_call', 'eth_estimateGas', 'eth_getTransactionCount', 'eth_getBalance'];
      for (const method of [...methods, 'eth_getBlockByNumber']) {
        const { facilitator } = await open();
        const payment = await authorized();
        node.fail(fault, method);
        const verified = await facilitator.verify(payment).catch((error) => error);
        if (['eth_getCode', 'eth_call'].includes(method)) expect(verified).toBeInstanceOf(FacilitatorUnavailable);
        else expect(verified).toEqual({ valid: true });
        const sent = node.count(SEND);
        const settled = await facilitator.settle(payment).catch((error) => error);
        if (method !== 'eth_call') expect(settled).toBeInstanceOf(FacilitatorUnavailable);
        if (method !== 'eth_call') expect(node.count(SEND)).toBe(sent);
        node.fail(null);
      }
    },
  );

  test('a node of another chain gets no call, and the next node does', async () => {
    await using other = await startRpcProxy(chain.url);
    other.answer('eth_chainId', '0x1');
    const { facilitator, chain: read } = await open(through({ rpcUrls: [other.url, node.url] }));
    const payment = await authorized();
    expect((await facilitator.settle(payment)).state).toBe('captured');
    expect(other.count()).toBe(other.count('eth_chainId'));
    await expect(read.check()).rejects.toThrow('Node 1 of 2 of the network eip155:84532 serves the chain 1.');
  });

  test('the second node replaces a node that is down', async () => {
    const first = await startRpcProxy(chain.url);
    const { facilitator, chain: read } = await open(through({ rpcUrls: [first.url, node.url] }));
    await first.stop();
    await read.check();
    const payment = await authorized();
    expect(await facilitator.verify(payment)).toEqual({ valid: true });
    expect((await facilitator.settle(payment)).state).toBe('captured');
  });
});

describe('a transaction', () => {
  test('a transaction whose acceptance was not confirmed is found by its hash', async () => {
    const { facilitator } = await open();
    const payment = await authorized();
    node.fail('lost', SEND);
    expect((await facilitator.settle(payment)).state).toBe('captured');
  });

  test('a transaction without an available result is left to the chain', async () => {
    const { facilitator, chain: read } = await open(through(hasty));
    const payment = await authorized();
    node.fail('cut', 'eth_getTransactionReceipt');
    const settled = await facilitator.settle(payment);
    expect(settled).toMatchObject({ state: 'unknown', transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
    node.fail(null);
    const { transaction } = settled as { transaction: string };
    expect(await read.outcome(traceOf(payment))).toEqual({ state: 'used', transaction });
  });

  test('a transaction that may never have been sent is unknown, and its authorization unused', async () => {
    const { facilitator, chain: read } = await open(through(hasty));
    for (const fault of ['cut', 'error', 'status', 'empty'] as const) {
      const payment = await authorized();
      node.fail(fault, SEND);
      expect((await facilitator.settle(payment)).state).toBe('unknown');
      node.fail(null);
      expect(await read.outcome(traceOf(payment))).toEqual({ state: 'unused', expired: false });
    }
    expect((await facilitator.settle(await authorized())).state).toBe('captured');
  });

  test('a transaction that is not mined in time is unknown first and known later', async () => {
    const { facilitator, chain: read } = await open(through(hasty));
    const payment = await authorized();
    await chain.automine(false);
    const begun = performance.now();
    const settled = await facilitator.settle(payment);
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(settled).toMatchObject({ state: 'unknown', reason: 'settlement_pending' });
    expect(await read.outcome(traceOf(payment))).toEqual({ state: 'unused', expired: false });
    await chain.mine();
    const { transaction } = settled as { transaction: string };
    expect(await read.outcome(traceOf(payment))).toEqual({ state: 'used', transaction });
  });

  test('a transaction that the node forgets does not block the next one', async () => {
    const { facilitator } = await open(through(hasty));
    const payment = await authorized();
    const next = await authorized();
    await chain.automine(false);
    expect((await facilitator.settle(payment)).state).toBe('unknown');
    await chain.dropTransactions();
    await chain.automine(true);
    expect((await facilitator.settle(next)).state).toBe('captured');
  });

  test('a transaction that no node has any more is sent again when the same signature is submitted', async () => {
    const { facilitator } = await open(through(hasty));
    const payment = await authorized();
    await chain.automine(false);
    expect((await facilitator.settle(payment)).state).toBe('unknown');
    await chain.dropTransactions();
    await chain.automine(true);
    expect((await facilitator.settle(payment)).state).toBe('captured');
  });

  test('a transaction that reverts when mined has failed', async () => {
    const { facilitator } = await open(through());
    const payer = await chain.payer(1_000n);
    const payment = await authorize(payer, networkOn(chain), 1_000n);
    await chain.automine(false);
    const settling = facilitator.settle(payment);
    // The gas is estimated while the payer has the money. The transaction is mined after the payer's own transaction, which pays a higher
    // fee.
    const before = node.count(SEND);
    while (node.count(SEND) === before) await Bun.sleep(5);
    await chain.empty(payer.address);
    await chain.mine();
    expect(await settling).toEqual({ state: 'failed', reason: 'invalid_exact_evm_transaction_failed' });
  });

  test('after a restart, a transaction is found by its note and not sent twice', async () => {
    const means = meansOf(chain);
    const { facilitator } = await open(through(hasty), means);
    const payment = await authorized();
    await chain.automine(false);
    const first = await facilitator.settle(payment);
    expect(first.state).toBe('unknown');
    facilitator.close();
    expect(means.notes.size).toBe(1);
    const sent = node.count(SEND);
    const again = await open(through(), { ...meansOf(chain), pending: means.pending });
    const settling = again.facilitator.settle(payment);
    await chain.mine();
    const { transaction } = first as { transaction: string };
    expect(await settling).toEqual({ state: 'captured', transaction });
    expect(node.count(SEND)).toBe(sent);
    expect(means.notes.size).toBe(0);
  });

  test('a transaction that cannot be noted is not sent', async () => {
    const means = meansOf(chain);
    const failing = { ...means.pending, set: () => Promise.reject(new Error('The disk is full.')) };
    const { facilitator } = await open(through(), { ...means, pending: failing });
    const sent = node.count(SEND);
    await expect(facilitator.settle(await authorized())).rejects.toThrow(FacilitatorUnavailable);
    expect(node.count(SEND)).toBe(sent);
  });

  test('a closed facilitator does not wait for its transactions', async () => {
    const { facilitator } = await open(through({ facilitator: patientFor(600_000) }));
    const payment = await authorized();
    await chain.automine(false);
    const settling = facilitator.settle(payment);
    const before = node.count('eth_getTransactionReceipt');
    while (node.count('eth_getTransactionReceipt') === before) await Bun.sleep(5);
    facilitator.close();
    expect((await settling).state).toBe('unknown');
  });
});

describe('secrets', () => {
  test('secrets appear in no error, answer, alarm or note', async () => {
    const hidden = { rpcUrls: [], rpcUrlsEnv: 'NODES' };
    const means = meansOf(chain);
    const env = (name: string) => (name === 'NODES' ? `${node.url}/v2/a-key-of-the-provider` : means.env(name));
    await chain.client.setBalance({ address: chain.gasAddress, value: 10n ** 14n });
    const reports: unknown[] = [];
    const { facilitator, chain: read } = await open(through({ ...hidden, ...hasty }), { ...means, env });
    const payment = await authorized();
    const signature = String(payment.payload.payload.signature);
    for (const method of ['eth_call', 'eth_estimateGas', SEND, 'eth_getTransactionReceipt', 'eth_getBlockByNumber']) {
      node.fail('error', method);
      const calls = [facilitator.verify(payment), facilitator.settle(payment), read.outcome(traceOf(payment))];
      const outcomes = await Promise.allSettled<unknown>(calls);
      reports.push(outcomes.map((one) => Bun.inspect(one)));
    }
    node.fail(null);
    await chain.client.setBalance({ address: chain.gasAddress, value: 10n ** 20n });
    const text = JSON.stringify([reports, means.alarms, [...means.notes]]);
    expect(means.alarms).toHaveLength(1);
    for (const secret of [chain.gasKey.slice(2), signature.slice(2, 66), 'a-key-of-the-provider', node.url]) {
      expect(text).not.toContain(secret);
    }
  });
});

test('a node that never answers is unavailable within a few seconds', async () => {
  expect(await unanswered).toBeInstanceOf(FacilitatorUnavailable);
});
