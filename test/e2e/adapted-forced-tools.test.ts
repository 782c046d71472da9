import { beforeEach, describe, expect, test } from 'bun:test';
import { isObject, objectOf, objectsIn, parseJson } from '../../src/core/json/object.ts';
import { expectError } from '../support/error-contract.ts';
import {
  CITY,
  chat,
  chatCalls,
  DESCRIPTION,
  DOORS,
  type Door,
  messages,
  QUESTION,
  type ReadAnswer,
  SCHEMA,
} from '../support/forced-calls.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * Tests `gateway.forced_tools` with forced calls of one function, on a Claude model and a server of OpenAI's dialect that both refuse such
 * calls.
 */
const claude = useUpstream({ dialect: 'anthropic' });
const other = useUpstream();

const CITY_PIECES = ['{"city":', '"Bern",', '"days":3}'];

const models = {
  'claude-opus-5-5': { endpoints: ['claude'], quality: 0.9, capabilities: ['tools', 'json_schema', 'reasoning'] },
  'claude-opus-4-8': { endpoints: ['claude'], quality: 0.5, capabilities: ['tools', 'json_schema', 'reasoning'] },
  'refuses-calls': {
    endpoints: ['other'],
    quality: 0.3,
    capabilities: ['tools', 'json_schema', 'choices'],
    more: '    lacks: [forced_tools, single_tool_calls]\n',
  },
  'no-schema': {
    endpoints: ['other'],
    quality: 0.2,
    capabilities: ['tools'],
    more: '    lacks: [forced_tools]\n',
  },
} as const;

const policyOf = (gateway = ''): string =>
  testPolicy(
    { claude: { url: claude.url, adapter: 'anthropic' }, other: other.url },
    models,
    `gateway: { retries_max: 0${gateway} }`,
  );

const box = useSignalbox(() => ({ policy: policyOf() }));
const refusing = useSignalbox(() => ({ policy: policyOf(', forced_tools: refuse') }));

beforeEach(() => {
  for (const upstream of [claude, other]) upstream.behave(({ asked }) => (asked.schema ? { text: CITY_PIECES } : {}));
});

const REFUSING = ['claude-opus-5-5', 'refuses-calls'] as const;
const upstreamOf = (model: string) => (model.startsWith('claude') ? claude : other);

function eventsOf(text: string): object[] {
  return text.split('\n').flatMap((line) => {
    const event = line.startsWith('data: ') ? parseJson(line.slice(6)) : null;
    return isObject(event) ? [event] : [];
  });
}

async function answerOf(door: Door, body: object, at = box): Promise<ReadAnswer> {
  const response = await at.post(door.path, body);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  return 'stream' in body ? door.readStream(eventsOf(text)) : door.read(objectOf(parseJson(text)));
}

