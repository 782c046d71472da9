import { expect, test } from 'bun:test';
import { answerOf, eventsOf } from '../support/answers.ts';
import { useSignalbox } from '../support/use.ts';

/** The shipped policy without a provider: the first minutes with Signalbox. */
const hello = [{ role: 'user', content: 'Say hello.' }];
const box = useSignalbox();

const ask = (body: object) => box.post('/v1/chat/completions', { model: 'auto', messages: hello, ...body });
const tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

test.concurrent('every selector answers offline, and says that it is simulated', async () => {
  const selectors = ['auto', 'auto-fast', 'auto-cheap'];
  const answers = await Promise.all(selectors.map(async (model) => answerOf(await ask({ model }))));
  for (const { choices, platform, usage } of answers) {
    expect(choices[0]?.message.content).toContain('simulated answer');
    expect(platform.routed_model).toStartWith('sim-');
    expect(platform.credits_consumed).toBeGreaterThan(0);
    expect(usage.completion_tokens).toBeGreaterThan(0);
  }
});

test.concurrent.each([
  ['Say hello.', ['sim-small', 'sim-flash', 'sim-small']],
  ['Explain why water boils earlier on a mountain.', ['sim-large', 'sim-flash', 'sim-small']],
])('“%s”: auto balances, auto-fast takes the fast model, auto-cheap the cheap one', async (content, models) => {
  const routed = ['auto', 'auto-fast', 'auto-cheap'].map(async (model) => {
    const { platform } = await answerOf(await ask({ model, messages: [{ role: 'user', content }] }));
    return platform.routed_model;
  });
  expect(await Promise.all(routed)).toEqual(models);
});

test.concurrent('a stream comes in pieces and ends well', async () => {
  const { chunks, done } = await eventsOf(await ask({ model: 'sim-flash', stream: true }));
  expect(done).toBe(true);
  expect(chunks.length).toBeGreaterThan(5);
  expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toContain('simulated answer');
});

test.concurrent('a tool is called, in JSON and in a stream', async () => {
  const body = { model: 'sim-flash', tools: [tool], messages: [{ role: 'user', content: 'The weather in Rome?' }] };
  const { choices } = await answerOf(await ask(body));
  expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
  const [call] = choices[0]!.message.tool_calls!;
  expect(call?.function.name).toBe('get_weather');
  expect(JSON.parse(call!.function.arguments)).toEqual({ city: expect.any(String) });
  const { chunks } = await eventsOf(await ask({ ...body, stream: true }));
  const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  expect(calls[0]?.function.name).toBe('get_weather');
  expect(JSON.parse(calls.map((one) => one.function.arguments).join(''))).toEqual({ city: expect.any(String) });
});

test.concurrent('a JSON schema is obeyed', async () => {
  const schema = {
    type: 'object',
    properties: { year: { type: 'integer' }, kind: { type: 'string', enum: ['a', 'b'] } },
    required: ['year', 'kind'],
  };
  const format = { type: 'json_schema', json_schema: { name: 'thing', schema } };
  const { choices } = await answerOf(await ask({ model: 'sim-flash', response_format: format }));
  expect(JSON.parse(choices[0]!.message.content!)).toEqual({ year: expect.any(Number), kind: 'a' });
});
