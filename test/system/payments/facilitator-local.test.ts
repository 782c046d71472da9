import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { PrivateKeyAccount } from 'viem/accounts';
import {
  type Facilitator,
  FacilitatorUnavailable,
  type SettleResult,
} from '../../../src/payments/facilitator/facilitator.ts';
import { openNetwork } from '../../../src/payments/facilitator/network.ts';
import { storedNonces } from '../../../src/payments/gas-nonces.ts';
import { storedSettlements } from '../../../src/payments/pending-settlements.ts';
import { openInMemory } from '../../store/implementations.ts';
import { quietFor, waitFor } from '../../support/answers.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { authorize, meansOf, networkOn } from '../support/chain/networks.ts';

let chain: TestChain;
beforeAll(async () => {
  chain = await startChain();
});
afterAll(() => chain.stop());

const local = async (of = chain, means = meansOf(of)): Promise<Facilitator> =>
  (await openNetwork(networkOn(of), means)).facilitator;
const authorized = (payer: PrivateKeyAccount, amount = 1_000n) => authorize(payer, networkOn(chain), amount);
const statesOf = (all: readonly SettleResult[]) => all.map(({ state }) => state).sort();

describe('a payment', () => {
  test('a payment is verified and settled, and the money arrives in the reported transaction', async () => {
    const payer = await chain.payer(5_000n);
    const facilitator = await local();
    const before = await chain.balanceOf(chain.payTo);
    const payment = await authorized(payer);
    expect(await facilitator.verify(payment)).toEqual({ valid: true });
    expect(await chain.balanceOf(chain.payTo)).toBe(before);
    const settled = await facilitator.settle(payment);
    expect(settled.state).toBe('captured');
    expect(await chain.balanceOf(chain.payTo)).toBe(before + 1_000n);
    expect(await chain.balanceOf(payer.address)).toBe(4_000n);
    if (settled.state !== 'captured') return;
    const receipt = await chain.client.getTransactionReceipt({ hash: settled.transaction as `0x${string}` });
    expect(receipt.from).toBe(chain.gasAddress.toLowerCase() as `0x${string}`);
  });

  test('a payment settled several times at once is captured once, and the other attempts are left to the chain', async () => {
    const payer = await chain.payer(5_000n);
    const facilitator = await local();
    const payment = await authorized(payer);
    const all = await Promise.all(Array.from({ length: 4 }, () => facilitator.settle(payment)));
    expect(statesOf(all)).toEqual(['captured', 'unknown', 'unknown', 'unknown']);
    expect(await chain.balanceOf(payer.address)).toBe(4_000n);
  });

  test('a payment settled before is invalid, and is not captured again', async () => {
    const payer = await chain.payer(5_000n);
    const facilitator = await local();
    const payment = await authorized(payer);
    const first = await facilitator.settle(payment);
    expect(first.state).toBe('captured');
    expect(await facilitator.verify(payment)).toEqual({ valid: false, reason: 'invalid_exact_evm_nonce_already_used' });
    const again = await facilitator.settle(payment);
    expect(again).toMatchObject({ state: 'unknown', transaction: first.state === 'captured' && first.transaction });
    expect(await chain.balanceOf(payer.address)).toBe(4_000n);
  });

  test('a payment whose payer has spent the money in between is refused, and fails', async () => {
    const payer = await chain.payer(1_000n);
    const facilitator = await local();
    const payment = await authorized(payer);
    expect(await facilitator.verify(payment)).toEqual({ valid: true });
    await chain.transfer(payer, chain.gasAddress, 1n);
    const reason = 'invalid_exact_evm_insufficient_balance';
    expect(await facilitator.verify(payment)).toEqual({ valid: false, reason });
    expect(await facilitator.settle(payment)).toEqual({ state: 'failed', reason });
  });

  test('a payment that the token refuses fails', async () => {
    const payer = await chain.payer(1_000n);
    const facilitator = await local();
    const payment = await authorized(payer);
    await chain.block(payer.address);
    expect((await facilitator.verify(payment)).valid).toBe(false);
    expect(await facilitator.settle(payment)).toEqual({
      state: 'failed',
      reason: 'invalid_exact_evm_transaction_failed',
    });
  });

  test('a payment that the payer cancelled fails', async () => {
    const payer = await chain.payer(1_000n);
    const facilitator = await local();
    const payment = await authorized(payer);
    await chain.cancel(payer, payment.nonce as `0x${string}`);
    expect((await facilitator.verify(payment)).valid).toBe(false);
    expect((await facilitator.settle(payment)).state).toBe('failed');
    expect(await chain.balanceOf(payer.address)).toBe(1_000n);
  });
});

