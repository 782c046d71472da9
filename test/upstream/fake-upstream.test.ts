import { afterAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { startFakeUpstream } from '../support/fake-upstream.ts';

const upstream = startFakeUpstream({ key: 'sk-right' });
afterAll(() => upstream.stop());
const client = (apiKey = 'sk-right') => new OpenAI({ apiKey, baseURL: upstream.url, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'Hi' }];

describe('the official OpenAI client understands the fake upstream', () => {
  test('in JSON', async () => {
    upstream.next({ text: 'Hello' });
    const reply = await client().chat.completions.create({ model: 'm', messages });
    expect(reply.choices[0]?.message.content).toBe('Hello');
    expect(reply.usage?.total_tokens).toBeGreaterThan(0);
  });

  test('as a stream with usage, through its own accumulating helper', async () => {
    upstream.next({ text: 'Hello you' });
    const stream = client().chat.completions.stream({ model: 'm', messages, stream_options: { include_usage: true } });
    expect(await stream.finalContent()).toBe('Hello you');
    expect((await stream.totalUsage()).completion_tokens).toBeGreaterThan(0);
  });

  test('with a tool call in pieces', async () => {
    upstream.next({ toolCalls: [{ name: 'f', arguments: '{"city":"Oslo"}' }] });
    const final = await client().chat.completions.stream({ model: 'm', messages }).finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { arguments: '{"city":"Oslo"}' } });
  });

  test('with errors, and a wrong key refused', async () => {
    upstream.next({ status: 429, error: { code: 'rate_limit_exceeded' } });
    const limited = await client()
      .chat.completions.create({ model: 'm', messages })
      .catch((error: unknown) => error);
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    const refused = await client('sk-wrong')
      .chat.completions.create({ model: 'm', messages })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test('and it sees when a client hangs up', async () => {
    upstream.behave({ text: ['a', 'b', 'c'], hang: 2 });
    const stream = await client().chat.completions.create({ model: 'm', messages, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    for (let i = 0; i < 100 && upstream.aborted === 0; i++) await Bun.sleep(5);
    expect(upstream.aborted).toBe(1);
  });
});
