import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { expectError } from '../../support/error-contract.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { contentOf, EMAIL, MASK_EMAIL, PLACEHOLDER, send, startGuarded, WAYS } from './support.ts';

const upstream = useUpstream();
const sentSince = (before: number) => JSON.stringify(upstream.requests.slice(before).map(({ body }) => body));

describe('a guard that masks the input', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await startGuarded(upstream.url, MASK_EMAIL);
  });
  afterAll(() => box.stop());

  test.each(WAYS)('replaces every match before the model receives it: %s', async (_, way) => {
    const before = upstream.requests.length;
    await contentOf(way, await send(way, box, `Write to ${EMAIL} and ${EMAIL}.`));
    const sent = sentSince(before);
    expect(sent).not.toContain(EMAIL);
    const [first, second, ...more] = sent.match(PLACEHOLDER) ?? [];
    expect([first === second, more]).toEqual([true, []]);
  });

  test('gives a value the same placeholder in every turn of a conversation, and another one elsewhere', async () => {
    const placeholderIn = async (messages: readonly object[]) => {
      const before = upstream.requests.length;
      const answer = await box.post('/v1/chat/completions', { model: 'best', messages });
      expect(answer.status).toBe(200);
      return new Set(sentSince(before).match(PLACEHOLDER));
    };
    const first = { role: 'user', content: `I am ${EMAIL}.` };
    const one = await placeholderIn([first]);
    const two = await placeholderIn([first, { role: 'assistant', content: 'Hi.' }, { role: 'user', content: EMAIL }]);
    const other = await placeholderIn([{ role: 'user', content: `Another chat of ${EMAIL}.` }]);
    expect(two).toEqual(one);
    expect(other.size).toBe(1);
    expect(other).not.toEqual(one);
  });

  test('masks tool arguments, tool results, definitions, metadata and the user', async () => {
    const before = upstream.requests.length;
    const call = {
      id: 'c1',
      type: 'function',
      function: { name: 'mail', arguments: `{"to": ["\\u0071uxley@example.com"]}` },
    };
    const tool = {
      type: 'function',
      function: { name: 'mail', description: `Ask ${EMAIL}.`, parameters: { type: 'object', default: { to: EMAIL } } },
    };
    const answer = await box.post('/v1/chat/completions', {
      model: 'best',
      user: EMAIL,
      stop: [EMAIL],
      messages: [
        { role: 'system', content: `Never write to ${EMAIL}.` },
        { role: 'user', content: [{ type: 'text', text: `Hi ${EMAIL}` }], name: 'Ada' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: `{"sent":"${EMAIL}"}` },
      ],
      tools: [tool],
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    const sent = sentSince(before);
    expect(sent).not.toContain('uxley@example.com');
    expect(JSON.parse(JSON.parse(sent)[0].messages[2].tool_calls[0].function.arguments).to[0]).toMatch(PLACEHOLDER);
  });

  test('refuses a request with a match that it cannot replace', async () => {
    const calls = upstream.requests.length;
    const tools = [{ type: 'function', function: { name: 'f', parameters: { properties: { [EMAIL]: {} } } } }];
    const body = { model: 'best', messages: [{ role: 'user', content: 'Hi.' }], tools };
    const { message } = await expectError(await box.post('/v1/chat/completions', body), 'content_blocked');
    expect(message).not.toContain(EMAIL);
    expect(upstream.requests.length).toBe(calls);
  });
});

describe('a guard that blocks the input', () => {
  let box: Signalbox;
  beforeAll(async () => {
    box = await startGuarded(upstream.url, '  - { name: no-secrets, guard: secrets, on_match: block }');
  });
  afterAll(() => box.stop());

  test.each(WAYS)('refuses the request in its dialect, and calls no provider: %s', async (_, way) => {
    const calls = upstream.requests.length;
    const refused = await send(way, box, 'My key is AKIAIOSFODNN7EXAMPLE.');
    expect(refused.status).toBe(400);
    const text = await refused.text();
    expect(text).not.toContain('AKIA');
    const { code } = way.surface.failure(JSON.parse(text));
    expect(code).toBe('content_blocked');
    expect(upstream.requests.length).toBe(calls);
  });

  test('lets code that only names a credential pass', async () => {
    const content = 'const apiKey = process.env.API_KEY;\npassword: Optional[str] = None\ntoken = config.get("token2")';
    const answer = await box.post('/v1/chat/completions', { model: 'best', messages: [{ role: 'user', content }] });
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  });

  test('also refuses it before a recommendation, a count of tokens and an embedding', async () => {
    const messages = [{ role: 'user', content: 'My key is AKIAIOSFODNN7EXAMPLE.' }];
    for (const [path, body] of [
      ['/v1/route', { model: 'auto', messages }],
      ['/v1/messages/count_tokens', { model: 'best', messages }],
      ['/v1/embeddings', { model: 'best', input: ['Hi', 'My key is AKIAIOSFODNN7EXAMPLE.'] }],
    ] as const) {
      const refused = await box.post(path, body);
      expect([path, refused.status, (await refused.text()).includes('content_blocked')]).toEqual([path, 400, true]);
    }
  });
});
