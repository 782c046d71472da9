import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hasTools, requestIn } from '../../fault/surfaces.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, EMAIL, PLACEHOLDER, WAYS, type Way } from './support.ts';

const UPSTREAMS = {
  openai: useUpstream(),
  anthropic: useUpstream({ dialect: 'anthropic' }),
  gemini: useUpstream({ dialect: 'gemini' }),
};
type UpstreamName = keyof typeof UPSTREAMS;
const ADAPTERS = { openai: 'openai-compatible', anthropic: 'anthropic', gemini: 'gemini' } as const;

/** Starts a server with a model at a service of each dialect, which receives requests of its own dialect unchanged. */
const start = (guards: string): Promise<Signalbox> => {
  const providers = Object.entries(UPSTREAMS).map(([name, { url }]) => [
    name,
    { url, adapter: ADAPTERS[name as UpstreamName] },
  ]);
  const models = Object.keys(UPSTREAMS).map((name) => [
    `at-${name}`,
    { endpoints: [name], price: { input: 4, output: 16 }, capabilities: ['tools', 'reasoning'] },
  ]);
  const policy = testPolicy(Object.fromEntries(providers), Object.fromEntries(models), `guards:\n${guards}\n`);
  return startSignalbox({ policy, env: UPSTREAM_ENV });
};

/** Each dialect of a caller, as JSON and as a stream, at a service of each dialect. */
const PAIRS = WAYS.filter(([, { surface }]) => hasTools(surface)).flatMap(([title, way]) =>
  (Object.keys(UPSTREAMS) as UpstreamName[]).map((name) => [`${title}, at ${name}`, way, name] as const),
);

const call = ({ surface, isStream }: Way, box: Signalbox, name: UpstreamName, question: string) => {
  const { path, body } = requestIn(surface, `at-${name}`, isStream, surface.body(400, 'mail', question));
  return box.post(path, body);
};

describe('a guard that masks', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await start(
      '  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [input, output], on_match: mask, unmask: [tool_arguments] }',
    );
  });
  afterAll(() => box.stop());

  test.each(PAIRS)('masks values in the arguments of tools: %s', async (_, way, name) => {
    const args = JSON.stringify({ to: ['bob@example.com'], text: 'a\nbob@example.com' });
    UPSTREAMS[name].next({ toolCalls: [{ name: 'mail', arguments: args }] });
    const { tools } = await contentOf(way, await call(way, box, name, 'Whom?'));
    const [tool] = tools;
    expect(JSON.stringify(tool?.arguments).replace(PLACEHOLDER, '*')).toBe('{"to":["*"],"text":"a\\n*"}');
  });

  test.each(PAIRS)('puts the values of the request back where `unmask` says: %s', async (_, way, name) => {
    const upstream = UPSTREAMS[name];
    const before = upstream.requests.length;
    upstream.behave(({ body }) => {
      const placeholder = JSON.stringify(body).match(PLACEHOLDER)?.[0] ?? 'none';
      const args = JSON.stringify({ to: placeholder, other: '[email:aaaaaaaaaaaa]' });
      return { toolCalls: [{ name: 'mail', arguments: args }] };
    });
    try {
      const { tools } = await contentOf(way, await call(way, box, name, `I am ${EMAIL}.`));
      expect(JSON.stringify(upstream.requests.slice(before).map(({ body }) => body))).not.toContain(EMAIL);
      expect(tools[0]?.arguments).toEqual({ to: EMAIL, other: '[email:aaaaaaaaaaaa]' });
    } finally {
      upstream.behave(() => ({}));
    }
  });
});

describe('a guard that blocks', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await start(
      '  - { name: pii, guard: personal-data, settings: { kinds: [email] }, on: [output], on_match: block }',
    );
  });
  afterAll(() => box.stop());

  test.each(PAIRS)('shows no call with a match in its arguments: %s', async (_, way, name) => {
    const args = JSON.stringify({ to: 'quartz@example.com' });
    UPSTREAMS[name].next({ toolCalls: [{ name: 'mail', arguments: args }] });
    const text = await (await call(way, box, name, 'Whom?')).text();
    expect([/content_blocked/i.test(text), text.includes('quartz')]).toEqual([true, false]);
  });

  test.each(PAIRS)('ends an answer whose thoughts have a match: %s', async (_, way, name) => {
    UPSTREAMS[name].next({ reasoning: 'I think of quartz@example.com a lot.', text: 'Ask somebody.' });
    const text = await (await call(way, box, name, 'Whom?')).text();
    if (!/content_blocked/i.test(text)) expect(text).not.toContain('quartz');
    else expect([text.includes('quartz'), text.includes('somebody')]).toEqual([false, false]);
  });
});
