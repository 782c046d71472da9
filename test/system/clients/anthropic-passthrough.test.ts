import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam } from '@anthropic-ai/sdk/resources';
import { platformOf, startBench } from '../../support/dialect-bench.ts';
import { foldedMessage } from '../../support/message-events.ts';

/** Signalbox passes requests in Anthropic's dialect to Anthropic models unchanged, and returns the answers unchanged. */
const bench = startBench('anthropic');
let client: Anthropic;
beforeAll(() => {
  client = new Anthropic({ apiKey: bench.box.key, baseURL: bench.box.url, maxRetries: 0 });
});
beforeEach(() => bench.upstream.behave({}));

const text = (words: string) => ({ type: 'text' as const, text: words });
const mark = { cache_control: { type: 'ephemeral' as const } };
const body = { model: 'best', max_tokens: 2_000, messages: [{ role: 'user' as const, content: 'Say hello.' }] };

/** A request with everything that a translation would change: order, marks, types of blocks, unknown members. */
const RICH = {
  ...body,
  system: [text('First.'), { ...text('Second.'), ...mark }],
  messages: [
    {
      role: 'user',
      content: [
        { ...text('Look:'), ...mark },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A page.' }, title: 'Page' },
      ],
    },
    {
      role: 'assistant',
      content: [text('I look.'), { type: 'tool_use', id: 'toolu_1', name: 'look', input: { b: 1, a: [2] }, ...mark }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: [text('It is dark.')] },
        text('And now?'),
      ],
    },
  ],
  tools: [{ name: 'look', input_schema: { type: 'object', properties: {} }, defer_loading: false, ...mark }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'adaptive', display: 'summarized' },
  output_config: { effort: 'low' },
  metadata: { user_id: 'u-1' },
  cache_control: null,
};

describe('a request', () => {
  test('a request reaches the model unchanged, except for the model name, the output cap and Signalbox’s own fields', async () => {
    const ours = { budget_limit: 100, constraints: { max_latency_ms: 100_000 }, route_strategy: { cost_weight: 1 } };
    const sent = { ...RICH, ...ours, metadata: { ...RICH.metadata, team: 'red' } };
    const answer = await bench.box.post('/v1/messages?beta=true', sent);
    expect([answer.status, await answer.clone().text()]).toEqual([200, expect.any(String)]);
    const { text: got } = bench.upstream.requests.at(-1)!;
    // Compare the text, because caches and signatures depend on the order of members.
    expect(got).toBe(JSON.stringify({ ...RICH, model: 'claude-haiku-5-5' }));
  });

  test('Signalbox forwards Anthropic’s headers and no other header of the caller', async () => {
    await bench.box.post('/v1/messages', body, {
      headers: {
        'anthropic-version': '2026-10-21',
        'anthropic-beta': 'one-2026-01-01,two',
        'anthropic-new': '1',
        'x-own': '1',
      },
    });
    const { headers } = bench.upstream.requests.at(-1)!;
    const passed = ['anthropic-version', 'anthropic-beta', 'anthropic-new', 'x-own'].map((name) => headers.get(name));
    expect(passed).toEqual(['2026-10-21', 'one-2026-01-01,two', '1', null]);
    expect([headers.get('authorization'), headers.get('x-api-key')]).toEqual([
      null,
      expect.stringMatching(/^upstream/),
    ]);
  });

  test('a request without an answer stores its prompt in the cache and is charged for it', async () => {
    const usage = {
      input_tokens: 12,
      cache_creation_input_tokens: 3_000,
      cache_read_input_tokens: 0,
      output_tokens: 0,
    };
    const answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'x',
      content: [],
      stop_sequence: null,
      usage,
    };
    bench.upstream.next({ raw: [JSON.stringify({ ...answer, stop_reason: 'max_tokens' })] });
    const message = await client.messages.create({ ...body, max_tokens: 0 });
    expect(message).toMatchObject({ content: [], stop_reason: 'max_tokens', usage });
    expect(platformOf(message)!.credits_consumed).toBeGreaterThan(0);
    expect(bench.upstream.requests.at(-1)!.body).toMatchObject({ max_tokens: 0 });
  });

  test('the answer reports that no field was dropped', async () => {
    const message = await client.messages.create({ ...body, thinking: { type: 'adaptive' } });
    expect(platformOf(message)!.dropped).toEqual([]);
  });
});

describe('a feature that Anthropic bills in addition to tokens', () => {
  const hour = { type: 'ephemeral', ttl: '1h' };
  const search = { type: 'web_search_20250305', name: 'web_search' };

  test('a billed feature passes if no fund applies, with the policy’s limit on the uses of a tool', async () => {
    const sent = { ...body, tools: [search], system: [{ ...text('Be brief.'), cache_control: hour }] };
    expect((await bench.box.post('/v1/messages', sent)).status).toBe(200);
    const got = bench.upstream.requests.at(-1)!.body as Record<string, unknown>;
    expect([got.tools, got.system]).toEqual([[{ ...search, max_uses: 5 }], sent.system]);
  });

  test.each<[string, object]>([
    ['tools', { tools: [search] }],
    ['tools[0]', { tools: [{ type: 'code_execution_20260521', name: 'run' }] }],
    ['container', { container: 'c' }],
    ['mcp_servers', { mcp_servers: [{ type: 'url' }] }],
    ['speed', { speed: 'fast' }],
  ])('is refused where a fund applies and the catalog has no price: %s', async (param, request) => {
    const answer = await bench.box.post('/v1/messages', { ...body, ...request, budget_limit: 100_000 });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { details: { error_code: 'unsupported_parameter', param } } },
    ]);
  });
});

