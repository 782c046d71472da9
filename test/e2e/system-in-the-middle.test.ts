import { afterAll, describe, expect, test } from 'bun:test';
import { objectsIn } from '../../plugins/providers/json.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { useSignalbox } from '../support/use.ts';

/** A server whose chat template accepts one system message, at the beginning: Qwen's template, with vLLM. */
const template = startFakeUpstream({
  key: UPSTREAM_KEY,
  behaviour: ({ body }) =>
    objectsIn(body.messages).some(({ role }, at) => at > 0 && (role === 'system' || role === 'developer'))
      ? { status: 400, error: { message: 'System message must be at the beginning.' } }
      : {},
});
const claude = startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY });
const gemini = startFakeUpstream({ dialect: 'gemini', key: UPSTREAM_KEY });
const openai = startFakeUpstream({ key: UPSTREAM_KEY });
const upstreams = { template, claude, gemini, openai };

const box = useSignalbox(() => ({
  policy: testPolicy(
    {
      template: template.url,
      claude: { url: claude.url, adapter: 'anthropic' },
      gemini: { url: gemini.url, adapter: 'gemini' },
      openai: { url: openai.url, adapter: 'openai' },
    },
    {
      'qwen3.8-27b': { endpoints: ['template'] },
      'claude-haiku-4-5': { endpoints: ['claude'] },
      'claude-opus-4-8': { endpoints: ['claude'] },
      'gemini-3.8-flash': { endpoints: ['gemini'] },
      'gpt-5.4': { endpoints: ['openai'] },
    },
  )
    .replaceAll('-upstream', '')
    .replace('template: { adapter: openai-compatible,', 'template: { preset: vllm,'),
  env: UPSTREAM_ENV,
}));
afterAll(async () => {
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
});

const turns = [
  { role: 'user', content: 'Hello!' },
  { role: 'assistant', content: 'Hi.' },
  { role: 'user', content: 'What is red?' },
  { role: 'system', content: 'Answer in French.' },
];
const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages: [{ role: 'system', content: 'Be brief.' }, ...turns] },
  '/v1/messages': { max_tokens: 99, system: 'Be brief.', messages: turns },
  '/v1/responses': {
    store: false,
    instructions: 'Be brief.',
    // Codex sends a developer message in addition to the instructions.
    input: [{ role: 'developer', content: 'Be kind.' }, ...turns],
  },
};

/** Where the model reads the instruction: as a system message, or in the user's message, marked. */
const AS_USER: Readonly<Record<string, string>> = {
  'qwen3.8-27b': '<system>\nAnswer in French.\n</system>',
  'claude-haiku-4-5': '<system-reminder>\nAnswer in French.\n</system-reminder>',
};
const OF: Readonly<Record<string, keyof typeof upstreams>> = {
  'qwen3.8-27b': 'template',
  'claude-haiku-4-5': 'claude',
  'claude-opus-4-8': 'claude',
  'gemini-3.8-flash': 'gemini',
  'gpt-5.4': 'openai',
};

describe.each(Object.keys(BODIES))('a system message in the middle of %s', (path) => {
  test.each(Object.keys(OF))(
    'a system message in the middle is sent to %s in a form that it accepts',
    async (model) => {
      const response = await box.post(path, { ...BODIES[path], model });
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      const { asked, text } = upstreams[OF[model]!].requests.at(-1)!;
      expect(asked.system).toContain('Be brief.');
      const marked = AS_USER[model];
      if (marked === undefined) return expect(text).toContain('Answer in French.');
      expect(asked.system).not.toContain('French');
      const last = asked.turns.at(-1);
      expect([last?.role, last?.text.replace(/\s+/g, ' ')]).toEqual([
        'user',
        `What is red? ${marked.replaceAll('\n', ' ')}`,
      ]);
    },
  );
});

const [hello, hi, red, french] = turns;
describe.each(['/v1/chat/completions', '/v1/messages'])('if Claude refuses a system message in %s', (path) => {
  test.each<[string, (object | undefined)[]]>([
    ['after an answer', [hello, hi, french]],
    ['within the user’s message', [hello, hi, french, red, french, hello]],
  ])('the instruction is sent %s, but not as the user’s own words', async (_, messages) => {
    const response = await box.post(path, { max_tokens: 99, model: 'claude-opus-4-8', messages });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    const { turns: sent } = claude.requests.at(-1)!.asked;
    const ownWords = sent.map(({ text }) => text.replaceAll(AS_USER['claude-haiku-4-5']!, ''));
    expect(ownWords.join()).not.toContain('French');
  });
});

test('nothing is inserted between a tool call and its result if a server accepts system messages only at the beginning', async () => {
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const [user, calls] = [turns[0]!, { role: 'assistant', content: null, tool_calls: [call] }];
  const result = { role: 'tool', tool_call_id: 'c1', content: 'Red.' };
  const messages = [user, calls, turns[3]!, result];
  const response = await box.post('/v1/chat/completions', { model: 'qwen3.8-27b', messages });
  expect(response.status).toBe(200);
  const marked = `Red.\n\n${AS_USER['qwen3.8-27b']}`;
  expect(template.requests.at(-1)!.body.messages).toEqual([user, calls, { ...result, content: marked }]);
});

test('a model that a selector recommends accepts a system message in the middle', async () => {
  const response = await box.post('/v1/chat/completions', { ...BODIES['/v1/chat/completions'], model: 'auto' });
  expect(response.status).toBe(200);
});
