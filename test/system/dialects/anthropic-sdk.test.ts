import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { z } from 'zod';
import { event } from '../../support/dialects/anthropic.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';

const upstream = startFakeUpstream({ dialect: 'anthropic', key: 'sk-ant-right' });
afterAll(() => upstream.stop());
afterEach(() => upstream.behave({}));

const baseURL = upstream.root;
const client = new Anthropic({ apiKey: 'sk-ant-right', baseURL, maxRetries: 0 });
const hello = { role: 'user' as const, content: 'Hello' };
const ask = { model: 'claude-sonnet-4-6', max_tokens: 2000, messages: [hello] };
const weather = {
  name: 'weather',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 25 },
  completion_tokens_details: { reasoning_tokens: 12 },
};

const rejection = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error);

describe('the official Anthropic client understands the fake upstream', () => {
  test('in JSON, with its request ID', async () => {
    upstream.next({ text: 'Hello you', usage: USAGE });
    const message = await client.messages.create(ask);
    expect<unknown>(message.content).toEqual([{ type: 'text', text: 'Hello you' }]);
    expect(message).toMatchObject({ role: 'assistant', model: ask.model, stop_reason: 'end_turn', stop_details: null });
    expect(message._request_id).toBe('req_fake');
  });

  test('with token counts, none of which includes another', async () => {
    upstream.behave({ text: 'Hello you', usage: USAGE });
    const json = await client.messages.create(ask);
    const stream = await client.messages.stream(ask).finalMessage();
    for (const { usage } of [json, stream]) {
      expect(usage).toMatchObject({
        input_tokens: 35,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 25,
        output_tokens: 30,
        output_tokens_details: { thinking_tokens: 12 },
      });
    }
  });

  test('as an ordered stream of events, with a hidden ping', async () => {
    upstream.next({ text: ['Hel', 'lo'] });
    const types = (await Array.fromAsync(await client.messages.create({ ...ask, stream: true }))).map(
      ({ type }) => type,
    );
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('through its accumulating helper, which ends in the same message as JSON', async () => {
    upstream.behave({ reasoning: 'I think so.', text: 'Hello you', finish: 'length', usage: USAGE });
    const thinking = { type: 'adaptive' as const };
    const { id: _, ...json } = await client.messages.create({ ...ask, thinking });
    const { id: __, ...streamed } = await client.messages.stream({ ...ask, thinking }).finalMessage();
    expect(JSON.parse(JSON.stringify(streamed))).toEqual({ ...json, parsed_output: null });
  });

  test('with a tool call and its result', async () => {
    upstream.next({ toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}' }] }, { text: 'It is sunny in Bern.' });
    const first = await client.messages.stream({ ...ask, tools: [weather] }).finalMessage();
    const [call] = first.content;
    expect(first.stop_reason).toBe('tool_use');
    expect(call).toMatchObject({ type: 'tool_use', name: 'weather', input: { city: 'Bern' } });
    const tool_use_id = call?.type === 'tool_use' ? call.id : '';
    const result = {
      role: 'user' as const,
      content: [{ type: 'tool_result' as const, tool_use_id, content: 'sunny' }],
    };
    const messages = [hello, { role: 'assistant' as const, content: first.content }, result];
    const second = await client.messages.create({ ...ask, tools: [weather], messages });
    expect(second.content[0]).toMatchObject({ text: 'It is sunny in Bern.' });
    expect(upstream.requests.at(-1)?.asked.turns).toMatchObject([
      { role: 'user', text: 'Hello' },
      { role: 'assistant', calls: [{ name: 'weather', input: { city: 'Bern' } }] },
      { role: 'user', results: [{ name: 'weather', text: 'sunny' }] },
    ]);
  });

  test('with two parallel calls', async () => {
    const toolCalls = ['Bern', 'Oslo'].map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));
    upstream.next({ toolCalls });
    const { content } = await client.messages.stream({ ...ask, tools: [weather] }).finalMessage();
    expect(content).toMatchObject([{ input: { city: 'Bern' } }, { input: { city: 'Oslo' } }]);
  });

  for (const model of ['claude-opus-4-5', 'claude-sonnet-4-6', 'claude-opus-5-5']) {
    test(`with the thinking of ${model}, accepted back only unchanged`, async () => {
      const thinking =
        model === 'claude-opus-4-5'
          ? { type: 'enabled' as const, budget_tokens: 1024 }
          : { type: 'adaptive' as const, display: 'summarized' as const };
      const asked = { ...ask, model, thinking, tools: [weather] };
      upstream.next({ reasoning: 'Where is Bern?', toolCalls: [{ name: 'weather', arguments: '{}', id: 'toolu_1' }] });
      const { content } = await client.messages.stream(asked).finalMessage();
      expect(content[0]).toMatchObject({ type: 'thinking', thinking: 'Where is Bern?' });
      const result = [{ type: 'tool_result' as const, tool_use_id: 'toolu_1', content: 'sunny' }];
      const goOn = (first: object) =>
        client.messages.create({
          ...asked,
          messages: [
            hello,
            { role: 'assistant', content: [{ ...content[0]!, ...first }, ...content.slice(1)] as typeof content },
            { role: 'user', content: result },
          ],
        });
      expect(await goOn({})).toMatchObject({ stop_reason: 'end_turn' });
      for (const change of [{ thinking: 'Where is Oslo?' }, { signature: 'AAAA' }]) {
        expect(await rejection(goOn(change))).toMatchObject({
          status: 400,
          apiMessage: 'messages.1.content.0: Invalid `signature` in `thinking` block',
        });
      }
    });
  }

  test('with thinking that is signed but hidden', async () => {
    upstream.behave({ reasoning: 'Hm.', text: 'Yes.' });
    const { content } = await client.messages.create({ ...ask, model: 'claude-opus-5-5' });
    expect(content[0]).toMatchObject({ type: 'thinking', thinking: '' });
    expect(content[0]).toHaveProperty('signature');
  });

  test('with a refusal', async () => {
    upstream.next({ refusal: 'I may not.' });
    expect(await client.messages.stream(ask).finalMessage()).toMatchObject({
      content: [],
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', explanation: 'I may not.' },
    });
  });

  test('with a schema for the answer', async () => {
    upstream.next({ text: '{"city":"Bern"}' });
    const format = zodOutputFormat(z.object({ city: z.string() }));
    const message = await client.messages.parse({ ...ask, output_config: { format } });
    expect(message.parsed_output).toEqual({ city: 'Bern' });
    expect(upstream.requests.at(-1)?.asked.schema).toMatchObject({ type: 'object' });
  });
});

describe('failures are those of the API', () => {
  const cases = [
    ['auth', Anthropic.AuthenticationError, 'authentication_error'],
    ['rejected', Anthropic.BadRequestError, 'invalid_request_error'],
    ['not_found', Anthropic.NotFoundError, 'not_found_error'],
    ['rate_limited', Anthropic.RateLimitError, 'rate_limit_error'],
    ['overloaded', Anthropic.InternalServerError, 'overloaded_error'],
    ['server', Anthropic.InternalServerError, 'api_error'],
    ['timeout', Anthropic.InternalServerError, 'timeout_error'],
  ] as const;
  for (const [fail, Class, type] of cases) {
    test(`${fail} raises ${type}`, async () => {
      upstream.next({ fail });
      const error = await rejection(client.messages.create(ask));
      expect(error).toBeInstanceOf(Class);
      expect(error).toMatchObject({ type, requestID: 'req_fake' });
    });
  }

  test('a status has the type that goes with it', async () => {
    upstream.next({ status: 413 });
    expect(await rejection(client.messages.create(ask))).toMatchObject({ status: 413, type: 'request_too_large' });
  });

  test('a wrong key is refused', async () => {
    const stranger = new Anthropic({ apiKey: 'sk-ant-wrong', baseURL, maxRetries: 0 });
    expect(await rejection(stranger.messages.create(ask))).toBeInstanceOf(Anthropic.AuthenticationError);
  });

  test('an overloaded API is retried, and then answers', async () => {
    upstream.next({ fail: 'overloaded' }, { text: 'Here again.' });
    const { content } = await client.messages.create(ask, { maxRetries: 1 });
    expect(content[0]).toMatchObject({ text: 'Here again.' });
  });

  test('an error within a stream is raised at its position', async () => {
    const fields = { type: 'overloaded_error', message: 'Overloaded' };
    upstream.next({ raw: [event({ type: 'error', error: fields, request_id: 'req_fake' })] });
    const stream = await client.messages.create({ ...ask, stream: true });
    expect(await rejection(Array.fromAsync(stream))).toMatchObject({ type: 'overloaded_error' });
  });
});
