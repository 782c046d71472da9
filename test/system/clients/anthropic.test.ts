import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';
import { asksForWeather, platformOf, startBench, UPSTREAM_DIALECTS } from '../../support/dialect-bench.ts';

/** The official, unmodified SDK, with upstream models of every dialect. */
describe.each(UPSTREAM_DIALECTS)('the Anthropic SDK, with a model of %s', (dialect) => {
  const bench = startBench(dialect);
  let client: Anthropic;
  beforeAll(() => {
    client = new Anthropic({ apiKey: bench.box.key, baseURL: bench.box.url, maxRetries: 0 });
  });
  beforeEach(() => bench.upstream.behave({}));

  const messages = [{ role: 'user' as const, content: 'Say hello.' }];
  const body = { model: 'best', max_tokens: 1_000, messages };

  test('the SDK receives a message with its usage and price', async () => {
    bench.upstream.next({
      text: 'Hello!',
      usage: { prompt_tokens: 20, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 8 } },
    });
    const message = await client.messages.create({ ...body, system: 'Be brief.', stop_sequences: ['x'] });
    expect(message).toMatchObject({
      id: expect.stringMatching(/^msg_\w+$/),
      type: 'message',
      role: 'assistant',
      content: expect.arrayContaining([{ type: 'text', text: 'Hello!' }]),
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 12, cache_read_input_tokens: 8, output_tokens: 3 },
    });
    expect(message._request_id).toMatch(/^req_/);
    expect(platformOf(message)).toMatchObject({ routed_model: 'best', credits_consumed: 0.032 });
    const { asked } = bench.upstream.requests.at(-1)!;
    expect(asked).toMatchObject({ system: 'Be brief.', turns: [{ role: 'user', text: 'Say hello.' }], stream: false });
  });

  test('the SDK assembles a stream to the same message', async () => {
    const said = { reasoning: 'Hm, well.', text: 'Hello, you!', usage: { prompt_tokens: 20, completion_tokens: 9 } };
    bench.upstream.next(said, said);
    const request = { ...body, thinking: { type: 'adaptive' as const, display: 'summarized' as const } };
    const whole = await client.messages.create(request);
    const stream = client.messages.stream(request);
    const texts: string[] = [];
    stream.on('text', (text) => texts.push(text));
    const final = await stream.finalMessage();
    expect(texts.join('')).toBe('Hello, you!');
    expect<unknown>(final.content).toEqual(whole.content);
    expect(final.content.slice(0, 2)).toMatchObject([
      { type: 'thinking', thinking: 'Hm, well.' },
      { type: 'text', text: 'Hello, you!' },
    ]);
    expect(final).toMatchObject({ stop_reason: 'end_turn', usage: { input_tokens: 20, output_tokens: 9 } });
  });

  test('the answer reports the tokens of hidden reasoning, in JSON and as a stream', async () => {
    const said = {
      text: 'Hello!',
      usage: { prompt_tokens: 20, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 4 } },
    };
    bench.upstream.next(said, said);
    const told = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
    expect((await client.messages.create(body)).usage).toMatchObject(told);
    expect((await client.messages.stream(body).finalMessage()).usage).toMatchObject(told);
  });

  test('the SDK’s tool runner completes in JSON and as a stream, even if it begins with a thread', async () => {
    bench.upstream.behave(asksForWeather);
    const weather = betaZodTool({
      name: 'weather',
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      run: ({ city }) => `20 °C (${city})`,
    });
    const asked = { ...body, messages: [{ role: 'user' as const, content: 'The weather?' }], tools: [weather] };
    const last = await client.beta.messages.toolRunner(asked);
    expect(last.content[0]).toMatchObject({ type: 'text', text: 'It is 20 °C (Bern) in Bern.' });
    const streams = client.beta.messages.toolRunner({ ...asked, stream: true });
    const reasons: unknown[] = [];
    for await (const stream of streams) reasons.push((await stream.finalMessage()).stop_reason);
    expect(reasons).toEqual(['tool_use', 'end_turn']);
    const { turns } = bench.upstream.requests.at(-1)!.asked;
    expect(turns[1]).toMatchObject({ calls: [{ name: 'weather', input: { city: 'Bern' } }] });
    expect(turns[2]).toMatchObject({ results: [{ name: 'weather', text: '20 °C (Bern)' }] });
  });
});
