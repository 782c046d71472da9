import { describe, expect, test } from 'bun:test';
import { adviceOf, answerOf } from '../support/answers.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/**
 * Tests `tool_choice: allowed_tools`. Few providers know the field; for all other providers, Signalbox omits
 * the tools that the field does not allow.
 */
const [chat, claude, gemini, own] = [
  useUpstream(),
  useUpstream({ dialect: 'anthropic' }),
  useUpstream({ dialect: 'gemini' }),
  useUpstream(),
];
const UPSTREAMS = { chat, claude, gemini, own } as const;
type Service = keyof typeof UPSTREAMS;
const box = useSignalbox(() => ({
  policy: testPolicy(
    {
      chat: chat.url,
      claude: { url: claude.url, adapter: 'anthropic' },
      gemini: { url: gemini.url, adapter: 'gemini' },
      own: { url: own.url, adapter: 'openai' },
    },
    {
      chat: { endpoints: ['chat'] },
      claude: { endpoints: ['claude'] },
      gemini: { endpoints: ['gemini'] },
      own: { endpoints: ['own'] },
    },
    'gateway: { retries_max: 0, tools_max: 5, drop_tools: [code_interpreter] }\n',
  )
    .replace('claude-upstream', 'claude-haiku-5-5')
    .replace('gemini-upstream', 'gemini-3.8-flash')
    .replace('own-upstream', 'gpt-4.1'),
}));

const PARAMETERS = { type: 'object', properties: {}, additionalProperties: false };
const NAMES = ['weather', 'time', 'news'] as const;
const ALLOWED = ['time', 'news'];

interface Shape {
  readonly path: string;
  readonly asked: object;
  tool(name: string): object;
  named(name: string): object;
  choice(mode: string | undefined, tools: readonly object[]): object;
  /** The path of the allowed tools and of their mode. */
  readonly at: string;
  readonly nameAt: string;
}

const SHAPES: Readonly<Record<'chat' | 'responses', Shape>> = {
  chat: {
    path: '/v1/chat/completions',
    asked: { messages: [{ role: 'user', content: 'Hi' }] },
    tool: (name) => ({ type: 'function', function: { name, parameters: PARAMETERS } }),
    named: (name) => ({ type: 'function', function: { name } }),
    choice: (mode, tools) => ({ type: 'allowed_tools', allowed_tools: { mode, tools } }),
    at: 'tool_choice.allowed_tools',
    nameAt: 'function.name',
  },
  responses: {
    path: '/v1/responses',
    asked: { input: 'Hi', store: false },
    tool: (name) => ({ type: 'function', name, strict: false, parameters: PARAMETERS }),
    named: (name) => ({ type: 'function', name }),
    choice: (mode, tools) => ({ type: 'allowed_tools', mode, tools }),
    at: 'tool_choice',
    nameAt: 'name',
  },
};
type ShapeName = keyof typeof SHAPES;

/** A request that offers all tools and allows some. */
function bodyOf(shape: ShapeName, model: string, mode: string | undefined, more: object = {}): object {
  const { asked, tool, named, choice } = SHAPES[shape];
  return { model, ...asked, tools: NAMES.map(tool), tool_choice: choice(mode, ALLOWED.map(named)), ...more };
}

/** Returns the names of the tools that were last sent to a provider, and the choice among them. */
const SENT: Readonly<Record<Exclude<Service, 'own'>, (body: Record<string, unknown>) => readonly unknown[]>> = {
  chat: ({ tools, tool_choice }) => [
    Object(tools).map((tool: { function: { name: string } }) => tool.function.name),
    tool_choice,
  ],
  claude: ({ tools, tool_choice }) => [
    Object(tools).map(({ name }: { name: string }) => name),
    Object(tool_choice).type === 'any' ? 'required' : 'auto',
  ],
  gemini: ({ tools, toolConfig }) => [
    Object(tools)[0].functionDeclarations.map(({ name }: { name: string }) => name),
    Object(toolConfig).functionCallingConfig.mode === 'ANY' ? 'required' : 'auto',
  ],
};

const sentTo = (upstream: FakeUpstream): Record<string, unknown> => ({
  ...Object(JSON.parse(upstream.requests.at(-1)!.text)),
});

