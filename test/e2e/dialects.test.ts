import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type Answer, adviceOf, answerOf, eventsOf } from '../support/answers.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { startSignalbox } from '../support/signalbox.ts';
import { type Message, MODELS, type ModelName, startWorld, type World } from './dialects-support.ts';

/** Claude, GPT and Gemini through one server: which model is called, which one is the fallback, what it costs and what is reported. */
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  for (const upstream of Object.values(world.upstreams)) upstream.behave({});
});

const NAMES = Object.keys(MODELS) as ModelName[];
const upstreamOf = (name: ModelName) => world.upstreams[MODELS[name].dialect];
const QUESTION = [{ role: 'user', content: 'Where is it warmest?' }];

const chat = (body: object) => world.box.post('/v1/chat/completions', { model: 'auto', messages: QUESTION, ...body });
async function asked(body: object): Promise<Answer & { readonly choices: readonly { readonly message: Message }[] }> {
  const response = await chat(body);
  const answer = await answerOf(response);
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer as Answer & { readonly choices: readonly { readonly message: Message }[] };
}

test('the list of models has the models of all providers', async () => {
  const { data } = (await (await world.box.get('/v1/models')).json()) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(['auto', ...NAMES]));
});

describe('routing', () => {
  const wave = { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] };

  test.each<[string, object, ModelName]>([
    ['nothing in particular', {}, 'claude'],
    ['a seed', { seed: 7 }, 'gpt'],
    ['several answers', { n: 2 }, 'gpt'],
    ['a JSON object', { response_format: { type: 'json_object' } }, 'claude'],
    ['sound', { messages: [wave] }, 'gpt'],
    ['stop words, which the policy says that GPT lacks, and a seed', { stop: 'END', seed: 7 }, 'gpt'],
    // A model that accepts no temperature is called without one.
    ['a high temperature', { temperature: 1.5 }, 'claude'],
  ])('a request for %s goes to the best model that supports it', async (_, body, name) => {
    const { platform } = await asked(body);
    expect(platform.routed_model).toBe(name);
    expect(platform.attempts.map(({ model }) => model)).toEqual([name]);
  });
});

describe('a failed attempt is reported with the provider’s own finish reasons and request ID:', () => {
  const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];

  test.each<[ModelName, string | null, string, string]>([
    ['claude', 'req_fake', 'end_turn', 'tool_use'],
    ['gpt', 'req_fake', 'stop', 'tool_calls'],
    // Google names no request, and reports the same reason for both ends.
    ['gemini', null, 'STOP', 'STOP'],
  ])('%s', async (model, requestId, stopped, called) => {
    const attempt = { model, provider: MODELS[model].dialect, failure: null, request_id: requestId };
    const { platform } = await asked({ model });
    expect(platform.attempts).toMatchObject([{ ...attempt, finish_reasons: [stopped] }]);
    upstreamOf(model).next({ toolCalls: [{ name: 'weather', arguments: '{}' }] });
    const { chunks } = await eventsOf(await chat({ model, tools: TOOLS, stream: true }));
    expect(chunks.at(-1)?.platform.attempts).toMatchObject([{ ...attempt, finish_reasons: [called] }]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });
});

describe('tokens that were read from a cache, written to a cache or used for reasoning are charged once, as reported by', () => {
  /** The prompt is long enough for these figures to be plausible. */
  const messages = [{ role: 'user', content: 'word '.repeat(2_000) }];
  const usage = {
    prompt_tokens: 5_000,
    completion_tokens: 100,
    total_tokens: 5_100,
    prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 3_000 },
    completion_tokens_details: { reasoning_tokens: 40 },
  };

  test.each<[ModelName, number]>([
    // 1,000 plain × 0.001 + 1,000 cached × 0.0001 + 3,000 written × 0.00125 + 100 × 0.005 = 1 + 0.1 + 3.75 + 0.5
    ['claude', 5.35],
    ['gpt', 5.35],
    // Google charges cache writes at the price of input, and does not report them: 4,000 × 0.001 + 1,000 × 0.0001 + 0.5
    ['gemini', 4.6],
  ])('%s', async (model, credits) => {
    upstreamOf(model).behave({ reasoning: 'Hm.', text: 'Yes.', usage });
    const json = await asked({ model, messages, reasoning_effort: 'low' });
    const body = { model, messages, reasoning_effort: 'low', stream: true, stream_options: { include_usage: true } };
    const { chunks } = await eventsOf(await chat(body));
    const seen = {
      prompt_tokens: 5_000,
      completion_tokens: 100,
      total_tokens: 5_100,
      prompt_tokens_details: { cached_tokens: 1_000 },
      completion_tokens_details: { reasoning_tokens: 40 },
    };
    expect(json.usage).toMatchObject(seen);
    expect(chunks.at(-1)?.usage).toMatchObject(seen);
    expect(json.platform).toMatchObject({ credits_consumed: credits, estimated: false });
    expect(chunks.at(-2)?.platform).toMatchObject({ credits_consumed: credits, estimated: false });
  });
});

