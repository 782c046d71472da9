import { describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** `forced_tools: refuse`: a forced `tool_choice` on models of Anthropic. Chats and Responses are translated, Messages are passed through. */
const upstream = useUpstream({ dialect: 'anthropic' });

/** Models, and whether each can be forced to call a tool if the request does not enable thinking. */
const MODELS = {
  'claude-opus-5-5': false,
  'claude-fable-5-1': false,
  'claude-opus-5-6': true,
  'claude-fable-5': true,
  'claude-fable-5-2': true,
  'claude-mythos-5-1': true,
  'claude-sonnet-5-5': false,
  'claude-sonnet-5': true,
  'claude-haiku-5-5': true,
  'claude-opus-4-8': true,
  'claude-haiku-4-5': true,
  'claude-saga-6': true,
} as const;
const rows = Object.entries(MODELS);

const ids = [...Object.keys(MODELS), 'vendor-model'];
const box = useSignalbox(() => ({
  policy: testPolicy(
    { fake: { url: upstream.url, adapter: 'anthropic' } },
    Object.fromEntries(
      ids.map((id) => [
        id,
        {
          endpoints: ['fake'],
          capabilities: ['tools', 'json_schema', 'reasoning'],
          quality: id === 'vendor-model' ? 0.3 : 0.9,
        },
      ]),
    ),
    'gateway: { forced_tools: refuse, retries_max: 0 }\n',
  ).replaceAll('passthrough: [verbosity]', 'passthrough: [thinking]'),
}));

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const QUESTION = [{ role: 'user', content: 'How is the weather in Bern?' }];
const FUNCTION = { type: 'function', function: { name: 'weather', parameters: SCHEMA } };

/** A request in each dialect that forces a tool call. */
const FORCED = {
  chat: (model: string, more: object = {}) =>
    box.post('/v1/chat/completions', {
      model,
      messages: QUESTION,
      tools: [FUNCTION],
      tool_choice: 'required',
      ...more,
    }),
  named: (model: string, more: object = {}) =>
    FORCED.chat(model, { tool_choice: { type: 'function', function: { name: 'weather' } }, ...more }),
  responses: (model: string, more: object = {}) =>
    box.post('/v1/responses', {
      model,
      input: 'How is the weather in Bern?',
      store: false,
      tools: [{ type: 'function', name: 'weather', parameters: SCHEMA }],
      tool_choice: 'required',
      ...more,
    }),
  messages: (model: string, more: object = {}) =>
    box.post('/v1/messages', {
      model,
      max_tokens: 4_000,
      messages: QUESTION,
      tools: [{ name: 'weather', input_schema: SCHEMA }],
      tool_choice: { type: 'any' },
      ...more,
    }),
};
type Door = keyof typeof FORCED;
const DOORS = Object.keys(FORCED) as Door[];

/** A request for thinking, as each dialect writes it. */
const thinkingOn = (door: Door, model: string): object =>
  door === 'messages'
    ? { thinking: /haiku-4/.test(model) ? { type: 'enabled', budget_tokens: 1_024 } : { type: 'adaptive' } }
    : door === 'responses'
      ? { reasoning: { effort: 'high' } }
      : { reasoning_effort: 'high' };

const REFUSAL = 'does not accept a forced `tool_choice`';

describe.each(DOORS)('a forced tool choice as %s', (door) => {
  test.each(rows)('without thinking, %s accepts a forced tool choice: %p', async (model, accepts) => {
    const response = await FORCED[door](model);
    if (accepts) {
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      expect(upstream.requests.at(-1)!.asked.toolChoice).toEqual(door === 'named' ? ['weather'] : 'required');
    } else {
      const { message } = (await expectError(response, 'no_eligible_model', 'tool_choice'))!;
      expect(message).toContain(`\`${model}\` cannot serve this request: it ${REFUSAL}.`);
    }
  });

  test.each(rows)('with thinking, %s refuses a forced tool choice', async (model) => {
    const response = await FORCED[door](model, thinkingOn(door, model));
    const { message } = (await expectError(response, 'no_eligible_model', 'tool_choice'))!;
    expect(message).toContain(REFUSAL);
  });

  test('a model of another provider accepts a forced tool choice, with or without thinking', async () => {
    for (const more of [{}, door === 'messages' ? {} : thinkingOn(door, 'vendor-model')]) {
      expect((await FORCED[door]('vendor-model', more)).status).toBe(200);
    }
  });

  test('with thinking and a forced tool choice, a selector chooses a model that accepts both', async () => {
    const answer = await answerOf(
      await FORCED[door]('auto', door === 'messages' ? { thinking: { type: 'adaptive' } } : thinkingOn(door, 'x')),
    );
    expect(answer.platform.routed_model).toBe('vendor-model');
  });
});

describe('requests that do not enable thinking', () => {
  test.each<[string, () => Promise<Response>]>([
    ['the effort `none` of a chat', () => FORCED.chat('claude-haiku-5-5', { reasoning_effort: 'none' })],
    ['`thinking: disabled` of a chat', () => FORCED.chat('claude-haiku-5-5', { thinking: { type: 'disabled' } })],
    ['`thinking: disabled` of Messages', () => FORCED.messages('claude-haiku-5-5', { thinking: { type: 'disabled' } })],
    ['only an effort in Messages', () => FORCED.messages('claude-opus-4-8', { output_config: { effort: 'low' } })],
  ])('a forced tool choice with %s is accepted', async (_, ask) => {
    const response = await ask();
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  });

  test('`thinking` of a chat, which the provider passes on, enables thinking', async () => {
    const response = await FORCED.chat('claude-opus-4-8', { thinking: { type: 'adaptive' } });
    expect((await expectError(response, 'no_eligible_model', 'tool_choice'))!.message).toContain(REFUSAL);
  });
});

test('the error for a refused forced tool call names the models that accept the request', async () => {
  const { message } = (await expectError(await FORCED.chat('claude-opus-5-5'), 'no_eligible_model', 'tool_choice'))!;
  expect(message).toContain('Leave `tool_choice` out');
  expect(message).toContain('use one of: ');
  expect(message).toContain('`claude-fable-5`');
});
