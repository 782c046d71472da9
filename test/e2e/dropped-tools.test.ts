import { afterAll, beforeAll, expect, test } from 'bun:test';
import { platformOf } from '../support/dialect-bench.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Tests `gateway.drop_tools` with a tool of OpenAI that clients such as Codex always send, and models of other providers. */
let upstream: FakeUpstream;
let box: Signalbox;
let strict: Signalbox;

beforeAll(async () => {
  upstream = startFakeUpstream();
  const policy = (more: string) =>
    testPolicy(
      { own: { url: upstream.url, adapter: 'openai' }, chat: upstream.url },
      { searcher: { endpoints: ['own'] }, other: { endpoints: ['chat'] } },
      `gateway: { retries_max: 0${more} }
budgets:
  - { name: all, limit_credits: 1000000, window: total }
`,
    ).replace('searcher-upstream', 'gpt-4.1');
  const env = UPSTREAM_ENV;
  [box, strict] = await Promise.all([
    startSignalbox({ policy: policy(', drop_tools: [web_search, web_search_20250305]'), env }),
    startSignalbox({ policy: policy(''), env }),
  ]);
});
afterAll(async () => {
  await Promise.all([box.stop(), strict.stop()]);
  await upstream.stop();
});

const FUNCTION = { type: 'function', name: 'look', strict: false, parameters: { type: 'object', properties: {} } };
const SEARCH = { type: 'web_search' };
const ask = (tools: readonly object[], more: object = {}) => ({
  model: 'other',
  input: 'Hi',
  store: false,
  tools,
  ...more,
});
const sentTools = () => Reflect.get(upstream.requests.at(-1)!.body, 'tools');

test('Signalbox removes a dropped tool from a request that has other tools and names the tool; no money is held for it', async () => {
  const answer = await box.post('/v1/responses', ask([SEARCH, FUNCTION]));
  expect(answer.status).toBe(200);
  expect(platformOf((await answer.json()) as object)).toMatchObject({ routed_model: 'other', dropped: ['tools[0]'] });
  expect(sentTools()).toMatchObject([{ type: 'function', function: { name: 'look' } }]);
});

test('Signalbox also removes a dropped tool for models that support the tool, so that the choice does not depend on support', async () => {
  const answer = await box.post('/v1/responses', ask([FUNCTION, SEARCH], { model: 'searcher' }));
  expect(answer.status).toBe(200);
  expect(sentTools()).toEqual([FUNCTION]);
});

test('a route query with a dropped tool finds the same models as the request would', async () => {
  const route = await box.post('/v1/route', ask([FUNCTION, SEARCH], { model: 'auto' }));
  const { recommended, alternatives } = (await route.json()) as { recommended: object; alternatives: object[] };
  expect([recommended, ...alternatives]).toHaveLength(2);
});

test('a dropped tool is also removed in Anthropic’s dialect', async () => {
  const answer = await box.post('/v1/messages', {
    model: 'other',
    max_tokens: 99,
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [
      { type: 'web_search_20250305', name: 'web_search' },
      { name: 'look', input_schema: { type: 'object' } },
    ],
  });
  expect([answer.status, platformOf((await answer.json()) as object)?.dropped]).toEqual([200, ['tools[0]']]);
});

test.each<[string, object]>([
  ['forces it', ask([FUNCTION, SEARCH], { tool_choice: SEARCH })],
  ['offers nothing else', ask([SEARCH])],
])('a dropped tool stays in a request that %s', async (_, body) => {
  const refused = await box.post('/v1/responses', body);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  expect([refused.status, error.code]).toEqual([400, 'unsupported_parameter']);
  expect(error.message).toContain('(`web_search`), because only a provider that knows this tool can run it');
});

test('a tool stays if the policy does not list it', async () => {
  const refused = await strict.post('/v1/responses', ask([FUNCTION, SEARCH]));
  expect(refused.status).toBe(400);
});
