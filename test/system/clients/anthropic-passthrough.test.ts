import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import type { MessageParam } from '@anthropic-ai/sdk/resources';
import { platformOf, startBench } from '../../support/dialect-bench.ts';
import { foldedMessage } from '../../support/message-events.ts';

/** A request in Anthropic's dialect for a model of Anthropic's goes out as it came, and so does its answer. */
const bench = startBench('anthropic');
let client: Anthropic;
beforeAll(() => {
  client = new Anthropic({ apiKey: bench.box.key, baseURL: bench.box.url, maxRetries: 0 });
});
beforeEach(() => bench.upstream.behave({}));

const text = (words: string) => ({ type: 'text' as const, text: words });
const mark = { cache_control: { type: 'ephemeral' as const } };
const body = { model: 'best', max_tokens: 2_000, messages: [{ role: 'user' as const, content: 'Say hello.' }] };

/** Everything that a translation would change: order, marks, types of blocks, unknown members. */
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
  test('reaches the model as it was sent, but for the model, the cap and what is ours', async () => {
    const ours = { budget_limit: 100, constraints: { max_latency_ms: 100_000 }, route_strategy: { cost_weight: 1 } };
    const sent = { ...RICH, ...ours, metadata: { ...RICH.metadata, team: 'red' } };
    const answer = await bench.box.post('/v1/messages?beta=true', sent);
    expect([answer.status, await answer.clone().text()]).toEqual([200, expect.any(String)]);
    const { text: got } = bench.upstream.requests.at(-1)!;
    // As text: the order of members counts for caches and signatures.
    expect(got).toBe(JSON.stringify({ ...RICH, model: 'claude-haiku-5-5' }));
  });

  test('takes its headers along, and nothing else of its caller', async () => {
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

  test('for no answer has its prompt cached, and is charged for that', async () => {
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

  test('drops nothing, and says so', async () => {
    const message = await client.messages.create({ ...body, thinking: { type: 'adaptive' } });
    expect(platformOf(message)!.dropped).toEqual([]);
  });
});

describe('what Anthropic bills beside tokens', () => {
  const hour = { type: 'ephemeral', ttl: '1h' };
  const search = { type: 'web_search_20250305', name: 'web_search' };

  test('passes where no fund applies, with the policy’s limit on the uses of a tool', async () => {
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
  test('comes out as its service sent it, with the price beside it', async () => {
    bench.upstream.next({ text: 'Hello!', usage: { prompt_tokens: 20, completion_tokens: 3 } });
    const message = await client.messages.create(body);
    expect(message.id).toMatch(/^msg_fake/);
    expect(message).toMatchObject({
      model: 'claude-haiku-5-5',
      usage: { service_tier: 'standard', input_tokens: 20, output_tokens: 3 },
    });
    expect(platformOf(message)).toMatchObject({ routed_model: 'best', credits_consumed: 0.032 });
  });

  test('as a stream is the same events, with the price at the end', async () => {
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

  test('that breaks off has no end', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three '], cutAfter: 4 });
    const text = await (await bench.box.post('/v1/messages', { ...body, stream: true })).text();
    expect(text).toContain('event: error\n');
    expect(text).not.toMatch(/message_delta|message_stop/);
  });

  test('is repeated as it was by an Idempotency-Key', async () => {
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
  test.each([400, 413, 422])('of the request comes out unchanged: %d', async (status) => {
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
  test('gives signed thoughts back bit for bit, whole and streamed', async () => {
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

  test('that another service’s model began loses its thoughts, and nothing else', async () => {
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

test('what a selector’s choice does not take is fitted, and named; who names the model gets its refusal', async () => {
  const request = { ...body, thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
  const refused = await bench.box.post('/v1/messages', { ...request, model: 'vendor/plain' });
  expect(await refused.json()).toMatchObject({
    error: { message: 'This model does not support the effort parameter.' },
  });
  const chosen = await bench.box.post('/v1/messages', { ...request, model: 'auto-cheap' });
  expect(await chosen.json()).toMatchObject({
    platform: { routed_model: 'vendor/plain', dropped: ['thinking', 'output_config.effort'] },
  });
});

// The last tests: the endpoint is shut afterwards.
test.each(['server', 'auth'] as const)('a failure of the endpoint is told in our words: %s', async (fail) => {
  bench.upstream.next({ fail });
  const answer = await bench.box.post('/v1/messages', body);
  const { error, request_id } = (await answer.json()) as { error: { message: string }; request_id: string };
  expect([answer.status, request_id]).toEqual([502, expect.stringMatching(/^req_[0-9a-z]{11}$/)]);
  expect(error.message).not.toContain('x-api-key');
});
