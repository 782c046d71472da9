import { afterAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { answerOf, eventsOf } from '../support/answers.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * Other parts of an answer that is cut at a stop sequence. `plain` accepts no stop sequences, `taking` does; `auto` may choose only
 * `claude`.
 */
const upstream = useUpstream();
const claude = startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY });
afterAll(() => claude.stop());
const box = useSignalbox(() => {
  const capabilities = ['tools', 'json_schema', 'choices', 'logprobs'];
  const policy = testPolicy(
    { up: upstream.url, claude: { url: claude.url, adapter: 'anthropic' } },
    {
      plain: { endpoints: ['up'], capabilities, more: '    lacks: [stop]\n', quality: 0.1 },
      taking: { endpoints: ['up'], capabilities, quality: 0.1 },
      'claude-sim': { endpoints: ['claude'], capabilities: ['tools', 'json_schema', 'reasoning'] },
    },
  );
  return {
    policy: policy.replace(/( {2}up: .*)passthrough: \[verbosity\]/, '$1cache_ttl_s: 60, cache_min_tokens: 500'),
  };
});

const messages = [{ role: 'user' as const, content: 'Count to nine.' }];
const asked = { messages, max_tokens: 1_000 };
const openai = () => new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
const chat = async (body: object) => answerOf(await box.post('/v1/chat/completions', { ...asked, ...body }));