describe.each(DOORS)('a forced call of one function in %s', (_, door) => {
  describe.each(REFUSING)('on the model %s', (model) => {
    test.each([
      ['named, whole', {}, () => door.named, []],
      ['one that is named among others, and its whole answer', {}, () => door.named, ['time', 'place']],
      ['required, whole', {}, () => door.any, []],
      ['named, as a stream', { stream: true }, () => door.named, []],
      ['required, as a stream', { stream: true }, () => door.any, []],
    ] as const)('%s comes back as a call of the forced function', async (_form, stream, choice, others) => {
      const body = { ...door.body(model, SCHEMA, others), ...choice(), ...stream };
      const { calls, text, finish, platform } = await answerOf(door, body);
      expect(calls).toEqual([{ id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/), name: 'weather', arguments: CITY }]);
      expect([text, finish, platform.adapted]).toEqual(['', door.finishes[0], ['tool_choice']]);
      const { asked } = upstreamOf(model).requests.at(-1)!;
      expect([asked.tools, asked.toolChoice]).toEqual([[], 'auto']);
      expect(asked.schema).toEqual({
        description: DESCRIPTION,
        type: 'object',
        properties: { city: { type: 'string', description: '{minLength: 2}' }, days: { type: 'integer' } },
        required: ['city'],
        additionalProperties: false,
      });
    });

    test('an adapted call costs what its provider reports', async () => {
      const usage = { prompt_tokens: 100, completion_tokens: 10 };
      upstreamOf(model).next({ text: CITY_PIECES, usage });
      const { platform } = await answerOf(door, { ...door.body(model, SCHEMA), ...door.named });
      expect([platform.credits_consumed, platform.estimated]).toEqual([0.14, false]);
    });

    test('an adapted call that the output limit cuts keeps its finish reason', async () => {
      upstreamOf(model).next({ text: '{"city":"Be', finish: 'length' });
      const { calls, finish } = await answerOf(door, { ...door.body(model, SCHEMA), ...door.named, stream: true });
      expect([calls[0]?.name, calls[0]?.arguments, finish]).toEqual(['weather', '{"city":"Be', door.finishes[1]]);
    });

    test('an adapted call that the model refuses has no function call', async () => {
      upstreamOf(model).next({ text: [], refusal: 'I do not say that.', finish: 'content_filter' });
      const { calls } = await answerOf(door, { ...door.body(model, SCHEMA), ...door.named });
      expect(calls).toEqual([]);
    });

    test('adapted calls have IDs that differ from answer to answer', async () => {
      const body = { ...door.body(model, SCHEMA), ...door.named };
      const [first, second] = [await answerOf(door, body), await answerOf(door, body)];
      expect(first.calls[0]!.id).not.toBe(second.calls[0]!.id);
    });
  });

  test('a forced call is passed unchanged to a model that accepts it', async () => {
    claude.next({ toolCalls: [{ name: 'weather', arguments: CITY }] });
    const { calls, platform } = await answerOf(door, { ...door.body('claude-opus-4-8', SCHEMA), ...door.named });
    expect([calls[0]?.name, platform.adapted]).toEqual(['weather', undefined]);
    expect(claude.requests.at(-1)!.asked).toMatchObject({ tools: ['weather'], toolChoice: ['weather'], schema: null });
  });

  test('a selector may choose a model that refuses forced calls', async () => {
    const { platform } = await answerOf(door, { ...door.body('auto', SCHEMA), ...door.named });
    expect([platform.routed_model, platform.adapted]).toEqual(['claude-opus-5-5', ['tool_choice']]);
  });

  test('with `forced_tools: refuse` a forced call is refused, and the error names the setting that allows it', async () => {
    const response = await refusing.post(door.path, { ...door.body('claude-opus-5-5', SCHEMA), ...door.named });
    const { message } = (await expectError(response, 'no_eligible_model', 'tool_choice'))!;
    expect(message).toContain('does not accept a forced `tool_choice`');
    expect(message).toContain('`gateway.forced_tools: adapt`');
  });

  test('a forced call is refused on a model without structured output', async () => {
    const response = await box.post(door.path, { ...door.body('no-schema', SCHEMA), ...door.named });
    await expectError(response, 'no_eligible_model', 'tool_choice');
  });

  test.each<[string, () => object, string]>([
    [
      'of several functions',
      () => ({ ...door.body('claude-opus-5-5', SCHEMA, ['time']), ...door.any }),
      'one function',
    ],
    [
      'after an earlier call',
      () => ({ ...door.body('claude-opus-5-5', SCHEMA), ...door.named, ...door.earlier }),
      'earlier tool call',
    ],
    [
      'with members of any name',
      () => withSchema({ type: 'object', additionalProperties: { type: 'string' } }),
      'arbitrary keys',
    ],
    [
      'with a recursive schema',
      () => withSchema({ type: 'object', properties: { next: { $ref: '#' } } }),
      'is recursive',
    ],
  ])('a forced call %s is refused with the reason, and a selector chooses another model', async (_form, body, why) => {
    const response = await box.post(door.path, body());
    const { message } = (await expectError(response, 'no_eligible_model', 'tool_choice'))!;
    expect(message).toContain('does not accept a forced `tool_choice`');
    expect(message).toContain(why);
    // The provider rejects this schema as the format of the answer for the same reason, so the error does not suggest that format.
    expect(message).not.toContain('json_schema');
    claude.next({ toolCalls: [{ name: 'weather', arguments: CITY }] });
    const { platform } = await answerOf(door, { ...body(), model: 'auto' });
    expect([platform.routed_model, platform.adapted]).toEqual(['claude-opus-4-8', undefined]);
  });

  test('a forced call whose schema has alternatives at the top is refused with the reason', async () => {
    const response = await box.post(door.path, withSchema({ type: 'object', anyOf: [SCHEMA] }));
    const { message } = (await expectError(response, 'no_eligible_model', 'tool_choice'))!;
    expect(message).toContain('`anyOf` at the top');
  });

  const withSchema = (schema: object) => ({ ...door.body('claude-opus-5-5', schema), ...door.named });
});

test('Signalbox adapts a request with thinking and a forced call for a model that refuses both together', async () => {
  const body = { ...chat.body('claude-opus-4-8', SCHEMA), ...chat.named, reasoning_effort: 'high' };
  claude.next({ reasoning: 'Bern is in Switzerland.', text: CITY_PIECES });
  const { calls, platform } = await answerOf(chat, { ...body, stream: true });
  expect([calls[0]?.arguments, platform.adapted]).toEqual([CITY, ['tool_choice']]);
  expect(claude.requests.at(-1)!.body.thinking).toMatchObject({ type: 'adaptive' });
});

