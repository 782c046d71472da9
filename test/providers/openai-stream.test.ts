import { describe, expect, test } from 'bun:test';
import { shownOf, used } from '../support/parts.ts';
import { openaiAdapter } from '../support/provider-call.ts';
import { callPart, calls, delta, read } from './openai-chunks.ts';

const adapter = openaiAdapter();

describe('a chunk', () => {
  test('returns text, reasoning under either name, and refusals, without empty parts', () => {
    expect(
      read(
        delta({ role: 'assistant', content: '', refusal: null }),
        delta({ reasoning_content: 'Hm' }),
        delta({ reasoning: 'm', reasoning_content: null }),
        delta({ content: 'Hi' }),
        delta({ refusal: 'No' }),
        { choices: [{ delta: { content: 'no index' } }] },
      ),
    ).toEqual([
      { type: 'reasoning', choice: 0, text: 'Hm' },
      { type: 'reasoning', choice: 0, text: 'm' },
      { type: 'text', choice: 0, text: 'Hi' },
      { type: 'refusal', choice: 0, text: 'No' },
      { type: 'text', choice: 0, text: 'no index' },
    ]);
  });

  test('returns content that is a list of text and thinking', () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
      { type: 'text', text: 'Hi' },
    ];
    expect(read(delta({ content }))).toEqual([
      { type: 'reasoning', choice: 0, text: 'Hm' },
      { type: 'text', choice: 0, text: 'Hi' },
    ]);
  });

  test('returns token probabilities unchanged', () => {
    const content = [{ token: 'Hi', logprob: -0.1, bytes: null, top_logprobs: [] }];
    const chunk = { choices: [{ index: 1, delta: { content: 'Hi' }, logprobs: { content, refusal: null } }] };
    expect(read(chunk)).toEqual([
      { type: 'text', choice: 1, text: 'Hi' },
      { type: 'logprobs', choice: 1, content, refusal: [] },
    ]);
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['model_length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['eos_token', 'stop'],
  ])('with finish reason %s means %s, and the original reason is kept', (raw, reason) => {
    expect(read(delta({}, raw))).toEqual([{ type: 'finish', choice: 0, reason: reason as 'stop', raw }]);
  });

  test('without a real finish reason does not finish', () => {
    expect(read(delta({}, ''), delta({}, null), delta({}, undefined), delta({}, 7))).toEqual([]);
  });

  test('that is empty, a ping or after [DONE] returns nothing', () => {
    expect(
      read('', { type: 'ping' }, { choices: [] }, { choices: [null, 1] }, '[DONE]', delta({ content: 'x' })),
    ).toEqual([]);
    expect(read('[DONE]', 'junk')).toEqual([]);
  });

  test.each(['junk', '[1]', 'null', '"x"', '{"a":'])('that is not a JSON object is a failure: %s', (data) => {
    expect(read(data)).toMatchObject([{ type: 'failure', failure: { kind: 'malformed' } }]);
  });

  test.each<[object, string]>([
    [{ error: { message: 'm', type: 'server_error' } }, 'server'],
    [{ error: { message: 'm', code: 429 } }, 'rate_limited'],
    [{ error: { message: 'm', code: 'rate_limit_exceeded' } }, 'rate_limited'],
    [{ error: { message: 'm', type: 'overloaded_error' } }, 'overloaded'],
    [{ error: { message: 'maximum context length is 8192 tokens', type: 'invalid_request_error' } }, 'context'],
    [{ error: 'm' }, 'server'],
    [{ object: 'error', message: 'm', type: 'BadRequestError', code: 400 }, 'rejected'],
  ])('with an error is a failure: %j is %s', (chunk, kind) => {
    expect(read(chunk)).toMatchObject([{ type: 'failure', failure: { kind } }]);
    expect(adapter.reply(JSON.stringify(chunk))).toMatchObject([{ type: 'failure', failure: { kind } }]);
  });
});

