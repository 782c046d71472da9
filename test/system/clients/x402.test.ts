import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { generateText, streamText } from 'ai';
import OpenAI from 'openai';
import type { PrivateKeyAccount } from 'viem/accounts';
import { answerOf, eventsOf } from '../../support/answers.ts';
import { platformOf } from '../../support/dialect-bench.ts';
import { MICROCREDITS_PER_UNIT, payingFetch, startPaid, stockClient, usePaid } from '../support/paying.ts';
import { rejection } from './openai-rejection.ts';

/** The unmodified clients with which agents pay. The clients' settings are the defaults, except for the asset of the test chain. */
let payer: PrivateKeyAccount;

const paid = usePaid();
beforeAll(async () => {
  payer = await paid.payer();
});
afterEach(async () => {
  paid.upstream.behave({});
  payer = await paid.payer();
});

const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const body = { model: 'best', messages, max_tokens: 100 };
const spent = async () => 10_000_000n - (await paid.chain.balanceOf(payer.address));

describe('@x402/fetch', () => {
  const post = (asked: object): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(asked),
  });

  test('@x402/fetch pays for a JSON answer and for a stream', async () => {
    const pay = wrapFetchWithPayment(fetch, stockClient(payer, paid.chain.token));
    paid.upstream.behave({ text: 'Hello!' });
    const response = await pay(`${paid.box.url}/v1/chat/completions`, post(body));
    expect(response.status).toBe(200);
    expect((await answerOf(response)).choices[0]?.message.content).toBe('Hello!');
    const first = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
    expect(first.success).toBe(true);
    expect(await spent()).toBe(BigInt(first.amount ?? 0));

    const streamed = await pay(`${paid.box.url}/v1/chat/completions`, post({ ...body, stream: true }));
    const { chunks, done } = await eventsOf(streamed);
    expect(done).toBe(true);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello!');
    expect(chunks.at(-1)?.platform.payment?.source).toBe('x402');
  });

  test('@x402/fetch refuses to pay in an unknown asset', async () => {
    const client = new x402Client().register('eip155:84532', new ExactEvmScheme(payer));
    const pay = wrapFetchWithPayment(fetch, client);
    await expect(pay(`${paid.box.url}/v1/chat/completions`, post(body))).rejects.toThrow();
    expect(await spent()).toBe(0n);
  });

  test('@x402/fetch pays every default quote, because no quote exceeds one dollar', async () => {
    const { chain, upstream } = paid;
    const models = { best: { endpoints: ['fake'], price: { input: 10, output: 40 } } };
    const asked = { ...body, max_tokens: 8_192 };
    const aDollar = { network: 'eip155:84532', asset: chain.token, maxAmountPerPayment: '1000000' } as const;
    const client = new x402Client()
      .register('eip155:84532', new ExactEvmScheme(payer))
      .setSpendControls({ allowedAssets: [aDollar] });
    const pay = wrapFetchWithPayment(fetch, client);
    const byDefault = await startPaid({ chain, upstream, models });
    const generous = await startPaid({
      chain,
      upstream,
      models: { best: { endpoints: ['fake'], price: { input: 60, output: 400 } } },
      x402: '    quote: { max_usd: 5 }\n',
    });
    try {
      expect((await pay(`${byDefault.box.url}/v1/chat/completions`, post(asked))).status).toBe(200);
      const before = await spent();
      await expect(pay(`${generous.box.url}/v1/chat/completions`, post(asked))).rejects.toThrow();
      expect(await spent()).toBe(before);
    } finally {
      await byDefault.stop();
      await generous.stop();
    }
  });
});

describe('the OpenAI SDK with a fetch that pays', () => {
  /** A wallet has no key, and Signalbox would refuse the header of an invalid key. */
  const clientOf = (account: PrivateKeyAccount) =>
    new OpenAI({
      apiKey: 'none',
      baseURL: `${paid.box.url}/v1`,
      fetch: payingFetch(account, paid.chain),
      defaultHeaders: { authorization: null },
    });

  test('the SDK receives a completion and the amount that was paid', async () => {
    paid.upstream.behave({ text: 'Hello!' });
    const { data, response } = await clientOf(payer).chat.completions.create(body).withResponse();
    expect(data.choices[0]?.message.content).toBe('Hello!');
    expect(platformOf(data)?.payment).toMatchObject({ source: 'x402', payer: payer.address.toLowerCase() });
    expect(response.headers.get('x-payment-id')).toBe(platformOf(data)?.payment?.id ?? '');
  });

  test('gives a stream', async () => {
    paid.upstream.behave({ text: ['Hello', ' there'] });
    const stream = await clientOf(payer).chat.completions.create({ ...body, stream: true });
    let text = '';
    let payment: object | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      payment = platformOf(chunk)?.payment ?? payment;
    }
    expect(text).toBe('Hello there');
    expect(payment).toMatchObject({ source: 'x402', state: 'captured' });
  });

  test('the SDK does not sign a second payment when the provider fails', async () => {
    paid.upstream.behave({ status: 500, error: 'down' });
    const calls = paid.upstream.requests.length;
    const before = Object.values(paid.payments()).reduce((sum, count) => sum + count, 0);
    expect(await rejection(clientOf(payer).chat.completions.create(body))).toMatchObject({ status: 502 });
    expect(paid.upstream.requests.length).toBe(calls + 1);
    expect(Object.values(paid.payments()).reduce((sum, count) => sum + count, 0)).toBe(before + 1);
  });
});

describe('the AI SDK with a fetch that pays', () => {
  const providerOf = (account: PrivateKeyAccount) =>
    createOpenAICompatible({
      name: 'signalbox',
      baseURL: `${paid.box.url}/v1`,
      fetch: payingFetch(account, paid.chain),
    });

  test('gives text', async () => {
    paid.upstream.behave({ text: 'Hello!' });
    const { text } = await generateText({
      model: providerOf(payer)('best'),
      prompt: 'Say hello.',
      maxOutputTokens: 100,
    });
    expect(text).toBe('Hello!');
    expect(await spent()).toBeGreaterThan(0n);
  });

  test('gives a stream', async () => {
    paid.upstream.behave({ text: ['Hello', ' there'] });
    const { textStream } = streamText({
      model: providerOf(payer)('best'),
      prompt: 'Say hello.',
      maxOutputTokens: 100,
    });
    let text = '';
    for await (const piece of textStream) text += piece;
    expect(text).toBe('Hello there');
    expect(await spent()).toBeGreaterThan(0n);
  });
});

test('after all payments of x402 clients, the books are consistent', async () => {
  const { findings, open, deposits, received } = await paid.books();
  expect(findings).toEqual([]);
  expect(open).toBe(0);
  // Another server of these tests was paid on the same chain.
  expect(deposits).toBeLessThanOrEqual(Number(received) * MICROCREDITS_PER_UNIT);
});
