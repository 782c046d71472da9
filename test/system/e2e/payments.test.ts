import { describe, expect, test } from 'bun:test';
import { decodePaymentResponseHeader } from '@x402/core/http';
import { getAddress, type Hex } from 'viem';
import { answerOf, eventsOf } from '../../support/answers.ts';
import { amountOf, FEE, MICROCREDITS_PER_UNIT, startPaid, usePaid } from '../support/paying.ts';

/**
 * Agents that pay over HTTP with the standard client on a real chain: quotes, payments and balances. payments-refused.test.ts has the
 * refusals, payments-callers.test.ts the rights of callers.
 */

const paid = usePaid();

/** 0.09 Credits. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const hello = [{ role: 'user', content: 'Say hello.' }];
const body = { model: 'best', messages: hello, max_tokens: 100 };

describe('a quote', () => {
  test('a quote is in x402’s header, and in the body with an error in OpenAI’s format', async () => {
    const { response, required } = await paid.quote(body);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(required).toMatchObject({
      x402Version: 2,
      resource: { url: `${paid.box.url}/v1/chat/completions` },
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          amount: expect.stringMatching(/^\d+$/),
          asset: getAddress(paid.chain.token),
          payTo: paid.chain.payTo,
          maxTimeoutSeconds: 180,
          extra: { name: 'USDC', version: '2', paymentFlow: 'upfront', request_hash: expect.any(String) },
        },
      ],
    });
    const told = (await response.json()) as Record<string, unknown>;
    expect(told).toMatchObject({
      x402Version: 2,
      resource: required.resource,
      accepts: required.accepts,
      error: { type: 'payment_required', code: 'payment_required', param: null },
    });
  });

  test('requesting a quote is free: nothing is stored, and no upstream is called', async () => {
    const before = paid.upstream.requests.length;
    const count = paid.payments();
    for (let i = 0; i < 5; i++) await paid.quote({ ...body, seed: i });
    expect(paid.payments()).toEqual(count);
    expect(paid.upstream.requests.length).toBe(before);
  });

  test('a quote covers the highest possible cost and the fee, and at most one US dollar', async () => {
    const { required } = await paid.quote(body);
    // 100 tokens of output at 0.004 Credits, and the bytes of the prompt.
    expect(amountOf(required)).toBeGreaterThanOrEqual(FEE + 400n);
    expect(amountOf(required)).toBeLessThan(FEE + 600n);
    const { required: large } = await paid.quote({ ...body, max_tokens: undefined });
    expect(amountOf(large)).toBeLessThanOrEqual(1_000_000n);
    const { required: limited } = await paid.quote({ ...body, budget_limit: 0.4 });
    expect(amountOf(limited)).toBeLessThanOrEqual(FEE + 400n);
  });

  test('/v1/route returns a quote with its advice', async () => {
    const response = await paid.box.post('/v1/route', { task_type: 'coding' });
    const { payment_quote, max_cost_credits } = (await response.json()) as {
      payment_quote: { max_credits: number; max_atomic: { amount_atomic: string }[] };
      max_cost_credits: number;
    };
    expect(payment_quote).toMatchObject({
      schemes: ['exact'],
      max_atomic: [{ network: 'eip155:84532', asset: expect.any(String) }],
    });
    expect(payment_quote.max_credits).toBeGreaterThanOrEqual(max_cost_credits);
    expect(Number(payment_quote.max_atomic[0]?.amount_atomic)).toBe(Math.ceil(payment_quote.max_credits * 1_000));
  });

  test('Signalbox makes no quote that standard clients refuse: a request above one dollar gets an error that says to request less', async () => {
    const dear = { ...body, n: 8, max_tokens: 8_192, messages: [{ role: 'user', content: 'x'.repeat(25_000) }] };
    const dearest = await startPaid({
      chain: paid.chain,
      upstream: paid.upstream,
      models: { best: { endpoints: ['fake'], price: { input: 60, output: 240 } } },
    });
    try {
      const response = await dearest.ask({ ...dear, n: 1 });
      expect(response.status).toBe(400);
      expect((await answerOf(response)).error).toMatchObject({ code: 'budget_limit_too_low', param: 'max_tokens' });
      expect(response.headers.get('payment-required')).toBeNull();
      // A smaller output limit keeps a request that fits below one dollar.
      const { required } = await dearest.quote({ ...body, max_tokens: 8_192 });
      expect(amountOf(required)).toBeLessThanOrEqual(1_000_000n);
    } finally {
      await dearest.stop();
    }
  });
});

describe('a paid request', () => {
  test('a paid request gets its answer, is charged what it used, and the rest becomes balance of the wallet', async () => {
    const payer = await paid.payer(50_000n);
    paid.upstream.next({ text: 'Hello!', usage: USAGE });
    const { required } = await paid.quote(body);
    const before = await paid.books();
    const response = await paid.pay(payer, body);
    expect(response.status).toBe(200);
    const { choices, platform } = await answerOf(response);
    const price = amountOf(required);
    const payment = platform.payment!;
    expect(choices[0]?.message.content).toBe('Hello!');
    expect(platform.credits_consumed).toBe(0.09);
    expect(payment).toMatchObject({
      id: response.headers.get('x-payment-id'),
      source: 'x402',
      payer: payer.address.toLowerCase(),
      state: 'captured',
      scheme: 'exact',
      network: 'eip155:84532',
      asset: getAddress(paid.chain.token),
      paid_atomic: String(price),
      paid_credits: Number(price) / 1_000,
      fee_credits: 1,
    });
    expect(payment.balance_added_credits).toBeCloseTo(Number(price) / 1_000 - 1 - 0.09, 6);

    expect(await paid.chain.balanceOf(payer.address)).toBe(50_000n - price);
    const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
    expect(receipt).toMatchObject({ success: true, transaction: payment.transaction, network: 'eip155:84532' });
    const mined = await paid.chain.client.getTransactionReceipt({ hash: receipt.transaction as Hex });
    expect(mined.status).toBe('success');

    expect(await paid.balanceOf(payer.address)).toBe(payment.balance_added_credits);
    const after = await paid.books();
    expect(after.received - before.received).toBe(price);
    expect(after.charged - before.charged).toBe(90_000);
    expect(after.fees - before.fees).toBe(1_000_000);
    expect(after.open).toBe(0);
  });

  test('only its payer can look a payment up', async () => {
    const payer = await paid.payer();
    const response = await paid.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' });
    expect(response.status).toBe(201);
    const { key } = (await response.json()) as { key: string };
    const answered = await paid.pay(payer, { ...body, agent_wallet: payer.address });
    const id = (await answerOf(answered)).platform.payment?.id;
    // The balance paid for this request, so only the top-up is a payment.
    expect(id).toBeNull();
    const topUp = response.headers.get('x-payment-id');
    const look = (secret: string) =>
      paid.box.get(`/v1/payments/${topUp}`, { headers: { authorization: `Bearer ${secret}` } });
    expect((await look(key)).status).toBe(200);
    expect(await (await look(paid.box.key)).json()).toMatchObject({
      object: 'payment',
      state: 'settled',
      purpose: 'topup',
      payer: payer.address.toLowerCase(),
      amount_atomic: '1000000',
      paid_credits: 1_000,
      fee_credits: 0,
    });
    const other = await paid.payer();
    const theirs = await paid.pay(other, { usd: 1 }, { path: '/v1/wallets/topup' });
    const { key: foreign } = (await theirs.json()) as { key: string };
    expect((await look(foreign)).status).toBe(404);
  });

  test('an address in any letter case is the same wallet', async () => {
    const payer = await paid.payer();
    for (const agent_wallet of [
      payer.address,
      payer.address.toLowerCase(),
      `0x${payer.address.slice(2).toUpperCase()}`,
    ]) {
      const { required } = await paid.quote({ ...body, agent_wallet });
      // The hash of a request ignores the letter case as well.
      const other = { ...body, agent_wallet: payer.address.toLowerCase() };
      const response = await paid.send(await paid.sign(payer, required), other);
      expect(response.status).toBe(200);
      expect((await answerOf(response)).platform.payment?.payer).toBe(payer.address.toLowerCase());
    }
    // The wallet has a single balance, which reduced each payment except the first.
    const { payments } = (await (await paid.box.get(`/admin/wallets/${payer.address}`)).json()) as {
      payments: { amount_atomic: string }[];
    };
    const [third, second, first] = payments.map(({ amount_atomic }) => Number(amount_atomic));
    expect(first).toBeGreaterThan(second!);
    expect(second).toBeGreaterThanOrEqual(third!);
  });

  test('the last chunk of a stream reports the payment as a JSON answer does', async () => {
    const inOne = await paid.payer();
    paid.upstream.next({ text: 'Hello!', usage: USAGE }, { text: 'Hello!', usage: USAGE });
    const { platform } = await answerOf(await paid.pay(inOne, body));
    const streaming = await paid.payer();
    const response = await paid.pay(streaming, { ...body, stream: true });
    expect(response.headers.get('content-type')).toStartWith('text/event-stream');
    const { chunks, done } = await eventsOf(response);
    expect(done).toBe(true);
    const told = chunks.filter((chunk) => chunk.platform);
    expect(told.length).toBe(1);
    expect(chunks.at(-1)).toBe(told[0]!);
    const streamed = told[0]!.platform;
    expect(response.headers.get('x-payment-id')).toBe(streamed.payment?.id ?? '');
    const own = { id: null, payer: null, transaction: null };
    expect({ ...streamed.payment, ...own }).toEqual({ ...platform.payment, ...own });
    expect(Object.keys(streamed).sort()).toEqual(Object.keys(platform).sort());
  });
});

describe('the balance of a wallet', () => {
  test('reduces its next quote, and is spent only once', async () => {
    const payer = await paid.payer();
    const named = { ...body, agent_wallet: payer.address };
    const first = await paid.quote(named);
    paid.upstream.next({ usage: USAGE });
    await paid.pay(payer, named);
    const balance = await paid.balanceOf(payer.address);
    expect(balance).toBeGreaterThan(0);
    const second = await paid.quote(named);
    const saved = Number(amountOf(first.required) - amountOf(second.required));
    expect(saved / 1_000).toBeCloseTo(balance, 2);
    // Two quotes include the same balance, so only one of them can be paid with it.
    const third = await paid.quote(named);
    paid.upstream.next({ usage: { prompt_tokens: 10, completion_tokens: 80, total_tokens: 90 } });
    expect((await paid.send(await paid.sign(payer, second.required), named)).status).toBe(200);
    const left = await paid.balanceOf(payer.address);
    expect(left).toBeLessThan(balance);
    const refused = await paid.send(await paid.sign(payer, third.required), named);
    expect(refused.status).toBe(402);
    const { error } = await answerOf(refused);
    expect(error.code).toBe('payment_invalid');
    expect(error.details.reason).toBe('balance_spent');
    expect(await paid.balanceOf(payer.address)).toBe(left);
  });

  test('pays for the whole request with a signature that moves no money', async () => {
    const payer = await paid.payer();
    await paid.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' });
    const before = await paid.chain.balanceOf(payer.address);
    const named = { ...body, agent_wallet: payer.address };
    const { required } = await paid.quote(named);
    expect(amountOf(required)).toBe(0n);
    paid.upstream.next({ usage: USAGE });
    const response = await paid.pay(payer, named);
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment).toMatchObject({
      id: null,
      source: 'wallet_credits',
      state: null,
      paid_credits: 0,
      fee_credits: 0,
      balance_added_credits: -0.09,
    });
    expect(await paid.chain.balanceOf(payer.address)).toBe(before);
    expect(await paid.balanceOf(payer.address)).toBe(999.91);
  });

  test('can be spent with a key of the wallet, without a signature', async () => {
    const payer = await paid.payer();
    const { key } = (await (await paid.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' })).json()) as {
      key: string;
    };
    const headers = { authorization: `Bearer ${key}` };
    paid.upstream.next({ usage: USAGE });
    const response = await paid.box.post('/v1/chat/completions', body, { headers });
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment).toMatchObject({
      source: 'wallet_credits',
      payer: payer.address.toLowerCase(),
    });
    const me = (await (await paid.box.get('/v1/wallets/me', { headers })).json()) as object;
    expect(me).toMatchObject({
      object: 'wallet',
      wallet: payer.address.toLowerCase(),
      balance_credits: 999.91,
      granted_credits: 1_000,
    });
  });

  test('that an operator made negative is paid with the next request', async () => {
    const payer = await paid.payer();
    const asked = { ...body, agent_wallet: payer.address };
    const before = amountOf((await paid.quote(asked)).required);
    await paid.box.post(`/admin/wallets/${payer.address}/credit`, { credits: -0.5, note: 'taken back' });
    const { required } = await paid.quote(asked);
    expect(amountOf(required)).toBe(before + 500n);
    expect((await paid.send(await paid.sign(payer, required), asked)).status).toBe(200);
    expect(await paid.balanceOf(payer.address)).toBeGreaterThanOrEqual(0);
  });

  test('that is too small gives the wallet’s key an error with a quote', async () => {
    const payer = await paid.payer();
    const { key } = (await (await paid.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' })).json()) as {
      key: string;
    };
    await paid.box.post(`/admin/wallets/${payer.address}/credit`, { credits: -999.9, note: 'sent back by hand' });
    const headers = { authorization: `Bearer ${key}` };
    const response = await paid.box.post('/v1/chat/completions', body, { headers });
    expect(response.status).toBe(402);
    const { error } = await answerOf(response);
    expect(error.code).toBe('insufficient_quota');
    expect(response.headers.get('payment-required')).not.toBeNull();
    // The payment is the whole price less the rest of the balance.
    paid.upstream.next({ usage: USAGE });
    const answered = await paid.pay(payer, body, { headers });
    expect(answered.status).toBe(200);
    expect((await answerOf(answered)).platform.payment?.source).toBe('x402');
  });
});

test('words in any script do not break the headers of a paid answer', async () => {
  const words = 'Größe 價格 🧾 \u0000\r\nx-evil: 1';
  const payer = await paid.payer();
  const said = {
    ...body,
    model: 'auto',
    user: words,
    metadata: { why: words },
    messages: [{ role: 'user', content: words }],
  };
  paid.upstream.next({ text: words, headers: { 'x-request-id': 'größe' } });
  const response = await paid.pay(payer, said);
  expect(response.status).toBe(200);
  const { choices, platform } = await answerOf(response);
  expect(choices[0]?.message.content).toBe(words);
  expect(platform.payment?.source).toBe('x402');
  for (const [, value] of response.headers) expect(value).toMatch(/^[\x20-\x7e]*$/);
});

test('after all paid requests, the books are consistent and agree with the chain', async () => {
  const books = await paid.books();
  expect(books.findings).toEqual([]);
  expect(books.open).toBe(0);
  expect(books.deposits).toBe(Number(books.received) * MICROCREDITS_PER_UNIT);
});
