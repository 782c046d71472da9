import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { FacilitatorPolicy, PaymentNetwork } from '../../../src/core/policy/payments.ts';
import {
  type Authorization,
  FacilitatorUnavailable,
  type NetworkClients,
} from '../../../src/payments/facilitator/facilitator.ts';
import { openNetwork } from '../../../src/payments/facilitator/network.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { type FacilitatorServer, startFacilitatorServer } from '../support/chain/facilitator-server.ts';
import { authorize, meansOf, networkOn, traceOf } from '../support/chain/networks.ts';
import { type RpcProxy, startRpcProxy } from '../support/chain/rpc-proxy.ts';

const BEARER = 'a-token-for-the-facilitator-42';
const REFUSAL = { success: false, transaction: '', network: 'eip155:84532' };

let chain: TestChain;
/** The service reads the chain through this proxy; Signalbox reads the chain directly. */
let node: RpcProxy;
let service: FacilitatorServer;
beforeAll(async () => {
  chain = await startChain();
  node = await startRpcProxy(chain.url);
  service = await startFacilitatorServer(chain, { bearer: BEARER, rpcUrl: node.url });
});
beforeEach(async () => {
  service.fail(null);
  service.answer('/settle', undefined);
  service.answer('/verify', undefined);
  await service.up();
  await node.up();
});
afterAll(async () => {
  await service.stop();
  await node.stop();
  await chain.stop();
});

const remote = (changes: Partial<FacilitatorPolicy & { mode: 'http' }> = {}): PaymentNetwork =>
  networkOn(chain, {
    facilitator: { mode: 'http', url: service.url, timeoutMs: 5_000, bearerEnv: 'BEARER', ...changes },
  });
const open = (network = remote(), bearer = BEARER): Promise<NetworkClients> =>
  openNetwork(network, meansOf(chain, { env: (name) => (name === 'BEARER' ? bearer : undefined) }));
const authorized = async (): Promise<Authorization> => authorize(await chain.payer(5_000n), networkOn(chain), 1_000n);

test('the service verifies and settles a payment, and receives the token', async () => {
  const { facilitator } = await open();
  const payment = await authorized();
  const before = await chain.balanceOf(chain.payTo);
  expect(await facilitator.verify(payment)).toEqual({ valid: true });
  expect((await facilitator.settle(payment)).state).toBe('captured');
  expect(await chain.balanceOf(chain.payTo)).toBe(before + 1_000n);
  expect(service.requests.map(({ path }) => path)).toEqual(['/verify', '/settle']);
  expect(service.requests.every(({ authorization }) => authorization === `Bearer ${BEARER}`)).toBe(true);
  expect(service.requests.every(({ codings }) => codings === 'identity')).toBe(true);
});

test('a payment that its payer cannot fund is invalid, or fails', async () => {
  const { facilitator } = await open();
  const payment = await authorized();
  await chain.empty(payment.payer as `0x${string}`);
  const reason = 'invalid_exact_evm_insufficient_balance';
  expect(await facilitator.verify(payment)).toEqual({ valid: false, reason });
  service.answer('/settle', { ...REFUSAL, errorReason: reason });
  expect(await facilitator.settle(payment)).toEqual({ state: 'failed', reason });
});

