import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { PrivateKeyAccount } from 'viem/accounts';
import { waitFor } from '../../support/answers.ts';
import { bookProblems } from '../payments/model/books.ts';
import { CHAT, chatBody, type Stand, shortOf, startStand } from '../payments/model/stand.ts';
import {
  type FacilitatorServer,
  type ServiceFault,
  startFacilitatorServer,
} from '../support/chain/facilitator-server.ts';

/** Payments through a settlement service, which may fail like any remote service, even after the money has moved. */
let stand: Stand;
let service: FacilitatorServer;
let payer: PrivateKeyAccount;
let requests = 0;
const PURSE = 1_000_000_000n;
const BEARER = 'a-token-for-the-service-of-tests';

beforeAll(async () => {
  stand = await startStand({
    env: { X402_BEARER: BEARER },
    facilitator: async (chain) => {
      service = await startFacilitatorServer(chain, { bearer: BEARER });
      return `{ mode: http, url: "${service.url}", timeout_ms: 1000, bearer_env: X402_BEARER }`;
    },
  });
});
beforeEach(async () => {
  payer = await stand.chain.payer(PURSE);
});
afterAll(async () => {
  await stand.stop();
  await service.stop();
});
afterEach(async () => {
  service.fail(null);
  await service.up();
  await stand.settled();
  expect(await bookProblems(stand)).toEqual([]);
});

const bodyOf = (account: PrivateKeyAccount) => chatBody(++requests, { agent_wallet: account.address });
const debit = async () => PURSE - (await stand.chain.balanceOf(payer.address));

/** Callers with an API key are unaffected. */
async function expectKeysServed(): Promise<void> {
  expect((await stand.box.post(CHAT, chatBody(++requests))).status).toBe(200);
}

for (const fault of ['hangAfter', 'resetAfter', 'statusAfter', 'garbageAfter', 'crashAfter'] as const) {
  test(`if a payment service debits the payer without reporting it (${fault}), the payment is unknown, the request never gets 402, and it is answered once the chain confirms`, async () => {
    const body = bodyOf(payer);
    const paid = await stand.sign(payer, body);
    const calls = stand.upstream.requests.length;
    service.fail(fault, '/settle');
    const told = await shortOf(await stand.send(body, paid.header));
    expect(told).toMatchObject({ status: 503, code: 'payment_unsettled', quoted: false, retry: 'false' });
    expect(stand.upstream.requests.length).toBe(calls);
    expect(await debit()).toBe(BigInt(paid.payload.accepted.amount));
    // A request that names this wallet gets no new quote.
    const named = await shortOf(await stand.post(CHAT, body));
    expect([named.code, named.quoted]).toEqual(['payment_unsettled', false]);
    await expectKeysServed();
    await service.up();
    service.fail(null);
    const answer = await waitFor(async () => {
      const again = await stand.send(body, paid.header);
      return again.status === 200 ? again : null;
    }, 20_000);
    expect(await answer.text()).toContain('"choices"');
    expect(await debit()).toBe(BigInt(paid.payload.accepted.amount));
    expect(stand.upstream.requests.length).toBe(calls + 2);
  });
}

const BEFORE: readonly ServiceFault[] = ['status', 'hang', 'reset', 'garbage', 'wrong', 'busy', 'redirect'];
for (const fault of BEFORE) {
  test(`if a payment service fails before it answers (${fault}), the request gets a retryable 503, no money moves, and the signature stays valid`, async () => {
    const body = bodyOf(payer);
    const paid = await stand.sign(payer, body);
    service.fail(fault);
    const told = await shortOf(await stand.send(body, paid.header));
    expect(told).toMatchObject({ status: 503, code: 'payment_unavailable', quoted: false });
    expect(told.retry).not.toBe('false');
    await expectKeysServed();
    expect(await debit()).toBe(0n);
    service.fail(null);
    expect((await stand.send(body, paid.header)).status).toBe(200);
    // Only the service receives the token, not hosts to which it redirects.
    expect(service.requests.filter(({ path }) => path === '/elsewhere')).toEqual([]);
  });
}

test('a service with a closed port: 503, no row, the signature stays valid', async () => {
  const body = bodyOf(payer);
  const paid = await stand.sign(payer, body);
  await service.down();
  expect(await shortOf(await stand.send(body, paid.header))).toMatchObject({
    status: 503,
    code: 'payment_unavailable',
  });
  expect(stand.query('SELECT id FROM payments WHERE nonce = ?', paid.nonce)).toEqual([]);
  await expectKeysServed();
  await service.up();
  expect((await stand.send(body, paid.header)).status).toBe(200);
});

test('a service’s report of a failed payment does not override the chain', async () => {
  const body = bodyOf(payer);
  const paid = await stand.sign(payer, body);
  service.fail('resetAfter', '/settle');
  expect((await stand.send(body, paid.header)).status).toBe(503);
  service.fail(null);
  service.answer('/settle', {
    success: false,
    errorReason: 'insufficient_funds',
    transaction: '',
    network: 'eip155:84532',
  });
  service.answer('/verify', { isValid: false, invalidReason: 'insufficient_funds' });
  const answer = await waitFor(async () => {
    const again = await stand.send(body, paid.header);
    expect(again.status).not.toBe(402);
    return again.status === 200 ? again : null;
  }, 20_000);
  expect(answer.status).toBe(200);
  service.answer('/settle', undefined);
  service.answer('/verify', undefined);
  expect(await debit()).toBe(BigInt(paid.payload.accepted.amount));
});
