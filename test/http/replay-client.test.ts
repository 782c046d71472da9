import { afterEach, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { startBench } from '../support/dialect-bench.ts';
import { netCharge, newKey, USAGE } from './replay-support.ts';

/** Uses the official client like an application. */
const bench = startBench();
afterEach(() => bench.upstream.behave({}));

const clientWith = (options: { maxRetries: number; timeout?: number }) =>
  new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, ...options });
const messages = [{ role: 'user' as const, content: 'Say hello.' }];
const under = (key: string) => ({ headers: { 'Idempotency-Key': key } });

describe('the OpenAI client', () => {
  test('a client that times out and retries automatically gets the first answer, which is charged once', async () => {
    const client = clientWith({ maxRetries: 4, timeout: 400 });
    const key = newKey();
    const [calls, charge] = [bench.upstream.requests.length, netCharge(bench.box.data)];
    bench.upstream.next({ text: 'Slow.', ...USAGE, firstChunkAfterMs: 1_000 });
    const { data, response } = await client.chat.completions
      .create({ model: 'best', messages }, under(key))
      .withResponse();
    expect(data.choices[0]?.message.content).toBe('Slow.');
    expect(response.headers.get('x-signalbox-replayed')).toBe('true');
    expect(bench.upstream.requests.length - calls).toBe(1);
    expect(netCharge(bench.box.data) - charge).toBe(90_000);
  });

  test('a client that requests a stream twice gets the same chunks', async () => {
    const client = clientWith({ maxRetries: 0 });
    const key = newKey();
    bench.upstream.next({ text: ['Hel', 'lo'], ...USAGE });
    const chunks = async () => {
      const body = { model: 'best', messages, stream: true, stream_options: { include_usage: true } } as const;
      return Array.fromAsync(await client.chat.completions.create(body, under(key)));
    };
    const first = await chunks();
    expect(first.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello');
    expect(await chunks()).toEqual(first);
  });

  test('a client does not retry if that cannot help, because another body has the same Idempotency-Key', async () => {
    const client = clientWith({ maxRetries: 2 });
    const key = newKey();
    await client.chat.completions.create({ model: 'best', messages }, under(key));
    const calls = bench.upstream.requests.length;
    const error = await client.chat.completions.create({ model: 'best', messages, temperature: 0 }, under(key)).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof OpenAI.APIError)) throw new Error('the client threw no API error');
    expect([error.status, error.code, error.param]).toEqual([422, 'idempotency_key_reused', 'Idempotency-Key']);
    expect(bench.upstream.requests.length).toBe(calls);
  });
});