describe('a service', () => {
  test.each(['hang', 'status', 'reset', 'garbage', 'wrong'] as const)(
    'a service that fails with %s at a settlement leaves the outcome unknown, even if nothing was sent',
    async (fault) => {
      const { facilitator, chain: read } = await open(remote({ timeoutMs: 500 }));
      const payment = await authorized();
      service.fail(fault, '/settle');
      expect((await facilitator.settle(payment)).state).toBe('unknown');
      expect(await read.outcome(traceOf(payment))).toEqual({ state: 'unused', expired: false });
    },
  );

  test('a service that cannot be reached, or does not process the payment, has received nothing', async () => {
    const { facilitator } = await open();
    const payment = await authorized();
    service.fail('busy', '/settle');
    await expect(facilitator.settle(payment)).rejects.toThrow(FacilitatorUnavailable);
    const stranger = (await open(remote(), 'another-token-than-it-knows')).facilitator;
    await expect(stranger.settle(payment)).rejects.toThrow('answers a settlement with 401');
    await service.down();
    await expect(facilitator.settle(payment)).rejects.toThrow('cannot be reached');
    await expect(facilitator.verify(payment)).rejects.toThrow(FacilitatorUnavailable);
    await service.up();
    service.fail(null);
    expect((await facilitator.settle(payment)).state).toBe('captured');
  });

  test('Signalbox does not follow a redirect of the service, with or without the token', async () => {
    const { facilitator } = await open();
    const payment = await authorized();
    service.fail('redirect');
    const before = service.requests.length;
    await expect(facilitator.settle(payment)).rejects.toThrow(FacilitatorUnavailable);
    expect(service.requests.slice(before).map(({ path }) => path)).toEqual(['/settle']);
  });

  test('a service that reports a good signature as bad, for example while its node is down, counts as unavailable', async () => {
    const { facilitator } = await open();
    const payment = await authorized();
    await node.down();
    await expect(facilitator.verify(payment)).rejects.toThrow(FacilitatorUnavailable);
  });

  test.each(['settlement_pending', 'invalid_exact_evm_transaction_failed', 'unexpected_settle_error', 'No, dear!'])(
    'a service that refuses for the reason %p may have sent a transaction',
    async (errorReason) => {
      const { facilitator } = await open();
      const payment = await authorized();
      service.answer('/settle', { ...REFUSAL, errorReason });
      expect((await facilitator.settle(payment)).state).toBe('unknown');
    },
  );

  test('Signalbox does not believe a reported settlement without a transaction', async () => {
    const { facilitator } = await open();
    const payment = await authorized();
    const transaction = `0x${'ab'.repeat(32)}`;
    for (const wrong of [{}, { transaction, network: 'eip155:8453' }, { transaction, payer: chain.payTo }]) {
      service.answer('/settle', { ...REFUSAL, success: true, ...wrong });
      expect((await facilitator.settle(payment)).state).toBe('unknown');
    }
  });

  test('Signalbox does not believe a reported settlement in a transaction that the chain does not have', async () => {
    const { facilitator } = await open(remote({ timeoutMs: 300 }));
    const payment = await authorized();
    const transaction = `0x${'ab'.repeat(32)}`;
    service.answer('/settle', { success: true, transaction, network: 'eip155:84532', payer: payment.payer });
    expect(await facilitator.settle(payment)).toEqual({ state: 'unknown', reason: 'not_on_chain_yet', transaction });
  });

  test('if the service refuses while the chain does not answer, the outcome stays open', async () => {
    const own = await startRpcProxy(chain.url);
    const { facilitator } = await open({ ...remote(), rpcUrls: [own.url] });
    await own.stop();
    const payment = await authorized();
    service.answer('/settle', { ...REFUSAL, errorReason: 'invalid_exact_evm_insufficient_balance' });
    expect((await facilitator.settle(payment)).state).toBe('unknown');
  });
});

test('the payment service does not receive the quote, with which it could obtain the answer', async () => {
  const { facilitator } = await open();
  const { requirements, payload, ...rest } = await authorized();
  const extra = {
    ...requirements.extra,
    quote_id: 'quo_1',
    request_hash: 'a-hash',
    expires_at: 'soon',
    terms: 'a-seal',
  };
  const quoted = { ...requirements, extra };
  const payment = { ...rest, requirements: quoted, payload: { ...payload, accepted: quoted } };
  expect(await facilitator.verify(payment)).toEqual({ valid: true });
  expect((await facilitator.settle(payment)).state).toBe('captured');
  const sent = service.requests.slice(-2).map(({ body }) => body);
  expect(sent.join()).not.toMatch(/quo_1|a-hash|soon|a-seal/);
  expect(sent.every((body) => body.includes('"name":"USDC"'))).toBe(true);
});

test('no error or answer contains the service’s token or a payment’s signature', async () => {
  const { facilitator } = await open();
  const payment = await authorized();
  const signature = String(payment.payload.payload.signature);
  // The service echoes what it received.
  service.answer('/settle', { ...REFUSAL, errorReason: `no: ${BEARER} ${signature}`, transaction: signature });
  service.answer('/verify', { isValid: false, invalidReason: `no: ${BEARER} ${signature}` });
  const results = await Promise.allSettled<unknown>([facilitator.verify(payment), facilitator.settle(payment)]);
  await service.down();
  results.push(...(await Promise.allSettled<unknown>([facilitator.verify(payment), facilitator.settle(payment)])));
  const text = Bun.inspect(results);
  for (const secret of [BEARER, signature.slice(2, 66), service.url]) expect(text).not.toContain(secret);
});
