import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import type { Behaviour } from '../support/fake-upstream.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_KEY } from '../support/policies.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** Each form in which a service or its model refuses to answer leads to the list `refused` of the model. */
const chats = useUpstream();
const gemini = startFakeUpstream({ key: UPSTREAM_KEY, dialect: 'gemini' });
afterAll(() => gemini.stop());
const other = useUpstream();
afterEach(() => {
  for (const upstream of [chats, gemini, other]) upstream.behave({});
});

const listed = (endpoint: string, upstream: string) => ({
  ...{ endpoints: [endpoint], upstream, quality: 0.9 },
  capabilities: ['choices'],
  more: '    fallbacks: { refused: [other] }\n',
});
const box = useSignalbox(() => ({
  policy: testPolicy(
    {
      chats: chats.url,
      responses: { url: chats.url, adapter: 'openai' },
      google: { url: gemini.url, adapter: 'gemini' },
      other: other.url,
    },
    {
      chatting: listed('chats', 'gpt-'),
      responding: listed('responses', 'gpt-5.4-'),
      blocking: listed('google', 'gemini-3.8-'),
      alone: { endpoints: ['google'], upstream: 'gemini-3.8-' },
      other: { endpoints: ['other'], quality: 0.5 },
    },
  ),
}));

const SAID = { refusal: 'I cannot help with that.', usage: { prompt_tokens: 10, completion_tokens: 3 } } as const;
const messages = [{ role: 'user', content: 'Say hello.' }];
const contents = [{ parts: [{ text: 'Say hello.' }] }];
const BLOCKED = {
  promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
  usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
};

interface Attempt {
  readonly model: string;
  readonly failure: string | null;
  readonly credits_consumed: number | null;
}

/** Returns the text of an answer in any dialect, and its attempts. */
async function ask(
  path: string,
  body: object,
): Promise<{ readonly text: string; readonly attempts: readonly string[] }> {
  const response = await box.post(path, body);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  const id = response.headers.get('x-signalbox-decision-id') ?? /dec_[0-9a-z]+/.exec(text)?.[0];
  const { outcome } = (await (await box.get(`/v1/decisions/${id}`)).json()) as {
    outcome: { attempts: readonly Attempt[] };
  };
  const attempts = outcome.attempts.map(({ model, failure }) => `${model} ${failure ?? 'ok'}`);
  // 10 tokens of input at 1 and 3 tokens of output at 4 millicredits.
  if (attempts.length > 1 && attempts[0]?.endsWith('refused'))
    expect(outcome.attempts[0]?.credits_consumed).toBe(0.022);
  return { text, attempts };
}

const blocked = (isStream: boolean): Behaviour => ({
  raw: [isStream ? `data: ${JSON.stringify(BLOCKED)}\n\n` : JSON.stringify(BLOCKED)],
  contentType: isStream ? 'text/event-stream' : 'application/json',
});

describe.each([false, true])('as a stream: %p,', (stream) => {
  test.each([
    ['chat completions', '/v1/chat/completions', { model: 'chatting', messages, stream, max_tokens: 100 }],
    ['chat completions through Responses', '/v1/chat/completions', { model: 'responding', messages, stream }],
    ['Responses', '/v1/responses', { model: 'responding', input: 'Say hello.', stream, max_output_tokens: 100 }],
    ['Messages', '/v1/messages', { model: 'chatting', messages, stream, max_tokens: 100 }],
  ])(
    'a refusal in the words of an OpenAI model, of a caller of %s, is paid, and the fallback answers',
    async (_, path, body) => {
      chats.next(SAID);
      const { text, attempts } = await ask(path, body);
      expect(attempts).toEqual([`${body.model} refused`, 'other ok']);
      expect(text).not.toContain('cannot help');
    },
  );

  test('a prompt that Gemini blocks is answered by the fallback', async () => {
    gemini.next(blocked(stream));
    const chat = await ask('/v1/chat/completions', { model: 'blocking', messages, stream, max_tokens: 100 });
    expect(chat.attempts).toEqual(['blocking rejected', 'other ok']);
    gemini.next(blocked(stream));
    const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    expect((await ask(`/v1beta/models/blocking:${method}`, { contents })).attempts).toEqual([
      'blocking rejected',
      'other ok',
    ]);
  });

  test('without a list for refusals, the caller gets the refusal, or the error about the blocked prompt', async () => {
    gemini.next(blocked(stream));
    const response = await box.post('/v1/chat/completions', { model: 'alone', messages, stream });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('PROHIBITED_CONTENT')]);
    other.next(SAID);
    const { text, attempts } = await ask('/v1/chat/completions', { model: 'other', messages, stream });
    expect(attempts).toEqual(['other ok']);
    expect(text).toContain(stream ? '"refusal":"I cann' : SAID.refusal);
  });
});

test('text that only begins like a refusal, or one refused choice of several, is an answer', async () => {
  chats.next({ text: 'I cannot help with that.' });
  const body = { model: 'chatting', messages, max_tokens: 100 };
  expect((await ask('/v1/chat/completions', body)).attempts).toEqual(['chatting ok']);
  const choice = (index: number, message: object) => ({
    index,
    message: { role: 'assistant', ...message },
    finish_reason: 'stop',
  });
  const answer = {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
    choices: [choice(0, { content: null, refusal: 'No.' }), choice(1, { content: 'Hello.', refusal: null })],
    usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 },
  };
  chats.next({ raw: [JSON.stringify(answer)], contentType: 'application/json' });
  expect((await ask('/v1/chat/completions', { ...body, n: 2 })).attempts).toEqual(['chatting ok']);
});
