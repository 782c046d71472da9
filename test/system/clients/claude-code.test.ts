import { beforeEach, describe, expect, test } from 'bun:test';
import { isObject, type Json, listOf, objectOf, textOf } from '../../../plugins/providers/json.ts';
import { startBench } from '../../support/dialect-bench.ts';
import type { Behaviour, RecordedRequest } from '../../support/fake-upstream.ts';
import { type FoldedMessage, foldedMessage } from '../../support/message-events.ts';
import { useSignalbox } from '../../support/use.ts';

/**
 * Each point of the gateway protocol that Anthropic publishes for Claude Code. The test does not run the program: it sends requests as the
 * program does, and checks answers with the rules that the program enforces.
 */
const SESSION = '6f1c2b1e-0000-4000-8000-000000000001';
const HEADERS = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'claude-code-20250219,context-management-2025-06-27,a-beta-of-tomorrow',
  'x-claude-code-session-id': SESSION,
  'x-app': 'cli',
};
const mark = { cache_control: { type: 'ephemeral' } };
const SYSTEM = [
  { type: 'text', text: 'x-anthropic-billing-header: cc_version=9.9' },
  { type: 'text', text: 'You are an agent.', ...mark },
];
const TOOLS = [
  {
    name: 'Read',
    description: 'Reads a file.',
    input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];

const textBlock = (text: string) => ({ type: 'text', text });

/** A request in the program's form: it moves its cache mark to the last message. */
function requestOf(messages: readonly Json[], more: object = {}): object {
  const marked = messages.map((message, at) => {
    const content = listOf(message.content);
    if (at < messages.length - 1 || message.role !== 'user') return message;
    return {
      ...message,
      content: content.map((block, i) => (i < content.length - 1 ? block : { ...objectOf(block), ...mark })),
    };
  });
  return {
    model: 'best',
    max_tokens: 8_000,
    stream: true,
    system: SYSTEM,
    messages: marked,
    tools: TOOLS,
    thinking: { type: 'adaptive', display: 'summarized' },
    metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: SESSION }) },
    ...more,
  };
}

const userSays = (text: string): Json => ({ role: 'user', content: [textBlock(text)] });

/** A model that thinks, reads two files one after the other, and answers. */
function reader({ asked }: RecordedRequest): Behaviour {
  const results = asked.turns.flatMap((turn) => turn.results);
  const path = ['a.ts', 'b.ts'][results.length];
  if (path === undefined) return { reasoning: 'I have both.', text: 'They differ.' };
  return { reasoning: `I need ${path}.`, toolCalls: [{ name: 'Read', arguments: JSON.stringify({ path }) }] };
}

