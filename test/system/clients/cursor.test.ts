import { beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources';
import { asksForWeather, platformOf, startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';

/** Cursor sends Responses bodies to the path of chat completions for some models. */
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const BODY = {
  model: 'auto',
  input: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'input_text', text: 'What is the weather in Bern?' }] },
  ],
  tools: [{ type: 'function', name: 'weather', description: 'The weather.', parameters }],
  tool_choice: 'auto',
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
};

describe.each(UPSTREAM_DIALECTS)('%s', (dialect) => {
  const bench = startBench(dialect);
  let client: OpenAI;
  beforeAll(() => {
    client = new OpenAI({ apiKey: bench.box.key, baseURL: bench.baseURL, maxRetries: 0 });
  });

  const create = (more: object) =>
    client.chat.completions.create({ ...BODY, ...more } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming);

  test('Signalbox answers such bodies as chat completions, with tools and their results', async () => {
    bench.upstream.behave(asksForWeather);
    const { choices, object } = await create({});
    expect([object, choices[0]!.finish_reason]).toEqual(['chat.completion', 'tool_calls']);
    const [call] = choices[0]!.message.tool_calls!;
    expect(call).toMatchObject({ type: 'function', function: { name: 'weather', arguments: '{"city":"Bern"}' } });
    const input = [
      ...BODY.input,
      { type: 'function_call', call_id: call!.id, name: 'weather', arguments: '{"city":"Bern"}' },
      { type: 'function_call_output', call_id: call!.id, output: '20 °C' },
    ];
    const answered = await create({ input });
    expect(answered.choices[0]!.message.content).toBe('It is 20 °C in Bern.');
    expect(bench.upstream.requests.at(-1)!.asked.system).toBe('Be brief.');
  });

  test('Signalbox streams answers of such bodies as chunks, with usage on request', async () => {
    bench.upstream.behave({ text: ['Hel', 'lo'] });
    const body = { ...BODY, stream: true, stream_options: { include_usage: true } };
    const stream = await client.chat.completions.create(body as unknown as ChatCompletionCreateParamsStreaming);
    const chunks = await Array.fromAsync(stream);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello');
    expect(chunks.at(-1)!.usage!.completion_tokens).toBeGreaterThan(0);
    expect(platformOf(chunks.at(-2))).toMatchObject({ credits_consumed: expect.any(Number) });
  });
});
