import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../../support/answers.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { type FacilitatorServer, startFacilitatorServer } from '../support/chain/facilitator-server.ts';
import { amountOf, MICROCREDITS_PER_UNIT, type Paid, startPaid } from '../support/paying.ts';

/** A service settles these payments. The service may fail in every way; the chain then shows the outcome. */
const BEARER = 'facilitator-token-for-tests';
const SECOND = 'facilitator-token-of-today';
const folder = temporaryFolder();
const token = join(folder, 'token');
const providerKey = join(folder, 'provider');
/** The token that the service requires. */
const terms = { bearer: BEARER };
let chain: TestChain;
let service: FacilitatorServer;
let paid: Paid;

beforeAll(async () => {
  chain = await startChain();
  service = await startFacilitatorServer(chain, terms);
  writeFileSync(token, BEARER);
  writeFileSync(providerKey, 'provider-key-of-yesterday');
  paid = await startPaid({
    chain,
    facilitator: `{ mode: http, url: "${service.url}", timeout_ms: 1000, bearer_env: TEST_FACILITATOR_TOKEN }`,
    upstream: startFakeUpstream(),
    env: { TEST_FACILITATOR_TOKEN_FILE: token, TEST_UPSTREAM_KEY: '', TEST_UPSTREAM_KEY_FILE: providerKey },
  });
});
afterEach(() => {
  service.fail(null);
  paid.upstream.behave({});
});
afterAll(async () => {
  await paid.stop();
  await paid.upstream.stop();
  await service.stop();
  await chain.stop();
  rmSync(folder, { recursive: true });
});

const hello = [{ role: 'user', content: 'Say hello.' }];
const body = { model: 'best', messages: hello, max_tokens: 100 };

/** Checks that requests with a key are unaffected. */
async function keysAreServed(): Promise<void> {
  expect((await paid.box.post('/v1/chat/completions', body)).status).toBe(200);
}

test('a service settles the payment, and receives its required token', async () => {
  const payer = await paid.payer();
  const response = await paid.pay(payer, body);
  expect(response.status).toBe(200);
  expect((await answerOf(response)).platform.payment?.transaction).toMatch(/^0x[0-9a-f]{64}$/);
  expect(
    service.requests.filter(({ path }) => path !== '/supported').map(({ authorization }) => authorization),
  ).toEqual([`Bearer ${BEARER}`, `Bearer ${BEARER}`]);
});

test('a new token in its file is used for the next payment', async () => {
  terms.bearer = SECOND;
  writeFileSync(token, SECOND);
  await paid.reload(paid.policy);
  const payer = await paid.payer();
  await waitFor(async () => (await paid.ask(body)).status === 402);
  expect((await paid.pay(payer, body)).status).toBe(200);
  expect(service.requests.at(-1)?.authorization).toBe(`Bearer ${SECOND}`);
});

test('a quote of an earlier policy revision is served with the provider’s current key', async () => {
  const payer = await paid.payer();
  const header = await paid.sign(payer, (await paid.quote(body)).required);
  await paid.reload(`${paid.policy}\n`);
  writeFileSync(providerKey, 'provider-key-of-today');
  await paid.reload(`${paid.policy}\n\n`);
  expect((await paid.send(header, body)).status).toBe(200);
  expect(paid.upstream.requests.at(-1)?.headers.get('authorization')).toBe('Bearer provider-key-of-today');
  await paid.reload(paid.policy);
});

describe('a service that fails when Signalbox asks it to verify', () => {
  for (const fault of ['status', 'garbage', 'hang'] as const) {
    test(`(${fault}): a retryable 503, nothing is charged, and the signature stays valid`, async () => {
      const payer = await paid.payer();
      const header = await paid.sign(payer, (await paid.quote(body)).required);
      const calls = paid.upstream.requests.length;
      service.fail(fault, '/verify');
      const response = await paid.send(header, body);
      expect(response.status).toBe(503);
      expect((await answerOf(response)).error.code).toBe('payment_unavailable');
      expect(response.headers.get('x-should-retry')).toBe('true');
      expect(response.headers.get('payment-required')).toBeNull();
      expect(paid.upstream.requests.length).toBe(calls);
      await keysAreServed();
      expect(await chain.balanceOf(payer.address)).toBe(10_000_000n);
      service.fail(null);
      expect((await paid.send(header, body)).status).toBe(200);
    });
  }
});

describe('a service that fails after it has debited the wallet', () => {
  for (const fault of ['statusAfter', 'hangAfter', 'resetAfter', 'garbageAfter'] as const) {
    test(`(${fault}): 503 without a new price; later the same signature gets its answer from the balance`, async () => {
      const payer = await paid.payer();
      const { required } = await paid.quote({ ...body, agent_wallet: payer.address });
      const asked = { ...body, agent_wallet: payer.address };
      const header = await paid.sign(payer, required);
      const calls = paid.upstream.requests.length;
      service.fail(fault, '/settle');
      const response = await paid.send(header, asked);
      expect(response.status).toBe(503);
      const { error } = await answerOf(response);
      expect(error.code).toBe('payment_unsettled');
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(response.headers.get('payment-required')).toBeNull();
      expect(paid.upstream.requests.length).toBe(calls);
      await keysAreServed();
      service.fail(null);
      // A request that names the wallet gets no second payment request: the reconciler settles the payment at the latest.
      const asking = await paid.ask(asked);
      expect([402, 503]).toContain(asking.status);
      if (asking.status === 402) expect(paid.payments().unknown).toBeUndefined();
      // The test leaves one of the payments to the reconciler, which starts after some seconds.
      if (fault !== 'hangAfter') await paid.box.post(`/admin/payments/${error.details?.payment_id}/reconcile`, {});
      await waitFor(async () => (await paid.balanceOf(payer.address)) > 0, 15_000);
      const again = await paid.send(header, asked);
      expect(again.status).toBe(200);
      expect((await answerOf(again)).platform.payment).toMatchObject({ source: 'wallet_credits' });
      expect(await chain.balanceOf(payer.address)).toBe(10_000_000n - amountOf(required));
    });
  }
});

test('if the service does not answer, the request gets a retryable 503, and the signature stays valid', async () => {
  const payer = await paid.payer();
  const header = await paid.sign(payer, (await paid.quote(body)).required);
  await service.down();
  const response = await paid.send(header, body);
  expect(response.status).toBe(503);
  expect((await answerOf(response)).error.code).toBe('payment_unavailable');
  await keysAreServed();
  await service.up();
  expect((await paid.send(header, body)).status).toBe(200);
});

test('after all payments through a facilitator, the books are consistent and agree with the chain', async () => {
  const books = await paid.books();
  expect(books.findings).toEqual([]);
  expect(books.open).toBe(0);
  expect(books.deposits).toBe(Number(books.received) * MICROCREDITS_PER_UNIT);
});
