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

  test('with every failure as the API words it', async () => {
    const codes = {
      auth: [401, 'invalid_api_key'],
      billing: [429, 'insufficient_quota'],
      context: [400, 'context_length_exceeded'],
      not_found: [404, 'model_not_found'],
      rate_limited: [429, 'rate_limit_exceeded'],
      overloaded: [503, null],
      server: [500, null],
    } as const;
    for (const [fail, [status, code]] of Object.entries(codes)) {
      upstream.next({ fail: fail as keyof typeof codes });
      const error = await client()
        .chat.completions.create({ model: 'm', messages })
        .catch((error: unknown) => error);
      expect(error).toMatchObject({ status, code });
    }
  });

  test('and it sees when a client hangs up', async () => {
    upstream.behave({ text: ['a', 'b', 'c'], hang: 2 });
    const stream = await client().chat.completions.create({ model: 'm', messages, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    for (let i = 0; i < 100 && upstream.aborted === 0; i++) await Bun.sleep(5);
    expect(upstream.aborted).toBe(1);
  });
});

describe('in every dialect', () => {
  const asked = {
    openai: ['/chat/completions', { model: 'm', messages, stream: true }],
    anthropic: ['/messages', { model: 'm', max_tokens: 100, messages, stream: true }],
    gemini: ['/models/m:streamGenerateContent?alt=sse', { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }],
  } as const;
  const headers = { authorization: 'Bearer k', 'x-goog-api-key': 'k', 'anthropic-version': '2023-06-01' };
  for (const dialect of ['openai', 'anthropic', 'gemini'] as const) {
    test(`a stream of ${dialect}'s can wait, end early and break`, async () => {
      const other = startFakeUpstream({ dialect, key: 'k' });
      const [path, body] = asked[dialect];
      const ask = async () => {
        const response = await fetch(other.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
        return [response.headers.get('content-type'), await response.text().catch(() => 'broken')] as const;
      };
      try {
        other.next({ text: ['Hel', 'lo'] }, { text: ['Hel', 'lo'], done: false }, { text: ['a', 'b'], cutAfter: 1 });
        const [[type, whole], [, open], [, broken]] = [await ask(), await ask(), await ask()];
        expect(type).toStartWith('text/event-stream');
        expect(whole).toContain('Hel');
        expect(/\[DONE\]|message_stop/.test(whole)).toBe(dialect !== 'gemini');
        expect(open).not.toMatch(/\[DONE\]|message_stop/);
        expect(broken).toBe('broken');
        const start = performance.now();
        other.next({ headersAfterMs: 30, firstChunkAfterMs: 30 });
        await ask();
        expect(performance.now() - start).toBeGreaterThanOrEqual(55);
      } finally {
        await other.stop();
      }
    });
  }
});