test('an adapted Messages request keeps the fields that only Anthropic knows', async () => {
  const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
  const body = {
    ...messages.body('claude-opus-5-5', SCHEMA),
    ...messages.named,
    system,
    output_config: { effort: 'low' },
    stop_sequences: ['Bern'],
  };
  const { calls } = await answerOf(messages, body);
  expect(calls[0]?.arguments).toBe(CITY);
  const sent = claude.requests.at(-1)!.body;
  expect(sent).toMatchObject({ system, output_config: { effort: 'low', format: { type: 'json_schema' } } });
  expect(sent).not.toContainAnyKeys(['tools', 'tool_choice', 'stop_sequences']);
});

test('a Messages request whose `output_config` is null is adapted', async () => {
  const body = { ...messages.body('claude-opus-5-5', SCHEMA), ...messages.named, output_config: null };
  const { calls } = await answerOf(messages, body);
  expect(calls[0]?.arguments).toBe(CITY);
});

test('a request that switches off parallel calls can also use a model that answers in a schema', async () => {
  const body = { ...chat.body('refuses-calls', SCHEMA), ...chat.named, parallel_tool_calls: false };
  expect((await answerOf(chat, body)).calls[0]?.arguments).toBe(CITY);
  expect(other.requests.at(-1)!.body).not.toContainAnyKeys(['tools', 'tool_choice', 'parallel_tool_calls']);
});

test('each choice of an answer has an adapted call with its own ID', async () => {
  const body = { ...chat.body('refuses-calls', SCHEMA), ...chat.named, n: 2 };
  const response = await box.post(chat.path, body);
  const choices = objectsIn(objectOf(await response.json()).choices);
  const calls = choices.flatMap(({ message }) => chatCalls(objectOf(message).tool_calls));
  expect(calls.map((call) => call.arguments)).toEqual([CITY, CITY]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
});

test('the result of an adapted call is accepted like the result of any call', async () => {
  const body = { ...messages.body('claude-opus-5-5', SCHEMA), ...messages.named };
  const { calls } = await answerOf(messages, body);
  const id = calls[0]!.id;
  const later = {
    ...messages.body('claude-opus-5-5', SCHEMA),
    messages: [
      ...QUESTION,
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'weather', input: { city: 'Bern' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'Rain' }] },
    ],
  };
  claude.next({ text: 'It rains.' });
  expect((await answerOf(messages, later)).text).toBe('It rains.');
});

test('the record of the decision says what was adapted, and repeating the decision gives the same result', async () => {
  const { platform } = await answerOf(chat, { ...chat.body('claude-opus-5-5', SCHEMA), ...chat.named });
  const decision = objectOf(await (await box.get(`/v1/decisions/${platform.decision_id}`)).json());
  expect(objectOf(decision.outcome).adapted).toEqual(['tool_choice']);
  expect(objectOf(decision.facts)).toMatchObject({ adapts_forced_tool: true });
  expect(objectOf(decision.replay).matches).toBe(true);
});

test('/v1/route says for each model whether the forced call would be adapted, as in a chat', async () => {
  const response = await box.post('/v1/route', { ...chat.body('auto', SCHEMA), ...chat.named });
  const { recommended_model: model, adapted, alternatives } = objectOf(await response.json());
  expect([model, adapted]).toEqual(['claude-opus-5-5', ['tool_choice']]);
  expect(objectsIn(alternatives).map((other) => [other.model, other.adapted])).toEqual([
    ['claude-opus-4-8', undefined],
    ['refuses-calls', ['tool_choice']],
  ]);
});

test.each([
  ['claude-opus-5-5', true],
  ['claude-opus-4-8', false],
])('the explanation of a decision for %s mentions the schema: %p', async (model, isAdapted) => {
  const body = { ...chat.body(model, SCHEMA), ...chat.named };
  const { decision_id: id } = objectOf(await (await box.post('/v1/route', body)).json());
  const { explanation } = objectOf(await (await box.get(`/v1/decisions/${id}`)).json());
  expect(JSON.stringify(explanation).includes('JSON schema')).toBe(isAdapted);
});

test('a forced call in a conversation that ends with the beginning of an answer is refused with the reason', async () => {
  const body = { ...chat.body('refuses-calls', SCHEMA), ...chat.named };
  const begun = { messages: [...QUESTION, { role: 'assistant', content: '{' }] };
  const refused = await box.post(chat.path, { ...body, ...begun });
  const { message } = (await expectError(refused, 'no_eligible_model', 'tool_choice'))!;
  expect(message).toContain('continues an answer');
});
