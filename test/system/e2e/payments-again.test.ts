import { expect, test } from 'bun:test';
import { answerOf, waitFor } from '../../support/answers.ts';
import { amountOf, requiredOf, usePaid } from '../support/paying.ts';

/** A signature whose money has come before is sent again, and its request cannot be carried out just then. */

// The payment equals the price, so that one request holds the whole balance.
const x402 = '    quote: { min_charge_usd: 0, settle_fee_usd: 0 }\n';
const paid = usePaid({ policy: 'ledger: { contention_wait_ms: 0 }\n', x402 });

const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };

test('an SDK does not repeat a request after its payment arrived, because the repeat would have no signature and pay again', async () => {
  const payer = await paid.payer();
  const header = await paid.sign(payer, (await paid.quote(body)).required);
  paid.upstream.behave({ status: 500, error: 'down' });
  const failed = await paid.send(header, body);
  expect([failed.status, failed.headers.get('x-should-retry')]).toEqual([502, 'false']);
  const id = failed.headers.get('x-payment-id');
  await waitFor(() => paid.payments().settled === 1);

  // Another request of the wallet holds the whole balance.
  paid.upstream.behave({ hang: 'headers' });
  const other = { ...body, stream: true, agent_wallet: payer.address };
  const calls = paid.upstream.requests.length;
  const leave = new AbortController();
  const held = paid.pay(payer, other, { signal: leave.signal }).catch(() => null);
  await waitFor(() => paid.upstream.requests.length > calls);

  const again = await paid.send(header, body);
  const { error } = await answerOf(again);
  expect(error.code).toBe('budget_contended');
  expect(again.headers.get('x-should-retry')).toBe('false');
  expect(error.details).toMatchObject({ payment_id: id });

  leave.abort();
  await held;
});

test('if a wallet disconnects while its payment settles, a repeat of the request gets no second payment request', async () => {
  const payer = await paid.payer();
  const asked = { ...body, agent_wallet: payer.address };
  const header = await paid.sign(payer, (await paid.quote(asked)).required);
  await paid.chain.automine(false);
  const leave = new AbortController();
  const left = paid.send(header, asked, { signal: leave.signal }).catch(() => null);
  await waitFor(async () => (await paid.chain.client.getTxpoolStatus()).pending > 0);
  // While the payment settles, the server cannot know whether the repeat means a second request.
  expect((await paid.ask(asked)).status).toBe(402);
  leave.abort();
  await left;
  const repeated = await waitFor(async () => {
    const response = await paid.ask(asked);
    return response.status === 503 ? response : null;
  });
  expect((await answerOf(repeated)).error.code).toBe('payment_unsettled');
  await paid.chain.automine(true);
  await paid.chain.mine();
  // At this point the payment is balance, and pays for the request.
  const quoted = await waitFor(async () => {
    const response = await paid.ask(asked);
    return response.status === 402 ? response : null;
  });
  expect(amountOf(requiredOf(quoted))).toBe(0n);
});

test('if a wallet disconnects during the settlement of a top-up, the top-up is settled once, even if the wallet signs again', async () => {
  const payer = await paid.payer();
  const topUp = { path: '/v1/wallets/topup' };
  const asked = { usd: 1 };
  const [first, second] = [
    await paid.sign(payer, (await paid.quote(asked, topUp)).required),
    await paid.sign(payer, (await paid.quote(asked, topUp)).required),
  ];
  await paid.chain.automine(false);
  const leave = new AbortController();
  const left = paid.send(first, asked, { ...topUp, signal: leave.signal }).catch(() => null);
  await waitFor(async () => (await paid.chain.client.getTxpoolStatus()).pending > 0);
  leave.abort();
  await left;
  // Wait until the server notices the disconnect, which nothing shows while the payment settles.
  await Bun.sleep(2_000);
  const again = await paid.send(second, asked, topUp);
  expect((await answerOf(again)).error?.code).toBe('payment_unsettled');
  await paid.chain.automine(true);
  await paid.chain.mine();
  await waitFor(() => (paid.payments().settling ?? 0) === 0);
  // The request that was sent first has its answer.
  await waitFor(async () => (await paid.send(first, asked, topUp)).status === 201);
  expect(await paid.balanceOf(payer.address)).toBe(1_000);
});

for (const stream of [false, true]) {
  test(`an answer that is too large to store is returned once, not three times for the same price, stream: ${stream}`, async () => {
    const payer = await paid.payer();
    expect((await paid.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' })).status).toBe(201);
    paid.upstream.behave({ text: Array.from({ length: 20 }, () => 'x '.repeat(40_000)) });
    const asked = { ...body, stream, agent_wallet: payer.address };
    const header = await paid.sign(payer, (await paid.quote(asked)).required);
    const calls = paid.upstream.requests.length;
    const first = await paid.send(header, asked);
    expect(first.status).toBe(200);
    expect((await first.text()).length).toBeGreaterThan(1_500_000);
    const balance = await paid.balanceOf(payer.address);
    const again = await paid.send(header, asked);
    expect((await answerOf(again)).error.code).toBe('idempotency_answer_unavailable');
    expect([paid.upstream.requests.length - calls, await paid.balanceOf(payer.address)]).toEqual([1, balance]);
    paid.upstream.behave({});
  });
}

test('a top-up that is far too large gets an error that says so', async () => {
  const response = await paid.ask({ usd: 1e10 }, { path: '/v1/wallets/topup' });
  expect((await answerOf(response)).error).toMatchObject({
    code: 'out_of_range',
    message: '`usd` must be a number above 0 and at most 1000000000.',
  });
});