describe.each(['chat', 'responses'] as const)('allowed tools in the dialect of %s', (shape) => {
  for (const mode of ['auto', 'required']) {
    test.each(['chat', 'claude', 'gemini'] as const)(`%s is sent only the allowed tools, ${mode}`, async (service) => {
      const answer = await box.post(SHAPES[shape].path, bodyOf(shape, service, mode));
      expect(answer.status, await answer.text()).toBe(200);
      expect(SENT[service](sentTo(UPSTREAMS[service]))).toEqual([ALLOWED, mode]);
    });
  }

  test('allowed tools are sent in the order of `tools`, each once', async () => {
    const { choice, named, path } = SHAPES[shape];
    const more = { tool_choice: choice('auto', ['news', 'time', 'news'].map(named)) };
    expect((await box.post(path, bodyOf(shape, 'chat', 'auto', more))).status).toBe(200);
    expect(SENT.chat(sentTo(chat))[0]).toEqual(ALLOWED);
  });

  const { at, nameAt, choice, named, path } = SHAPES[shape];
  const only = (mode: string | undefined, tools: readonly object[]) => ({ tool_choice: choice(mode, tools) });
  test.each<[string, object, string, string, string]>([
    ['a strange mode', only('any', [named('time')]), `${at}.mode`, 'invalid_value', '"auto", "required"'],
    ['no list', { tool_choice: choice('auto', []) }, `${at}.tools`, '', 'at least 1'],
    [
      'a tool that is not offered',
      only('auto', [named('time'), named('love')]),
      `${at}.tools[1].${nameAt}`,
      'invalid_value',
      '`love`',
    ],
    ['a tool without a name', only('auto', [{ type: 'function' }]), `${at}.tools[0]`, 'missing_field', 'required'],
    ['no tools', { ...only('auto', [named('time')]), tools: [] }, '', '', 'tool'],
  ])('a request whose allowed tools have %s gets a 400 that names the field', async (_, more, param, code, says) => {
    const refused = await box.post(path, bodyOf(shape, 'chat', 'auto', more));
    const { error } = await answerOf(refused);
    expect([refused.status, error.param?.startsWith(param)], JSON.stringify(error)).toEqual([400, true]);
    expect(error.code).toStartWith(code);
    expect(error.message).toContain(says);
  });
});