describe('usage', () => {
  test.each<[unknown, string | undefined]>([
    ['flex', 'flex'],
    ['default', 'default'],
    ['', undefined],
    [null, undefined],
    [7, undefined],
  ])('has the service tier that the answer states: %j', (service_tier, serviceTier) => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 };
    const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' };
    const whole = adapter.reply(JSON.stringify({ choices: [choice], usage, service_tier }));
    for (const parts of [whole, read(delta({ content: 'Hi' }, 'stop'), { choices: [], usage, service_tier })])
      expect(parts.at(-1)).toEqual({ ...used(1, 0, 0, 2, 0), serviceTier });
  });

  test('has the service tier of an earlier chunk if its own chunk states none', () => {
    const content = { ...delta({ content: 'Hi' }, 'stop'), service_tier: 'flex' };
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } };
    expect(read(content, usage).at(-1)).toEqual({ ...used(1, 0, 0, 2, 0), serviceTier: 'flex' });
  });

  test('is read with its details', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 15 },
    };
    expect(read({ choices: [], usage })).toEqual([
      {
        type: 'usage',
        usage: { inputTokens: 10, outputTokens: 20, reasoningTokens: 15, units: { cached_input: 4 } },
      },
    ]);
  });

  test('is read with null details, and follows the finish of its chunk', () => {
    const usage = {
      prompt_tokens: 1,
      completion_tokens: 2,
      prompt_tokens_details: null,
      completion_tokens_details: null,
    };
    const [finish, counted] = read({ ...delta({}, 'stop'), usage });
    expect(finish?.type).toBe('finish');
    expect(counted).toMatchObject({
      usage: { inputTokens: 1, outputTokens: 2, reasoningTokens: 0, units: undefined },
    });
  });

  test('includes reasoning that the upstream’s total shows to be outside the completion', () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 45,
      completion_tokens_details: { reasoning_tokens: 30 },
    };
    expect(read({ usage })).toMatchObject([{ usage: { outputTokens: 35, reasoningTokens: 30 } }]);
  });

  test.each([[null], [{}], [{ prompt_tokens: '3', completion_tokens: 2 }], [[1]]])(
    'without counts is ignored: %j',
    (usage) => {
      expect(read({ choices: [], usage })).toEqual([]);
    },
  );
});