/** An event of a stream of OpenAI. */
function chunk(index: number, delta: object, finish: string | null = null, tokens: readonly string[] = []): string {
  const content = tokens.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] }));
  const choice = { index, delta, logprobs: tokens.length > 0 ? { content } : null, finish_reason: finish };
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] })}\n\n`;
}

test('Signalbox cuts each choice of an answer separately, and a choice without a stop sequence continues to its end', async () => {
  const raw = [
    chunk(0, { content: 'one E' }),
    chunk(1, { content: 'two E' }),
    chunk(0, { content: 'ND more' }),
    chunk(1, { content: 'N' }),
    chunk(0, { content: ' more' }),
    chunk(1, { content: 'E three' }),
    chunk(0, {}, 'length'),
    chunk(1, {}, 'length'),
  ];
  upstream.next({ form: 'sse', raw });
  const stream = openai().chat.completions.stream({ ...asked, model: 'plain', n: 2, stop: 'END' });
  const { choices } = await stream.finalChatCompletion();
  expect(choices.map(({ message, finish_reason }) => [message.content, finish_reason])).toEqual([
    ['one ', 'stop'],
    ['two ENE three', 'length'],
  ]);
});

test('the probabilities of tokens end with the text', async () => {
  const pieces = ['one', ' two', ' E', 'ND', ' more'];
  const raw = [...pieces.map((content) => chunk(0, { content }, null, [content])), chunk(0, {}, 'stop')];
  upstream.next({ form: 'sse', raw });
  const body = { ...asked, model: 'plain', stop: ['END'], logprobs: true, stream: true };
  const { chunks } = await eventsOf(await box.post('/v1/chat/completions', body));
  const choices: unknown[] = chunks.flatMap((one) => one.choices);
  const tokens = choices.flatMap((choice) => Object(choice).logprobs?.content ?? []);
  expect(tokens.map(({ token }: { token: string }) => token)).toEqual(['one', ' two']);
});

test('stop sequences are not searched in the arguments of tools, or across a tool call', async () => {
  const tools = [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }];
  const calls = [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"x":"END"}' } }];
  const deltas = [{ content: 'I call. E' }, { tool_calls: calls }, { content: 'ND' }];
  upstream.next({ form: 'sse', raw: [...deltas.map((delta) => chunk(0, delta)), chunk(0, {}, 'tool_calls')] });
  const stream = openai().chat.completions.stream({ ...asked, model: 'plain', stop: 'END', tools });
  const { choices } = await stream.finalChatCompletion();
  expect(choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: 'I call. END', tool_calls: [{ function: { name: 'f', arguments: '{"x":"END"}' } }] },
  });
});

test.each([true, false])('a stop sequence cuts structured output like other text (stream: %p)', async (stream) => {
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } };
  upstream.next({ text: ['{"a":', '1}', '\n\n', 'more'] });
  const body = { ...asked, model: 'plain', stop: ['\n\n'], response_format: schema, stream };
  const response = await box.post('/v1/chat/completions', body);
  const found = stream ? (await eventsOf(response)).chunks : [await answerOf(response)];
  const text = found.flatMap((one) => one.choices).map((one) => (one.delta ?? one.message).content ?? '');
  expect(text.join('')).toBe('{"a":1}');
});

test('Signalbox omits an empty stop sequence and still sends the other stop sequences to a provider that accepts them', async () => {
  upstream.next({ text: 'one two' });
  const answer = await chat({ model: 'taking', stop: ['', 'END'] });
  expect(upstream.requests.at(-1)!.body).toMatchObject({ stop: ['END'] });
  expect(answer.platform.dropped).toEqual([]);
  for (const [model, stop] of [
    ['taking', ''],
    ['plain', ['']],
  ] as const) {
    upstream.next({ text: 'one two' });
    const { choices } = await chat({ model, stop });
    expect(choices[0]?.message.content).toBe('one two');
    expect(upstream.requests.at(-1)!.text).not.toContain('"stop"');
  }
});

describe('the turn after a cut answer', () => {
  type Message = Record<string, unknown>;

  /** Returns the message as a careful client assembles it. */
  async function answered(body: object, isStream: boolean): Promise<Message> {
    const response = await box.post('/v1/chat/completions', { ...asked, ...body, stream: isStream });
    if (!isStream) return Object((await answerOf(response)).choices[0]!.message);
    const deltas = (await eventsOf(response)).chunks.map(({ choices }) => Object(choices[0]?.delta));
    return {
      role: 'assistant',
      content: deltas.map(({ content }) => content ?? '').join(''),
      reasoning_details: deltas.flatMap(({ reasoning_details: details }) => details ?? []),
    };
  }

  test.each([true, false])(
    'the turn after a cut answer has the reasoning, also if a selector chose the model (stream: %p)',
    async (isStream) => {
      claude.next({
        reasoning: 'I count.',
        text: ['one', '\ntwo', ...Array.from({ length: 50 }, () => ' more')],
        betweenChunksMs: 5,
      });
      const first = [{ role: 'user', content: `Count to nine, ${isStream}.` }];
      const thinks = { model: 'auto', max_tokens: 3_000, reasoning_effort: 'low' };
      const message = await answered({ ...thinks, messages: first, stop: ['\n'] }, isStream);
      expect(message.content).toBe('one');
      expect(message.reasoning_details).toBeArray();
      claude.next({ text: 'ten' });
      const next = await chat({ ...thinks, messages: [...first, message, { role: 'user', content: 'Go on.' }] });
      expect(next.platform).toMatchObject({ routed_model: 'claude-sim', dropped: [] });
    },
  );

  test.each([true, false])(
    'the turn after a cut answer finds its prompt in the provider’s cache (stream: %p)',
    async (isStream) => {
      const usage = { prompt_tokens: 1_000, completion_tokens: 9 };
      const text = ['one ', 'END', ...Array.from({ length: 50 }, () => ' more')];
      upstream.next({ text, betweenChunksMs: 5, usage }, { text: 'ten', usage });
      const first = [{ role: 'user', content: `${isStream}: ${'You know the tides of the sea. '.repeat(170)}` }];
      const message = await answered({ model: 'plain', messages: first, stop: ['END'] }, isStream);
      const { platform } = await chat({
        model: 'plain',
        messages: [...first, message, { role: 'user', content: 'Go on.' }],
      });
      const record: unknown = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
      expect(Object(record).facts.cached_input_tokens.plain).toBeGreaterThan(1_000);
    },
  );
});

test.each(['stop_reason', 'matched_stop'])(
  'Messages name the stop sequence that a server reports as `%s`',
  async (name) => {
    const client = new Anthropic({ apiKey: box.key, baseURL: box.url, maxRetries: 0 });
    const choice = { index: 0, message: { role: 'assistant', content: 'one ' }, finish_reason: 'stop', [name]: 'END' };
    upstream.next({ form: 'json', raw: [JSON.stringify({ id: 'x', object: 'chat.completion', choices: [choice] })] });
    const body = { model: 'taking', max_tokens: 100, messages, stop_sequences: ['END'] };
    expect(await client.messages.create(body)).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    // A token ID does not name a stop sequence.
    const other = { ...choice, [name]: 7 };
    upstream.next({ form: 'json', raw: [JSON.stringify({ id: 'x', object: 'chat.completion', choices: [other] })] });
    expect(await client.messages.create(body)).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null });
  },
);