describe('reasoning', () => {
  test.each(NAMES)('reasoning of %s is separate from its text, and can be sent back unchanged', async (model) => {
    upstreamOf(model).behave({ reasoning: 'Let me think.', text: 'In Rome.' });
    const { choices } = await asked({ model, reasoning_effort: 'low' });
    expect(choices[0]?.message).toMatchObject({ content: 'In Rome.', reasoning_content: 'Let me think.' });
    for (const next of NAMES) {
      const messages = [...QUESTION, choices[0]!.message, { role: 'user', content: 'And today?' }];
      const { platform } = await asked({ model: next, messages, reasoning_effort: 'low' });
      expect(platform.routed_model).toBe(next);
    }
  });
});

describe('a tool loop continues with another model when its model fails, and returns to it:', () => {
  const TOOLS = [
    {
      type: 'function',
      function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
    },
  ];
  const call = (city: string): Behaviour => ({
    reasoning: `${city}?`,
    toolCalls: [{ name: 'weather', arguments: JSON.stringify({ city }) }],
  });
  /** The paths of a message's state, as `platform.dropped` names them. */
  const STATE: Record<ModelName, (at: number) => string[]> = {
    claude: (at) => [`messages[${at}].reasoning_details`],
    gpt: () => [],
    gemini: (at) => [`messages[${at}].tool_calls[0].extra_content.google.thought_signature`],
  };
  const PAIRS = NAMES.flatMap((one) => NAMES.filter((other) => other !== one).map((other) => [one, other] as const));

  for (const stream of [false, true]) {
    test.each(PAIRS)(`from %s to %s${stream ? ', streamed' : ''}`, async (one, other) => {
      const messages: object[] = [{ role: 'system', content: 'Be brief.' }, ...QUESTION];
      const cities = ['Bern', 'Oslo', 'Rome'];
      const by = [one, other, one];
      const dropped: (readonly string[])[] = [];
      for (const [at, city] of cities.entries()) {
        for (const name of NAMES) upstreamOf(name).behave(name === by[at] ? call(city) : { fail: 'overloaded' });
        const { message, platform } = await turn({ messages, tools: TOOLS, reasoning_effort: 'low', stream });
        expect(platform.routed_model).toBe(by[at]!);
        dropped.push(platform.dropped);
        const [{ id }] = message.tool_calls as [{ id: string }];
        messages.push(message, { role: 'tool', tool_call_id: id, content: `20 °C in ${city}` });
      }
      // State that the first model could read is left out for the other model, and the reverse. The first model gets its own state back.
      expect(dropped).toEqual([[], STATE[one](2), STATE[other](4)]);
      const { turns } = upstreamOf(one).requests.at(-1)!.asked;
      expect(turns.flatMap(({ results }) => results.map(({ text }) => text))).toEqual([
        '20 °C in Bern',
        '20 °C in Oslo',
      ]);
      const wire = upstreamOf(one).requests.at(-1)!.text;
      if (one === 'claude') expect(wire.split('"type":"thinking"')).toHaveLength(2);
    });
  }

  /** Returns the message and the platform of an answer, from JSON or a stream. */
  async function turn(body: { readonly stream: boolean; readonly [field: string]: unknown }) {
    if (!body.stream) {
      const { choices, platform } = await asked(body);
      return { message: choices[0]!.message, platform };
    }
    const response = await chat(body);
    const { chunks } = await eventsOf(response);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const deltas = chunks.map(({ choices }) => choices[0]?.delta as Readonly<Record<string, unknown>> | undefined);
    const calls = deltas.flatMap((delta) => (delta?.tool_calls ?? []) as { index: number; function: object }[]);
    const [{ index: _, ...first }] = calls as [{ index: number; function: object }];
    const text = calls.map((one) => (one.function as { arguments: string }).arguments).join('');
    const message = {
      role: 'assistant',
      content: null,
      reasoning_details: deltas.flatMap((delta) => (delta?.reasoning_details ?? []) as unknown[]),
      tool_calls: [{ ...first, function: { ...first.function, arguments: text } }],
    };
    return { message: message as unknown as Message, platform: chunks.at(-1)!.platform };
  }
});

test('with only a key of Anthropic, the shipped policy lists Claude and routes to it', async () => {
  const box = await startSignalbox({ env: { ANTHROPIC_API_KEY: 'anything' } });
  try {
    const { data } = (await (await box.get('/v1/models')).json()) as { data: { id: string; owned_by: string }[] };
    expect(data.map(({ id }) => id)).toContain('claude-sonnet-5-5');
    expect([...new Set(data.map(({ owned_by }) => owned_by))].sort()).toEqual(['anthropic', 'signalbox']);
    const advice = await adviceOf(await box.post('/v1/route', { task_type: 'coding' }));
    expect(advice.recommended_model).toStartWith('claude-');
  } finally {
    await box.stop();
  }
});