describe('many payments of one wallet at once', () => {
  const sent = () => chain.client.getTransactionCount({ address: chain.gasAddress });
  const pending = () => chain.client.getTransactionCount({ address: chain.gasAddress, blockTag: 'pending' });

  test('cost no gas beyond what the wallet can pay: only these payments are sent', async () => {
    const payer = await chain.payer(2_500n);
    const facilitator = await local();
    const payments = await Promise.all(Array.from({ length: 12 }, () => authorized(payer)));
    const before = await sent();
    await chain.automine(false);
    try {
      const settling = payments.map((payment) => facilitator.settle(payment));
      await waitFor(async () => (await pending()) === before + 2);
      await chain.automine(true);
      await chain.mine();
      const all = await Promise.all(settling);
      expect(statesOf(all)).toEqual(['captured', 'captured', ...Array(10).fill('failed')]);
    } finally {
      await chain.automine(true);
    }
    expect(await sent()).toBe(before + 2);
    expect(await chain.balanceOf(payer.address)).toBe(500n);
  });

  test('do not wait for each other if the wallet can pay them all', async () => {
    const payer = await chain.payer(12_000n);
    const facilitator = await local();
    const payments = await Promise.all(Array.from({ length: 12 }, () => authorized(payer)));
    const before = await sent();
    await chain.automine(false);
    try {
      const settling = payments.map((payment) => facilitator.settle(payment));
      await waitFor(async () => (await pending()) === before + 12);
      await chain.mine();
      expect(statesOf(await Promise.all(settling))).toEqual(Array(12).fill('captured'));
    } finally {
      await chain.automine(true);
    }
  });

  test('wait no longer than one settlement may take, and then send nothing', async () => {
    const payer = await chain.payer(1_000n);
    const network = networkOn(chain);
    const facilitator = await openNetwork(
      { ...network, facilitator: { ...network.facilitator, confirmationTimeoutMs: 300 } as typeof network.facilitator },
      meansOf(chain),
    );
    const [first, second] = [await authorized(payer), await authorized(payer)];
    await chain.automine(false);
    try {
      const settling = facilitator.facilitator.settle(first);
      const waiting = facilitator.facilitator.settle(second).catch((cause: unknown) => cause);
      expect(await settling).toMatchObject({ state: 'unknown', reason: 'settlement_pending' });
      const ended = await waiting;
      // After this time the chain decides. The chain may report too little money while some of it is reserved.
      const state = ended instanceof FacilitatorUnavailable ? 'unavailable' : (ended as SettleResult).state;
      expect(['unavailable', 'unknown', 'failed']).toContain(state);
    } finally {
      await chain.automine(true);
      await chain.mine();
    }
  });
});

test('many payments of two facilitators with the same key, as during a reload, are all settled', async () => {
  const payers = await Promise.all(Array.from({ length: 20 }, () => chain.payer(1_000n)));
  const means = meansOf(chain);
  const pair = [await local(chain, means), await local(chain, means)];
  const payments = await Promise.all(payers.map((payer) => authorized(payer)));
  const all = await Promise.all(payments.map((payment, i) => pair[i % 2]!.settle(payment)));
  expect(statesOf(all)).toEqual(Array(20).fill('captured'));
});