describe('tool calls', () => {
  test('have id and name on the first delta only, and arguments in order', () => {
    expect(
      read(
        calls({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
        calls({ index: 0, function: { arguments: '{"x"' } }),
        calls({ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }),
        calls({ index: 1, function: { arguments: '{}' } }, { index: 0, function: { arguments: ':1}' } }),
      ),
    ).toEqual([
      callPart(0, 'a', 'f', ''),
      callPart(0, undefined, undefined, '{"x"'),
      callPart(1, 'b', 'g', ''),
      callPart(1, undefined, undefined, '{}'),
      callPart(0, undefined, undefined, ':1}'),
    ]);
  });

  test('without an index are distinguished by ID, otherwise by name', () => {
    const one = (id: string | undefined, name: string | undefined, args: string) =>
      calls({ id, function: { name, arguments: args } });
    expect(read(one('a', 'f', '{'), one(undefined, undefined, '}'), one('b', 'f', '{}'))).toEqual([
      callPart(0, 'a', 'f', '{'),
      callPart(0, undefined, undefined, '}'),
      callPart(1, 'b', 'f', '{}'),
    ]);
    expect(read(one('', 'f', '{}'), one('', 'g', '{}'))).toEqual([
      callPart(0, 'call_0_0', 'f', '{}'),
      callPart(1, 'call_0_1', 'g', '{}'),
    ]);
  });

  test('that all have index 0 with different IDs are separate', () => {
    const one = (id: string) => calls({ index: 0, id, function: { name: 'f', arguments: '{}' } });
    expect(read(one('a'), one('b')).map((part) => 'index' in part && part.index)).toEqual([0, 1]);
  });

  test('that repeat ID and name in each delta are one call', () => {
    const one = (args: string) => calls({ index: 0, id: 'a', function: { name: 'f', arguments: args } });
    expect(read(one('{'), one('}'))).toEqual([callPart(0, 'a', 'f', '{'), callPart(0, undefined, undefined, '}')]);
  });

  test('are held until their name is known; a call that never gets a name is a failure', () => {
    const early = calls({ index: 0, id: 'a', function: { arguments: '{' } });
    expect(read(early, calls({ index: 0, function: { name: 'f', arguments: '}' } }))).toEqual([
      callPart(0, 'a', 'f', '{}'),
    ]);
    expect(read(early, delta({}, 'tool_calls'))).toMatchObject([{ type: 'failure', failure: { kind: 'malformed' } }]);
  });

  test('without an ID get one made from their answer’s ID, so that no later turn repeats it', () => {
    const first = { ...calls({ function: { name: 'f', arguments: '{}' } }), id: 'chatcmpl-1' };
    expect(read(first)).toEqual([callPart(0, 'call_2tnbiizjq_0_0', 'f', '{}')]);
  });

  test('of the older form, and with arguments as an object, are read in the same way', () => {
    expect(
      read(delta({ function_call: { name: 'f', arguments: '{' } }), delta({ function_call: { arguments: '}' } })),
    ).toEqual([callPart(0, 'call_0_0', 'f', '{'), callPart(0, undefined, undefined, '}')]);
    expect(read(calls({ id: 'a', function: { name: 'f', arguments: { x: 1 } } }))).toEqual([
      callPart(0, 'a', 'f', '{"x":1}'),
    ]);
  });
});

describe('an unstreamed reply', () => {
  test('returns the same parts as its stream', () => {
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const body = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi', reasoning_content: 'Hm', refusal: null },
          finish_reason: 'stop',
        },
        {
          index: 1,
          message: { role: 'assistant', content: null, tool_calls },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    expect(adapter.reply(JSON.stringify(body))).toEqual([
      { type: 'reasoning', choice: 0, text: 'Hm' },
      { type: 'text', choice: 0, text: 'Hi' },
      { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
      { type: 'tool-call', choice: 1, index: 0, id: 'a', name: 'f', arguments: '{}' },
      { type: 'finish', choice: 1, reason: 'tool_calls', raw: 'tool_calls' },
      {
        type: 'usage',
        usage: { inputTokens: 1, outputTokens: 2, reasoningTokens: 0 },
      },
    ]);
  });
});

test('a text that has two names at once is returned once', () => {
  expect(read(delta({ reasoning_content: 'Hm', reasoning: 'Hm' }))).toEqual([
    { type: 'reasoning', choice: 0, text: 'Hm' },
  ]);
});

test('probabilities of a refusal alone are returned', () => {
  const refusal = [{ token: 'No', logprob: -0.1 }];
  expect(read({ choices: [{ index: 0, delta: {}, logprobs: { content: null, refusal } }] })).toEqual([
    { type: 'logprobs', choice: 0, content: [], refusal },
  ]);
});

test('an event called `error` ends the answer, whatever its data', () => {
  const frame = { event: 'error', data: JSON.stringify({ message: 'boom' }) };
  expect(adapter.stream().read(frame)).toMatchObject([{ type: 'failure' }]);
  expect(shownOf(adapter.stream().read({ ...frame, event: 'message' }))).toEqual([]);
});

test('a late name without index and ID belongs to the call without a name', () => {
  expect(
    read(calls({ id: 'a', function: { arguments: '{' } }), calls({ function: { name: 'f', arguments: '}' } })),
  ).toEqual([callPart(0, 'a', 'f', '{}')]);
});

test('the usage of a failed unstreamed answer comes before the failure, because it is billed', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2 };
  const choice = { index: 0, message: { content: 'Hi' }, finish_reason: 'error' };
  const kinds = (reply: object) => adapter.reply(JSON.stringify(reply)).map(({ type }) => type);
  expect(kinds({ choices: [choice], usage })).toEqual(['text', 'usage', 'failure']);
  expect(kinds({ choices: [{ ...choice, finish_reason: 'stop' }], usage })).toEqual(['text', 'finish', 'usage']);
  expect(kinds({ choices: [], usage })).toEqual(['usage', 'failure']);
});

test('a choice may have at most 512 tool calls', () => {
  const call = (_: unknown, index: number) => ({ index, id: `c${index}`, function: { name: 'f', arguments: '' } });
  const kinds = (n: number) => read(calls(...Array.from({ length: n }, call))).map(({ type }) => type);
  expect(kinds(512)).toEqual(Array(512).fill('tool-call'));
  expect(kinds(520)).toEqual([...Array(512).fill('tool-call'), 'failure']);
});

test('cached tokens are read from the usual name if both names are present', () => {
  const usage = { prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 4 };
  expect(read({ usage })).toMatchObject([{ usage: { units: { cached_input: 4 } } }]);
  expect(read({ usage: { ...usage, prompt_tokens_details: { cached_tokens: 3 } } })).toMatchObject([
    { usage: { units: { cached_input: 3 } } },
  ]);
});

test('tokens of audio are read; if some must be cached, only those count as cached', () => {
  const usageOf = (cached: number) => ({
    ...{ prompt_tokens: 100, completion_tokens: 50 },
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 80 },
    completion_tokens_details: { audio_tokens: 30 },
  });
  const readWith = (cached: number) => read({ usage: usageOf(cached) });
  expect(readWith(0)).toMatchObject([{ usage: { units: { audio_input: 80, audio_output: 30 } } }]);
  expect(readWith(20)).toMatchObject([{ usage: { units: { cached_input: 20, audio_input: 80, audio_output: 30 } } }]);
  expect(readWith(90)).toMatchObject([{ usage: { units: { cached_input: 90, audio_input: 10, audio_output: 30 } } }]);
});

test('a finish reason that reports a break is a failure', () => {
  for (const raw of ['error', 'insufficient_system_resource']) {
    expect(read(delta({}, raw))).toMatchObject([{ type: 'failure', failure: { kind: 'overloaded' } }]);
  }
});

test('if every call has the index 0, a delta without an ID continues the last call', () => {
  const begun = (id: string) => calls({ index: 0, id, function: { name: 'f', arguments: '' } });
  expect(read(begun('a'), begun('b'), calls({ index: 0, function: { arguments: '{}' } }))).toEqual([
    callPart(0, 'a', 'f', ''),
    callPart(1, 'b', 'f', ''),
    callPart(1, undefined, undefined, '{}'),
  ]);
});