describe.each(['anthropic', 'gemini'] as const)('on an upstream of %s', (dialect) => {
  const bench = startBench(dialect);
  beforeEach(() => bench.upstream.behave({}));

  const send = (body: object, headers: object = HEADERS): Promise<Response> =>
    bench.box.post('/v1/messages?beta=true', body, { headers: headers as Record<string, string> });

  async function answerTo(messages: readonly Json[], more: object = {}): Promise<FoldedMessage> {
    const response = await send(requestOf(messages, more));
    const text = await response.text();
    expect([response.status, response.status === 200 ? '' : text]).toEqual([200, '']);
    expect(response.headers.get('content-type')).toStartWith('text/event-stream');
    return foldedMessage(text);
  }

  test('a tool loop with thoughts over several turns completes and follows the rules of streams', async () => {
    bench.upstream.behave(reader);
    const messages = [userSays('Compare a.ts and b.ts.')];
    const reasons: unknown[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const { content, message } = await answerTo(messages);
      reasons.push(message.stop_reason);
      expect([content[0]!.type, textOf(content[0]!.signature) === '']).toEqual(['thinking', false]);
      messages.push({ role: 'assistant', content });
      const results = content.flatMap(({ type, id, input }) =>
        type === 'tool_use'
          ? [{ type: 'tool_result', tool_use_id: id, content: `the text of ${textOf(objectOf(input).path)}` }]
          : [],
      );
      if (results.length > 0) messages.push({ role: 'user', content: results });
    }
    expect(reasons).toEqual(['tool_use', 'tool_use', 'end_turn']);
    messages.push(userSays('Thanks.'));
    await answerTo(messages);
    const { asked, text } = bench.upstream.requests.at(-1)!;
    expect(asked.turns.map(({ role, results }) => [role, results.map((one) => one.text)])).toEqual([
      ['user', []],
      ['assistant', []],
      ['user', ['the text of a.ts']],
      ['assistant', []],
      ['user', ['the text of b.ts']],
      ['assistant', []],
      ['user', []],
    ]);
    // Each thought returned to the model that wrote it. For another service this holds for thoughts attached to calls.
    const thoughts = dialect === 'gemini' ? text.split('"thoughtSignature"') : text.split('"type":"thinking"');
    expect(thoughts.length - 1).toBe(dialect === 'gemini' ? 2 : 3);
    expect(text).not.toMatch(/signalbox-state|skip_thought_signature/);
  });

  test('Signalbox forwards a beta field with its header, and accepts unknown fields and betas', async () => {
    const { platform } = await answerTo([userSays('Hi.')], {
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    });
    const { headers, body } = bench.upstream.requests.at(-1)!;
    const dropped = objectOf(platform).dropped;
    if (dialect === 'anthropic') {
      expect(headers.get('anthropic-beta')).toBe(HEADERS['anthropic-beta']);
      expect(Object.keys(body)).toContain('context_management');
      expect(dropped).toEqual([]);
    } else {
      expect(headers.get('anthropic-beta')).toBeNull();
      expect(dropped).toContain('context_management');
    }
    expect(headers.get('x-claude-code-session-id')).toBeNull();
  });

  test('the system prompt keeps the order of its blocks', async () => {
    await answerTo([userSays('Hi.')]);
    const { asked } = bench.upstream.requests.at(-1)!;
    expect(asked.system).toBe(SYSTEM.map(({ text }) => text).join('\n'));
  });

  test('the client receives words as soon as the model writes them', async () => {
    bench.upstream.next({ text: ['first ', 'second '], hang: dialect === 'anthropic' ? 4 : 1 });
    const response = await send(requestOf([userSays('Hi.')]));
    const stream = response.body!.getReader();
    let text = '';
    while (!text.includes('first ')) text += new TextDecoder().decode((await stream.read()).value);
    expect(text).not.toContain('message_stop');
    await stream.cancel();
  });

  test('a broken stream ends with an error event', async () => {
    bench.upstream.next({ text: ['one ', 'two ', 'three '], cutAfter: dialect === 'anthropic' ? 4 : 1 });
    const text = await (await send(requestOf([userSays('Hi.')]))).text();
    expect(text).toMatch(/event: error\ndata: \{"type":"error",.*\n\n$/);
    expect(text).not.toMatch(/message_delta|message_stop/);
  });

  test('a prompt that is too long gets the error text that the program searches for', async () => {
    bench.upstream.next({ fail: 'context' });
    const response = await send(requestOf([userSays('Hi.')]));
    const { error } = (await response.json()) as { error: { type: string; message: string } };
    expect([response.status, error.type]).toEqual([400, 'invalid_request_error']);
    expect(error.message).toStartWith('prompt is too long');
  });

  test('Signalbox accepts the key in either header, and reports a wrong key as an authentication error', async () => {
    const url = `${bench.box.url}/v1/messages`;
    const body = JSON.stringify({ ...requestOf([userSays('Hi.')]), stream: false });
    const ask = (headers: Record<string, string>) =>
      fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
    expect((await ask({ 'x-api-key': bench.box.key })).status).toBe(200);
    expect((await ask({ authorization: `Bearer ${bench.box.key}` })).status).toBe(200);
    const wrong = await ask({ 'x-api-key': 'sk-ant-wrong' });
    expect([wrong.status, await wrong.json()]).toMatchObject([401, { error: { type: 'authentication_error' } }]);
  });

  test('Signalbox answers a count of tokens', async () => {
    const { max_tokens: _, stream: __, ...body } = requestOf([userSays('Hi.')]) as Json;
    const response = await bench.box.post('/v1/messages/count_tokens?beta=true', body, { headers: HEADERS });
    const count: unknown = await response.json();
    expect([response.status, isObject(count) && Number(count.input_tokens) > 5]).toEqual([200, true]);
  });

  if (dialect === 'anthropic')
    test.each([
      'messages.1.content.0: Invalid `signature` in `thinking` block',
      'adaptive thinking is not supported on this model',
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
    ])('an error from which the program recovers reaches it word for word: %s', async (message) => {
      bench.upstream.next({ status: 400, error: { message } });
      const response = await send(requestOf([userSays('Hi.')]));
      expect([response.status, await response.json()]).toEqual([
        400,
        { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_fake' },
      ]);
    });
});

describe('before its first request', () => {
  const box = useSignalbox();

  test('the probe of the address needs no key', async () => {
    expect((await fetch(box.url, { method: 'HEAD' })).status).toBe(200);
  });

  test('discovery lists models under names that the program accepts', async () => {
    const response = await fetch(`${box.url}/v1/models?limit=1000`, {
      headers: { 'x-api-key': box.key },
      redirect: 'error',
    });
    const { data } = (await response.json()) as { data: { id: string; display_name: string }[] };
    const shown = data.filter(({ id }) => /^(?:claude|anthropic)/.test(id));
    expect(shown.map(({ id }) => id)).toContain('claude-auto');
    for (const { display_name } of shown) expect(display_name).not.toBe('');
  });

  test('Signalbox serves the discovered name', async () => {
    const answer = await box.post('/v1/messages', requestOf([userSays('Hi.')], { model: 'claude-auto', tools: [] }));
    expect(foldedMessage(await answer.text()).message).toMatchObject({ stop_reason: 'end_turn' });
  });
});