describe('two instances with the same gas key', () => {
  /** The options with which an instance opens its networks: a nonce is claimed in the same commit as the note. */
  const instance = (store: Awaited<ReturnType<typeof openInMemory>>, slot: number, now: () => number = Date.now) => {
    const pending = storedSettlements(store, now);
    return meansOf(chain, { pending, gasNonces: storedNonces({ store, instance: { slot, epoch: 1 }, now }) });
  };

  test('use a separate nonce for each transaction, even if no block comes between', async () => {
    await using store = await openInMemory();
    const payers = await Promise.all(Array.from({ length: 12 }, () => chain.payer(1_000n)));
    const pair = [await local(chain, instance(store, 0)), await local(chain, instance(store, 1))];
    const payments = await Promise.all(payers.map((payer) => authorized(payer)));
    const pending = () => chain.client.getTransactionCount({ address: chain.gasAddress, blockTag: 'pending' });
    const before = await pending();
    await chain.automine(false);
    try {
      const settling = payments.map((payment, i) => pair[i % 2]!.settle(payment));
      await waitFor(async () => (await pending()) === before + 12);
      await chain.mine();
      expect(statesOf(await Promise.all(settling))).toEqual(Array(12).fill('captured'));
    } finally {
      await chain.automine(true);
    }
  });

  test('wait for a nonce that was claimed and not sent, and fill the gap after 30 s', async () => {
    await using store = await openInMemory();
    let now = Date.now();
    const other = instance(store, 1, () => now).gasNonces;
    const key = `${networkOn(chain).id} ${chain.gasAddress}`;
    const nonce = await chain.client.getTransactionCount({ address: chain.gasAddress, blockTag: 'pending' });
    await store.commit([other.claim(key, nonce, await other.last(key)).write]);
    let isSettled = false;
    const facilitator = await local(
      chain,
      instance(store, 0, () => now),
    );
    const settling = facilitator.settle(await authorized(await chain.payer(1_000n))).then((result) => {
      isSettled = true;
      return result;
    });
    await quietFor(300, 'a settlement with a nonce of another', () => isSettled);
    now += 30_000;
    expect((await settling).state).toBe('captured');
    expect(await other.last(key)).toMatchObject({ nonce, owner: { slot: 0 } });
  });
});

describe('the gas key', () => {
  test('a low gas balance raises an alarm at most once an hour, and payments still settle', async () => {
    await using own = await startChain();
    await own.client.setBalance({ address: own.gasAddress, value: 5n * 10n ** 14n });
    let now = 0;
    const means = meansOf(own, { now: () => now });
    const { facilitator } = await openNetwork(networkOn(own), means);
    const settle = async () => {
      const payer = await own.payer(1_000n);
      return (await facilitator.settle(await authorize(payer, networkOn(own), 1_000n))).state;
    };
    expect([await settle(), await settle()]).toEqual(['captured', 'captured']);
    expect(means.alarms).toHaveLength(1);
    expect(means.alarms[0]).toContain('has only');
    now += 3_600_000;
    expect(await settle()).toBe('captured');
    expect(means.alarms).toHaveLength(2);
  });

  test('a gas key without any gas is reported at the first check, before a wallet pays', async () => {
    await using own = await startChain();
    const means = meansOf(own);
    const { facilitator } = await openNetwork(networkOn(own), means);
    await facilitator.watch?.();
    expect(means.alarms).toEqual([]);
    await own.client.setBalance({ address: own.gasAddress, value: 0n });
    await facilitator.watch?.();
    expect(means.alarms).toEqual([`The gas key ${own.gasAddress} of eip155:84532 has only 0 wei left.`]);
    const gone = await openNetwork(networkOn(own), meansOf(own));
    expect(await gone.facilitator.watch?.()).toBeUndefined();
  });

  test('a gas key that cannot pay is reported as the operator’s fault, and nothing is sent', async () => {
    await using own = await startChain();
    await own.client.setBalance({ address: own.gasAddress, value: 1_000n });
    const means = meansOf(own);
    const facilitator = await local(own, means);
    const payer = await own.payer(1_000n);
    const payment = await authorize(payer, networkOn(own), 1_000n);
    await expect(facilitator.settle(payment)).rejects.toThrow(FacilitatorUnavailable);
    expect(means.alarms.join()).toContain(own.gasAddress);
    expect(means.notes.size).toBe(0);
    await own.client.setBalance({ address: own.gasAddress, value: 10n ** 18n });
    expect((await facilitator.settle(payment)).state).toBe('captured');
  });
});
