import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { told } from '../../support/dialects/openai-responses.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';

const upstream = startFakeUpstream({ key: 'sk-right' });
afterAll(() => upstream.stop());
afterEach(() => upstream.behave({}));

const client = new OpenAI({ apiKey: 'sk-right', baseURL: upstream.url, maxRetries: 0 });
const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: false,
};
const ask = {
  model: 'gpt-6-luna',
  input: 'Hello',
  store: false,
  reasoning: { effort: 'high' as const, summary: 'auto' as const },
  include: ['reasoning.encrypted_content' as const],
};
const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 30,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 25 },
  completion_tokens_details: { reasoning_tokens: 12 },
};
const rejection = (promise: Promise<unknown>) => promise.then(() => null).catch((error: unknown) => error);

describe('the official OpenAI client understands the Responses of the fake upstream', () => {
  test('in JSON, with its request ID', async () => {
    upstream.next({ text: 'Hello you' });
    const response = await client.responses.create(ask);
    expect(response).toMatchObject({ object: 'response', status: 'completed', output_text: 'Hello you', error: null });
    expect(response._request_id).toBe('req_fake');
  });

  test('with token counts, each included in its sum', async () => {
    upstream.behave({ text: 'Hello you', usage: USAGE });
    const json = await client.responses.create(ask);
    const stream = await client.responses.stream(ask).finalResponse();
    for (const { usage } of [json, stream]) {
      expect(usage).toEqual({
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 40, cache_write_tokens: 25 },
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 12 },
        total_tokens: 130,
      });
    }
  });

  test('as an ordered stream of events, without an end mark', async () => {
    upstream.next({ text: ['Hel', 'lo'] });
    const events = await Array.fromAsync(await client.responses.create({ ...ask, stream: true }));
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
  });

  test('with parallel calls, and thoughts before each', async () => {
    const toolCalls = ['Bern', 'Oslo'].map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));
    upstream.behave({ toolCalls, reasoning: 'Bern first.\n\nOslo then.' });
    const asked = { ...ask, tools: [weather] };
    for (const { output } of [
      await client.responses.create(asked),
      await client.responses.stream(asked).finalResponse(),
    ]) {
      expect(output).toMatchObject([
        { type: 'reasoning', summary: [{ text: 'Bern first.' }] },
        { type: 'function_call', name: 'weather', arguments: '{"city":"Bern"}' },
        { type: 'reasoning', summary: [{ text: 'Oslo then.' }] },
        { type: 'function_call', name: 'weather', arguments: '{"city":"Oslo"}' },
      ]);
    }
  });

  test('with thoughts sent back unchanged, in their positions', async () => {
    upstream.next({ reasoning: 'Where?', toolCalls: [{ name: 'weather', arguments: '{}', id: 'call_1' }] });
    const { output } = await client.responses.create({ ...ask, tools: [weather] });
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'sunny' };
    const goOn = (...items: readonly object[]) =>
      client.responses.create({ ...ask, tools: [weather], input: items as ResponseInputItem[] });
    const [thought, call] = output;
    upstream.behave({ text: 'It is sunny.' });
    expect(await goOn(thought!, call!, result)).toMatchObject({ output_text: 'It is sunny.' });
    const { id: _, ...nameless } = Object(thought);
    expect(await goOn(nameless, call!, result)).toMatchObject({ status: 'completed' });
    const verified = /could not be verified/;
    expect(await rejection(goOn({ ...thought, encrypted_content: 'gAAA' }, call!, result))).toMatchObject({
      status: 400,
      code: 'invalid_encrypted_content',
      message: expect.stringMatching(verified),
    });
    for (const change of [{ summary: [] }, { id: 'rs_other' }]) {
      const error = await rejection(goOn({ ...thought, ...change }, call!, result));
      expect(error).toMatchObject({ message: expect.stringMatching(verified) });
    }
    for (const items of [
      [call!, thought!, result],
      [call!, result, thought!],
    ]) {
      const error = await rejection(goOn(...items));
      expect(error).toMatchObject({ message: expect.stringMatching(/without its required following item/) });
    }
  });

  test('without a summary unless requested', async () => {
    upstream.next({ reasoning: 'Hm.', text: 'Yes.' });
    const { output } = await client.responses.create({ ...ask, reasoning: { effort: 'low' } });
    expect(output[0]).toMatchObject({ type: 'reasoning', summary: [], encrypted_content: expect.any(String) });
  });

  test('with a refusal', async () => {
    upstream.behave({ refusal: 'I may not.' });
    for (const response of [await client.responses.create(ask), await client.responses.stream(ask).finalResponse()]) {
      expect(response).toMatchObject({
        status: 'completed',
        output: [{ content: [{ type: 'refusal', refusal: 'I may not.' }] }],
      });
    }
  });

  test.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('where the answer ends for %s', async (finish, reason) => {
    upstream.next({ finish });
    expect(await client.responses.stream(ask).finalResponse()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
    });
  });

  test('with a schema for the answer', async () => {
    upstream.next({ text: '{"city":"Bern"}' });
    const format = zodTextFormat(z.object({ city: z.string() }), 'place');
    const response = await client.responses.parse({ ...ask, text: { format } });
    expect(response.output_parsed).toEqual({ city: 'Bern' });
    expect(upstream.requests.at(-1)?.asked.schema).toMatchObject({ type: 'object' });
  });

  test('and the fake understands the client', async () => {
    await client.responses.create({
      model: 'gpt-6-luna',
      max_output_tokens: 500,
      instructions: 'Be kind.',
      input: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Where?' },
            { type: 'input_image', image_url: 'data:x', detail: 'auto' },
          ],
        },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Bern"}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'sunny' }] },
        { role: 'assistant', content: 'It is sunny.' },
      ],
      tools: [weather],
      tool_choice: { type: 'function', name: 'weather' },
    });
    expect(upstream.requests.at(-1)?.asked).toEqual({
      model: 'gpt-6-luna',
      stream: false,
      system: 'Be kind.\nBe brief.',
      turns: [
        { role: 'user', text: 'Where?', media: ['data:x'], calls: [], results: [] },
        { role: 'assistant', text: '', media: [], calls: [{ name: 'weather', input: { city: 'Bern' } }], results: [] },
        { role: 'user', text: '', media: [], calls: [], results: [{ name: 'weather', text: 'sunny' }] },
        { role: 'assistant', text: 'It is sunny.', media: [], calls: [], results: [] },
      ],
      tools: ['weather'],
      toolChoice: ['weather'],
      maxTokens: 500,
      schema: null,
    });
  });
});

describe('failures are those of the API', () => {
  test.each([
    ['auth', OpenAI.AuthenticationError],
    ['rejected', OpenAI.BadRequestError],
    ['not_found', OpenAI.NotFoundError],
    ['rate_limited', OpenAI.RateLimitError],
    ['server', OpenAI.InternalServerError],
  ] as const)('%s raises an error of its class', async (fail, Class) => {
    upstream.next({ fail });
    expect(await rejection(client.responses.create(ask))).toBeInstanceOf(Class);
  });

  test('a wrong key is refused', async () => {
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL: upstream.url, maxRetries: 0 });
    expect(await rejection(stranger.responses.create(ask))).toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test('an error within a stream is raised at its position', async () => {
    const fields = { code: 'server_error', message: 'Gone.', param: null, sequence_number: 0 };
    upstream.next({ raw: [told({ type: 'error', ...fields })] });
    const stream = await client.responses.create({ ...ask, stream: true });
    expect(await rejection(Array.fromAsync(stream))).toMatchObject({ code: 'server_error', message: 'Gone.' });
  });
});
