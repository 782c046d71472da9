import { expect, test } from 'bun:test';
import { answerOf, waitFor } from '../../support/answers.ts';
import { amountOf, requiredOf, usePaid } from '../support/paying.ts';

/** A signature whose money has come before is sent again, and its request cannot be carried out just then. */

// What is paid is the price, so that the balance is held by one request.
const x402 = '    quote: { min_charge_usd: 0, settle_fee_usd: 0 }\n';
const paid = usePaid({ policy: 'ledger: { contention_wait_ms: 0 }\n', x402 });

const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };

test('an SDK does not repeat it by itself: it would come without the signature, and pay again', async () => {
  const payer = await paid.payer();
  const header = await paid.sign(payer, (await paid.quote(body)).required);
  paid.upstream.behave({ status: 500, error: 'down' });
  const failed = await paid.send(header, body);
  expect([failed.status, failed.headers.get('x-should-retry')]).toEqual([502, 'false']);
  const id = failed.headers.get('x-payment-id');
  await waitFor(() => paid.payments().settled === 1);

  // All of the balance is held by another request of the wallet.
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

test('a wallet that disconnects while its payment settles is asked for no second one, whoever repeats the request', async () => {
  const payer = await paid.payer();
  const asked = { ...body, agent_wallet: payer.address };
  const header = await paid.sign(payer, (await paid.quote(asked)).required);
  await paid.chain.automine(false);
  const leave = new AbortController();
  const left = paid.send(header, asked, { signal: leave.signal }).catch(() => null);
  await waitFor(async () => (await paid.chain.client.getTxpoolStatus()).pending > 0);
  // Whoever still waits may mean both.
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
  // What was paid is balance by then, and pays for it.
  const quoted = await waitFor(async () => {
    const response = await paid.ask(asked);
    return response.status === 402 ? response : null;
  });
  expect(amountOf(requiredOf(quoted))).toBe(0n);
});

test('a top-up that its wallet has left while it was settled is settled once, though it is signed again', async () => {
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
  // Until the server has heard of it, which nothing shows while the payment is settled.
  await Bun.sleep(2_000);
  const again = await paid.send(second, asked, topUp);
  expect((await answerOf(again)).error?.code).toBe('payment_unsettled');
  await paid.chain.automine(true);
  await paid.chain.mine();
  await waitFor(() => (paid.payments().settling ?? 0) === 0);
  // What was sent first has its answer.
  await waitFor(async () => (await paid.send(first, asked, topUp)).status === 201);
  expect(await paid.balanceOf(payer.address)).toBe(1_000);
});

for (const stream of [false, true]) {
  test(`an answer that is too large to be kept is had once, and not three times for the price of one, stream: ${stream}`, async () => {
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

test('a top-up that is far too large is refused with a sentence that says so', async () => {
  const response = await paid.ask({ usd: 1e10 }, { path: '/v1/wallets/topup' });
  expect((await answerOf(response)).error).toMatchObject({
    code: 'out_of_range',
    message: '`usd` must be a number above 0 and at most 1000000000.',
  });
});
