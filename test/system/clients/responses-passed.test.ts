import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { isObject, type Json, listOf } from '../../../plugins/providers/json.ts';
import { told } from '../../support/dialects/openai-responses.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { checkResponse, checkStream } from '../../support/open-responses/schemas.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';

/** Signalbox passes Responses requests to OpenAI's own service unchanged, and returns its answers. */
let upstream: FakeUpstream;
let box: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream();
  const policy = testPolicy(
    {
      own: { url: upstream.url, adapter: 'openai' },
      spare: { url: upstream.url, adapter: 'openai' },
      chat: upstream.url,
    },
    {
      thinker: { endpoints: ['own'] },
      plain: { endpoints: ['own'] },
      failing: { endpoints: ['spare'] },
      other: { endpoints: ['chat'] },
    },
  );
  const [first = '', ...rest] = policy.split('[tools, json_schema]');
  box = await startSignalbox({
    policy: `${first}[tools, json_schema, reasoning]${rest.join('[tools, json_schema]')}`
      .replace('thinker-upstream', 'gpt-6-luna')
      .replace('plain-upstream', 'gpt-4.1'),
    env: UPSTREAM_ENV,
  });
});
afterAll(async () => {
  await box.stop();
  await upstream.stop();
});
afterEach(() => upstream.behave({}));

const post = (body: object, headers = {}) => box.post('/v1/responses', { model: 'thinker', ...body }, { headers });
const sent = (): Json => upstream.requests.at(-1)!.body as Json;

const words = fc.string({ maxLength: 12, unit: 'binary' }).filter((text) => text.isWellFormed());
const name = fc.constantFrom('look', 'walk', 'patch');
const parts = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('input_text'), text: words }),
    fc.record({ type: fc.constant('input_text'), text: words, prompt_cache_breakpoint: fc.constant({ a: 1 }) }),
  ),
  { minLength: 1, maxLength: 3 },
);
const pair = (id: string) =>
  fc.oneof(
    fc.tuple(name, words, fc.oneof(words, parts)).map(([tool, text, output]) => [
      { type: 'function_call', call_id: id, name: tool, arguments: text },
      { type: 'function_call_output', call_id: id, output },
    ]),
    fc.tuple(words, words).map(([input, output]) => [
      { type: 'custom_tool_call', call_id: id, name: 'patch', input },
      { type: 'custom_tool_call_output', call_id: id, output },
    ]),
    fc.tuple(words, words).map(([text, output]) => [
      { type: 'local_shell_call', id, call_id: id, action: { type: 'exec', command: [text] }, status: 'completed' },
      { type: 'local_shell_call_output', id, output },
    ]),
    fc
      .tuple(
        fc.constantFrom('user', 'developer', 'system'),
        fc.oneof(
          words,
          parts.filter((all) => all.length < 3),
        ),
      )
      .map(([role, content]) => [{ role, content }]),
    words.map((text) => [
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text, annotations: [] }],
        phase: 'commentary',
      },
    ]),
  );
const input = fc
  .tuple(pair('call_1'), pair('call_2'), pair('call_3'))
  .map((all) => [...all.flat(), { role: 'user', content: 'Go on.' }]);
