import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import type {
  ChatCompletionMessage,
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
} from 'openai/resources';
import type { Behaviour, RecordedRequest } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * Tool loops with one of OpenAI's reasoning models through the whole gateway, with OpenAI's client. The upstream rejects reasoning that was
 * changed or moved.
 */
const MODELS = { luna: 'gpt-6-luna', astra: 'gpt-6-astra' } as const;
const TOOLS = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }];
const QUESTION = 'Where is it warmest?';

const upstream = useUpstream();
let client: OpenAI;

const box = useSignalbox(() => ({
  policy: testPolicy(
    { openai: { url: upstream.url, adapter: 'openai' } },
    { luna: { endpoints: ['openai'] }, astra: { endpoints: ['openai'] } },
  )
    .replaceAll('[tools, json_schema]', '[tools, json_schema, reasoning]')
    .replace(/(\w+)-upstream/g, (_, id: keyof typeof MODELS) => MODELS[id]),
}));
beforeAll(() => {
  client = new OpenAI({ apiKey: box.key, baseURL: `${box.url}/v1`, maxRetries: 0 });
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.behave(thinker);
});

const callsOf = (...cities: string[]) =>
  cities.map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));

/** Reasons before each of two calls, a third call, and the answer. */
function thinker({ asked }: RecordedRequest): Behaviour {
  const results = asked.turns.reduce((count, turn) => count + turn.results.length, 0);
  if (asked.turns.at(-1)?.text === 'Thanks!') return { reasoning: 'Kind.', text: 'You are welcome.' };
  if (results === 0) return { reasoning: 'Bern first.\n\nOslo then.', toolCalls: callsOf('Bern', 'Oslo') };
  if (results === 2) return { reasoning: 'And one more.', toolCalls: callsOf('Rome') };
  return { reasoning: 'So.', text: 'In Rome.' };
}

type AskTurn = (model: string, messages: ChatCompletionMessageParam[]) => Promise<ChatCompletionMessage>;

const inJson: AskTurn = async (model, messages) => {
  const { choices } = await client.chat.completions.create({ model, messages, tools: TOOLS });
  return choices[0]!.message;
};

/** Merges chunks like the client’s helper, which keeps the last of unknown members. */
const asStream: AskTurn = (model, messages) =>
  client.chat.completions.stream({ model, messages, tools: TOOLS }).finalMessage();

const resultsOf = (calls: readonly ChatCompletionMessageToolCall[] = []): ChatCompletionMessageParam[] =>
  calls.map((call) => ({
    role: 'tool',
    tool_call_id: call.id,
    content: `20 °C in ${JSON.parse(call.type === 'function' ? call.function.arguments : '{}').city}`,
  }));

async function loop(model: string, turn: AskTurn): Promise<ChatCompletionMessageParam[]> {
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }];
  for (let message = await turn(model, messages); ; message = await turn(model, messages)) {
    messages.push(message, ...resultsOf(message.tool_calls));
    if (message.content === 'In Rome.') messages.push({ role: 'user', content: 'Thanks!' });
    else if (!message.tool_calls?.length) return messages;
  }
}

const called = (city: string) => ({ name: 'weather', input: { city } });
const told = (city: string) => ({ name: 'weather', text: `20 °C in ${city}` });
const said = { text: '', media: [], calls: [], results: [] };

describe.each(Object.keys(MODELS))('a tool loop with %s', (model) => {
  test.each([
    ['JSON', inJson],
    ['a stream', asStream],
  ] as const)('continues to its end in %s, and all reasoning is sent back', async (_, turn) => {
    const messages = await loop(model, turn);
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'You are welcome.' });
    expect(upstream.requests.map(({ path }) => path)).toEqual(Array(4).fill('/v1/responses'));
    const last = upstream.requests.at(-1)!;
    expect(last.asked.turns).toEqual([
      { ...said, role: 'user', text: QUESTION },
      { ...said, role: 'assistant', calls: [called('Bern'), called('Oslo')] },
      { ...said, role: 'user', results: [told('Bern'), told('Oslo')] },
      { ...said, role: 'assistant', calls: [called('Rome')] },
      { ...said, role: 'user', results: [told('Rome')] },
      { ...said, role: 'assistant', text: 'In Rome.' },
      { ...said, role: 'user', text: 'Thanks!' },
    ]);
    const items = last.body.input as { type: string; summary?: { text: string }[] }[];
    expect(items.map(({ type, summary }) => summary?.map(({ text }) => text).join() ?? type)).toEqual([
      'message',
      ...['Bern first.', 'function_call', 'Oslo then.', 'function_call'],
      ...['function_call_output', 'function_call_output'],
      ...['And one more.', 'function_call', 'function_call_output'],
      ...['So.', 'message', 'message'],
    ]);
  });

  test('reports its reasoning, calls and usage', async () => {
    upstream.next({
      reasoning: 'Bern first.\n\nOslo then.',
      toolCalls: [{ name: 'weather', arguments: '{}', id: 'call_1' }],
      usage: { prompt_tokens: 50, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 4 } },
    });
    const { choices, usage } = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: QUESTION }],
      tools: TOOLS,
      reasoning_effort: 'high',
    });
    expect(choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: {
          reasoning_content: 'Bern first.\n\nOslo then.',
          tool_calls: [{ id: 'call_1', function: { name: 'weather', arguments: '{}' } }],
        },
      },
    ]);
    expect(usage).toMatchObject({ prompt_tokens: 50, completion_tokens: 9 });
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBe(4);
    expect(upstream.requests[0]?.body.reasoning).toEqual({ effort: 'high', summary: 'auto' });
  });

  test('continues even if the client has lost the reasoning', async () => {
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }];
    const { tool_calls = [] } = await inJson(model, messages);
    messages.push({ role: 'assistant', content: null, tool_calls }, ...resultsOf(tool_calls));
    expect((await inJson(model, messages)).tool_calls).toHaveLength(1);
  });
});

test('a seed with tools works for models that can skip reasoning, and is otherwise refused by name', async () => {
  const asked = { messages: [{ role: 'user' as const, content: QUESTION }], tools: TOOLS, seed: 7 };
  await client.chat.completions.create({ model: 'luna', ...asked });
  expect(upstream.requests[0]).toMatchObject({ path: '/v1/chat/completions', body: { reasoning_effort: 'none' } });
  const error = await client.chat.completions.create({ model: 'astra', ...asked }).catch((failed: unknown) => failed);
  expect(error).toMatchObject({
    status: 400,
    code: 'upstream_rejected_request',
    param: 'seed',
    message: expect.stringMatching(/seed/),
  });
  expect(upstream.requests).toHaveLength(1);
});