describe('a Responses request with allowed tools', () => {
  const post = (more: object) => box.post('/v1/responses', bodyOf('responses', 'own', 'required', more));
  const { tool, named, choice } = SHAPES.responses;
  const SEARCH = { type: 'web_search' };

  test('a Responses request is passed to OpenAI unchanged, with the other tools, which count in its size', async () => {
    const long = { ...tool('weather'), description: 'word '.repeat(2_000) };
    const tools = [long, tool('time'), tool('news')];
    const answer = await post({ tools });
    expect(answer.status, await answer.text()).toBe(200);
    expect(sentTo(own)).toMatchObject(bodyOf('responses', 'gpt-4.1', 'required', { tools }));
    const sizeOf = async (more: object): Promise<number> => {
      const route = await box.post('/v1/route', bodyOf('responses', 'own', 'required', more));
      return (await adviceOf(route)).max_cost_credits;
    };
    // 10,000 bytes at 0.001 Credits a token.
    expect((await sizeOf({ tools })) - (await sizeOf({}))).toBeGreaterThan(9.9);
  });

  test('all tools of a Responses request count against the limit', async () => {
    const many = ['a', 'b', 'c'].map(tool);
    const refused = await post({ tools: [...NAMES.map(tool), ...many] });
    expect([refused.status, (await answerOf(refused)).error.param]).toEqual([400, 'tools']);
    const inInput = { type: 'additional_tools', tools: Array.from({ length: 6 }, () => SEARCH) };
    const hosted = await post({ input: [{ role: 'user', content: 'Hi' }, inInput], tools: [], tool_choice: 'auto' });
    expect([hosted.status, (await answerOf(hosted)).error.param]).toEqual([400, 'tools']);
  });

  test('a Responses request is sent without a tool of OpenAI that it does not allow, because the tool could run and be billed', async () => {
    const run = { type: 'mcp', server_label: 'x', server_url: 'https://example.com' };
    const answer = await post({ tools: [...NAMES.map(tool), SEARCH, run] });
    expect(Object(await answer.json()).platform.dropped).toEqual(['tools[3]', 'tools[4]']);
    expect(sentTo(own)).toMatchObject(bodyOf('responses', 'gpt-4.1', 'required', { tools: NAMES.map(tool) }));
    const [searchAlone, both] = [choice('auto', [SEARCH]), [SEARCH, run]];
    const alone = await post({ tools: both, tool_choice: searchAlone });
    expect(alone.status, await alone.text()).toBe(200);
    expect(sentTo(own)).toMatchObject({ tools: [SEARCH], tool_choice: searchAlone });
  });

  const withSearch = [...NAMES.map(tool), SEARCH];

  test('a tool of OpenAI is also left out for another provider; if the request allows it, the request is refused with the tool’s name', async () => {
    const left = await post({ model: 'chat', tools: withSearch });
    expect(left.status, await left.text()).toBe(200);
    expect(SENT.chat(sentTo(chat))).toEqual([ALLOWED, 'required']);
    const asked = { model: 'chat', tools: withSearch, tool_choice: choice('auto', [named('time'), SEARCH]) };
    const { error } = await answerOf(await post(asked));
    expect([error.code, error.param]).toEqual(['unsupported_parameter', 'tools[3].type']);
    expect(error.message).toContain('(`web_search`)');
  });

  test('a Responses request may allow tools by their type, but no type that it does not offer', async () => {
    const both = choice('auto', [named('time'), SEARCH]);
    const answer = await post({ tools: withSearch, tool_choice: both });
    expect(answer.status, await answer.text()).toBe(200);
    expect(sentTo(own)).toMatchObject({ tools: withSearch, tool_choice: both });
    const { error } = await answerOf(await post({ tool_choice: both }));
    expect([error.param, error.message]).toEqual([
      'tool_choice.tools[1].type',
      '`tools` has no tool of the type `web_search`.',
    ]);
  });

  test('a Responses request cannot allow a tool that the policy drops', async () => {
    const run = { type: 'code_interpreter', container: { type: 'auto' } };
    const asked = { tools: [tool('time'), run], tool_choice: choice('auto', [named('time'), run]) };
    const answer = await post(asked);
    expect(answer.status, await answer.text()).toBe(200);
    expect(sentTo(own)).toMatchObject({ tools: [tool('time')], tool_choice: choice('auto', [named('time')]) });
  });

  test('allowed tools without a mode mean `auto`, and the answer says so', async () => {
    const answer = await box.post('/v1/responses', bodyOf('responses', 'chat', undefined));
    const { tool_choice: echo } = Object(await answer.json());
    expect(echo).toEqual(choice('auto', ALLOWED.map(named)));
    expect(SENT.chat(sentTo(chat))).toEqual([ALLOWED, 'auto']);
  });

  test('allowed tools are found in namespaces', async () => {
    const space = (name: string) => ({
      type: 'namespace',
      name,
      description: 'x',
      tools: [tool('time'), tool('news')],
    });
    const asked = {
      model: 'chat',
      tools: [space('here'), space('there')],
      tool_choice: choice('required', [{ ...named('time'), namespace: 'there' }, named('news')]),
    };
    const answer = await post(asked);
    expect(answer.status, await answer.text()).toBe(200);
    expect(SENT.chat(sentTo(chat))[0]).toEqual(['here__news', 'there__time', 'there__news']);
    const whole = await post({ ...asked, tool_choice: choice('auto', [{ type: 'namespace', name: 'here' }]) });
    expect(whole.status, await whole.text()).toBe(200);
    expect(SENT.chat(sentTo(chat))[0]).toEqual(['here__time', 'here__news']);
    const { error } = await answerOf(
      await post({ ...asked, tool_choice: choice('auto', [{ type: 'namespace', name: 'x' }]) }),
    );
    expect(error.param).toBe('tool_choice.tools[0].name');
  });
});

test('all tools of a chat with allowed tools count against the limit', async () => {
  const { tool } = SHAPES.chat;
  const many = [...NAMES, 'a', 'b', 'c'].map(tool);
  const refused = await box.post('/v1/chat/completions', bodyOf('chat', 'chat', 'auto', { tools: many }));
  expect([refused.status, (await answerOf(refused)).error.param]).toEqual([400, 'tools']);
});

test('the answer repeats `text.format` with its description', async () => {
  const format = { type: 'json_schema', name: 'x', description: 'A weather report.', schema: PARAMETERS, strict: true };
  const echoOf = async (more: object): Promise<unknown> => {
    const body = { model: 'chat', input: 'Hi', text: { format: { ...format, ...more } } };
    return Object(await (await box.post('/v1/responses', body)).json()).text;
  };
  expect(await echoOf({})).toEqual({ format });
  expect(await echoOf({ description: undefined, strict: undefined })).toEqual({
    format: { ...format, description: null, strict: false },
  });
});