const tools = fc.subarray([
  { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false, defer_loading: true },
  { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
  { type: 'namespace', name: 'crm', description: 'Customers.', tools: [{ type: 'function', name: 'list' }] },
  { type: 'local_shell' },
]);
const request = fc.record(
  {
    input: fc.oneof(
      words.filter((text) => text !== ''),
      input,
    ),
    instructions: words,
    tools,
    metadata: fc.constant({ team: 'a' }),
    prompt_cache_key: fc.constant('k'),
    text: fc.constantFrom({ verbosity: 'low' }, { format: { type: 'text' } }),
    reasoning: fc.constantFrom({ effort: 'high', summary: 'auto' }, { effort: 'low', context: 'all' }),
    truncation: fc.constantFrom('auto', 'disabled'),
    parallel_tool_calls: fc.boolean(),
    safety_identifier: fc.constant('user-1'),
  },
  { requiredKeys: ['input'] },
);

describe('a request', () => {
  test('a request reaches the service unchanged, except for changes that routing, money and the missing store need', async () => {
    const law = fc.asyncProperty(request, fc.boolean(), async (body, stream) => {
      const response = await post({ ...body, stream, budget_limit: 50, constraints: { max_cost_credits: 50 } });
      expect([response.status, response.status === 200 ? '' : await response.text()]).toEqual([200, '']);
      await response.text().catch(() => '');
      const { model, max_output_tokens, store, include, stream: streamed, service_tier: tier, ...rest } = sent();
      expect({ model, store, include, streamed, tier }).toEqual({
        model: 'gpt-6-luna',
        store: false,
        include: ['reasoning.encrypted_content'],
        streamed: stream ? true : undefined,
        tier: 'default',
      });
      expect(max_output_tokens).toBe(1_024);
      // Compare the texts, to include the order.
      for (const [field, value] of Object.entries(body))
        expect(JSON.stringify(rest[field])).toBe(JSON.stringify(value));
      expect(Object.keys(rest).sort()).toEqual(Object.keys(body).sort());
    });
    await fc.assert(law, { numRuns: 60 });
  });

  test('a request to a model that does not reason loses `reasoning` and encrypted content, and the answer says so', async () => {
    const answer = (await (
      await post({ model: 'plain', input: 'Hi', reasoning: { effort: 'low' }, temperature: 0.5 })
    ).json()) as Json;
    expect(sent()).toEqual({ input: 'Hi', model: 'gpt-4.1', temperature: 0.5, max_output_tokens: 1_024, store: false });
    expect(Object(answer.platform).dropped).toEqual(['reasoning']);
  });

  test('a request with tools that only OpenAI has finds no other model', async () => {
    const body = { model: 'other', input: 'Hi', tools: [{ type: 'local_shell' }] };
    const refused = await post(body);
    expect(refused.status).toBe(400);
    expect(Object(await refused.json()).error).toMatchObject({
      message: expect.stringContaining('`other` cannot be given the tool `tools[0]` (`local_shell`)'),
      param: 'tools[0].type',
    });
    expect((await post({ ...body, model: 'auto' })).headers.get('x-signalbox-model')).not.toBe('other');
  });

  test('Signalbox refuses a request with a billed feature without a price if a fund applies', async () => {
    for (const [field, body] of [
      ['tools[0]', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
      ['tools[0]', { tools: [{ type: 'nobody_knows_yet' }] }],
      ['service_tier', { service_tier: 'priority' }],
      ['context_management', { context_management: [{ type: 'compaction' }] }],
      ['prompt_cache_options', { prompt_cache_options: { ttl: '24h' } }],
    ] as const) {
      const { length } = upstream.requests;
      const refused = await post({ input: 'Hi', budget_limit: 5_000, ...body });
      const { error } = (await refused.json()) as Json;
      expect([refused.status, Object(error).code, Object(error).param]).toEqual([400, 'unsupported_parameter', field]);
      expect(upstream.requests.length).toBe(length);
    }
  });

  test('a request to another model drops fields that only OpenAI knows, and the answer names them', async () => {
    const body = { model: 'other', input: 'Hi', service_tier: 'priority', truncation: 'auto', nope: 1 };
    const answer = (await (await post(body)).json()) as Json;
    expect([...Object(answer.platform).dropped].sort()).toEqual(['nope', 'service_tier', 'truncation']);
  });

  test('a request that the service refuses gets the service’s error and status', async () => {
    const error = {
      message: "Unknown parameter: 'nope'.",
      type: 'invalid_request_error',
      param: 'nope',
      code: 'unknown_parameter',
    };
    for (const stream of [false, true]) {
      const refused = await post({ input: 'Hi', nope: 1, stream });
      expect([refused.status, await refused.json()]).toEqual([400, { error }]);
    }
    upstream.next({ status: 413, error: { message: 'Too large.', code: 'too_large' } });
    const large = await post({ input: 'Hi' });
    expect([large.status, Object((await large.json()) as Json).error.message]).toEqual([413, 'Too large.']);
  });

  test('a request that fails at the service for another reason gets our error', async () => {
    for (const [fail, status, code] of [
      ['server', 502, 'upstream_failed'],
      ['auth', 502, 'upstream_failed'],
    ] as const) {
      upstream.next({ fail });
      const failed = await post({ model: 'failing', input: 'Hi' });
      const { error } = (await failed.json()) as Json;
      expect([failed.status, Object(error).code]).toEqual([status, code]);
    }
  });
});

const RESPONSE = {
  id: 'resp_up',
  object: 'response',
  created_at: 1,
  model: 'gpt-6-luna',
  status: 'in_progress',
  output: [],
  secret_member: { a: [1] },
};
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA+/=é' };
const MESSAGE = {
  type: 'message',
  id: 'msg_1',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello', annotations: [], odd: true }],
};
const USAGE = {
  input_tokens: 5,
  output_tokens: 2,
  total_tokens: 7,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};
const END = { ...RESPONSE, status: 'completed', output: [REASONING, MESSAGE], usage: USAGE };
const EVENTS = [
  { type: 'response.created', response: RESPONSE },
  { type: 'response.output_item.added', output_index: 0, item: { ...REASONING, encrypted_content: 'g' } },
  { type: 'response.output_item.done', output_index: 0, item: REASONING },
  { type: 'response.unheard_of', output_index: 0, thing: [1, { b: null }] },
  { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE, content: [] } },
  {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 1,
    content_index: 0,
    delta: 'Hel',
    obfuscation: 'xyz',
  },
  {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 1,
    content_index: 0,
    delta: 'lo',
    logprobs: [],
  },
  { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
  { type: 'response.completed', response: END },
].map((event, sequence_number) => ({ ...event, sequence_number }));

const eventsIn = (text: string): Json[] =>
  text
    .split('\n\n')
    .flatMap((frame) => (frame.includes('data: ') ? [JSON.parse(frame.slice(frame.indexOf('data: ') + 6))] : []));

describe('an answer', () => {
  test('a stream has the service’s own events, with `platform` in the last one, however its bytes are split', async () => {
    const bytes = new TextEncoder().encode(EVENTS.map(told).join(''));
    const splits = fc.array(fc.nat(bytes.length), { maxLength: 12 });
    const law = fc.asyncProperty(splits, async (cuts) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      upstream.next({ raw: at.slice(1).map((end, i) => bytes.slice(at[i], end)), form: 'sse' });
      const events = eventsIn(await (await post({ input: 'Hi', stream: true })).text());
      const { platform, ...response } = Object(events.at(-1)!.response);
      expect(platform).toMatchObject({ routed_model: 'thinker', estimated: false, credits_consumed: 0.013 });
      expect(JSON.stringify([...events.slice(0, -1), { ...events.at(-1), response }])).toBe(JSON.stringify(EVENTS));
    });
    await fc.assert(law, { numRuns: 40 });
  });

  test.each([
    [{ cached_tokens: 4 }, { cached_tokens: 4, cache_write_tokens: 0 }],
    [undefined, { cached_tokens: 0, cache_write_tokens: 0 }],
  ])('an answer of a service that does not count cache writes reports 0 of them: %j', async (details, expected) => {
    const usage = { ...END.usage, input_tokens_details: details };
    upstream.next({ raw: [JSON.stringify({ ...END, usage })], form: 'json' });
    const body = (await (await post({ input: 'Hi' })).json()) as Json;
    expect(Object(body.usage).input_tokens_details).toEqual(expected);
  });

  test('a JSON answer is the service’s own body with `platform`', async () => {
    upstream.next({ raw: [JSON.stringify(END)], form: 'json' });
    const { platform, ...body } = (await (await post({ input: 'Hi' })).json()) as Json;
    expect(JSON.stringify(body)).toBe(JSON.stringify(END));
    expect(platform).toMatchObject({ routed_model: 'thinker', credits_consumed: 0.013 });
  });

  test('a repeated Idempotency-Key returns the same text', async () => {
    for (const stream of [true, false]) {
      const key = { 'idempotency-key': crypto.randomUUID() };
      const first = await (await post({ input: 'Hi', stream }, key)).text();
      const again = await post({ input: 'Hi', stream }, key);
      expect([await again.text(), again.headers.get('x-signalbox-replayed')]).toEqual([first, 'true']);
    }
  });

  test('an answer with a custom tool is unchanged, and is a call in chat completions', async () => {
    const custom = [{ type: 'custom', name: 'patch' }];
    upstream.behave({ toolCalls: [{ name: 'patch', arguments: '{"input":"a \\"b\\"\\n"}', id: 'call_1' }] });
    const events = checkStream(await (await post({ input: 'Hi', tools: custom, stream: true })).text());
    const [item] = listOf(Object(events.at(-1)!.response).output).filter(
      (one) => isObject(one) && one.type !== 'reasoning',
    );
    expect(item).toMatchObject({ type: 'custom_tool_call', name: 'patch', input: 'a "b"\n' });
    for (const stream of [false, true]) {
      const body = { model: 'thinker', input: 'Hi', tools: custom, stream };
      const text = await (await box.post('/v1/chat/completions', body)).text();
      const pieces = [...text.matchAll(/"arguments":"((?:[^"\\]|\\.)*)"/g)].map(([, piece]) =>
        JSON.parse(`"${piece}"`),
      );
      expect(JSON.parse(pieces.join(''))).toEqual({ input: 'a "b"\n' });
    }
  });

  test('an answer that the service breaks off ends as failed, with its complete items', async () => {
    upstream.next({ raw: [EVENTS.slice(0, 6).map(told).join('')], form: 'sse' });
    const events = eventsIn(await (await post({ input: 'Hi', stream: true })).text());
    expect(events.map(({ type }) => type)).not.toContain('response.completed');
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { id: 'resp_up', status: 'failed', output: [REASONING] },
    });
  });

  test('an answer conforms to the schemas', async () => {
    upstream.behave({ text: 'Hello', reasoning: 'Hm.' });
    const asked = { input: 'Hi', reasoning: { summary: 'auto' } };
    checkResponse(await (await post(asked)).json());
    checkStream(await (await post({ ...asked, stream: true })).text());
  });
});