describe('an answer', () => {
  test('an answer has the service’s own members, and `platform` with the price', async () => {
    bench.upstream.next({ text: 'Hello!', usage: { prompt_tokens: 20, completion_tokens: 3 } });
    const message = await client.messages.create(body);
    expect(message.id).toMatch(/^msg_fake/);
    expect(message).toMatchObject({
      model: 'claude-haiku-5-5',
      usage: { service_tier: 'standard', input_tokens: 20, output_tokens: 3 },
    });
    expect(platformOf(message)).toMatchObject({ routed_model: 'best', credits_consumed: 0.032 });
  });

  test('a streamed answer has the service’s own events, with the price at the end', async () => {
    const said = { reasoning: 'Hm.', text: ['Hel', 'lo!'], toolCalls: undefined };
    bench.upstream.next(said, said);
    const request = { ...body, thinking: { type: 'adaptive', display: 'summarized' } };
    const whole = await (await bench.box.post('/v1/messages', request)).json();
    const streamed = foldedMessage(await (await bench.box.post('/v1/messages', { ...request, stream: true })).text());
    const signature = expect.any(String);
    expect(streamed.content as unknown[]).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'text', text: 'Hello!' },
    ]);
    expect<unknown>(streamed.content.at(-1)).toEqual((whole as { content: unknown[] }).content.at(-1));
    expect(streamed.message.id).toStartWith('msg_fake');
    expect(streamed.platform).toMatchObject({ routed_model: 'best' });
  });

  test('a broken stream has no end event', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three '], cutAfter: 4 });
    const text = await (await bench.box.post('/v1/messages', { ...body, stream: true })).text();
    expect(text).toContain('event: error\n');
    expect(text).not.toMatch(/message_delta|message_stop/);
  });

  test('a repeated Idempotency-Key returns the same answer', async () => {
    for (const stream of [false, true]) {
      bench.upstream.next({ reasoning: 'Hm.', text: 'Once.' });
      const headers = { 'idempotency-key': `again-${stream}` };
      const first = await (await bench.box.post('/v1/messages', { ...body, stream }, { headers })).text();
      const again = await bench.box.post('/v1/messages', { ...body, stream }, { headers });
      expect([await again.text(), again.headers.get('x-signalbox-replayed')]).toEqual([first, 'true']);
    }
  });
});

describe('a refusal by the service', () => {
  test.each([400, 413, 422])('a refused request gets the service’s own error: %d', async (status) => {
    const error = { message: 'messages.1.content.0: Invalid `signature` in `thinking` block', extra: { a: 1 } };
    bench.upstream.next({ status, error });
    const answer = await bench.box.post('/v1/messages', body);
    expect([answer.status, await answer.json()]).toEqual([
      status,
      { type: 'error', error: { type: expect.any(String), ...error }, request_id: 'req_fake' },
    ]);
  });
});

describe('a conversation', () => {
  test('signed thoughts return bit for bit, in JSON and as a stream', async () => {
    bench.upstream.behave({ reasoning: 'Hm, héhé.', text: 'Hello!' });
    const thinking = { type: 'adaptive' as const, display: 'summarized' as const };
    const messages: MessageParam[] = [...body.messages];
    for (let step = 0; step < 4; step++) {
      const request = { ...body, messages, thinking };
      const { content } =
        step % 2 === 0 ? await client.messages.create(request) : await client.messages.stream(request).finalMessage();
      messages.push({ role: 'assistant', content }, { role: 'user', content: 'Go on.' });
    }
    expect(bench.upstream.requests.at(-1)!.text.split('"type":"thinking"')).toHaveLength(4);
  });

  test('a conversation that another service’s model began loses only its thoughts', async () => {
    const state = `signalbox-state-1.${btoa('{"extra":{"a":1}}')}`;
    const messages = [
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: state }, text('Hello.')] },
      { role: 'assistant', content: [{ type: 'redacted_thinking', data: state }] },
      { role: 'user', content: 'Go on.' },
    ];
    expect((await bench.box.post('/v1/messages', { ...body, messages })).status).toBe(200);
    const sent = bench.upstream.requests.at(-1)!.body as { messages: unknown };
    expect(sent.messages).toEqual([messages[0], { role: 'assistant', content: [text('Hello.')] }, messages[3]]);
  });
});

test('a selector drops fields that its choice does not support and names them; a request that names the model gets the service’s refusal', async () => {
  const request = { ...body, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
  const refused = await bench.box.post('/v1/messages', { ...request, model: 'vendor/plain' });
  expect(await refused.json()).toMatchObject({
    error: { message: 'This model does not support the effort parameter.' },
  });
  const chosen = await bench.box.post('/v1/messages', {
    ...{ ...request, model: 'auto', route_strategy: { cost_weight: 1, quality_weight: 0 } },
  });
  expect(await chosen.json()).toMatchObject({
    platform: { routed_model: 'vendor/plain', dropped: ['thinking', 'output_config.effort'] },
  });
});

// These tests are last, because they open the circuit breaker of the endpoint.
test.each(['server', 'auth'] as const)(
  'Signalbox reports a failure of the endpoint with its own error: %s',
  async (fail) => {
    bench.upstream.next({ fail });
    const answer = await bench.box.post('/v1/messages', body);
    const { error, request_id } = (await answer.json()) as { error: { message: string }; request_id: string };
    expect([answer.status, request_id]).toEqual([502, expect.stringMatching(/^req_[0-9a-z]{11}$/)]);
    expect(error.message).not.toContain('x-api-key');
  },
);
