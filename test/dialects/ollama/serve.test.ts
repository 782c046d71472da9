import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openaiChat } from '../../../src/dialects/openai-chat/surface.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { type Signalbox, startSignalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { ollamaChat } from './surface.ts';

/**
 * A dialect that is unrelated to OpenAI's, served together with OpenAI's by the whole server over a socket. The dialect has other streams,
 * other errors and another header for the key. Code outside of this folder does not know it.
 */
const surfaces = [openaiChat, ollamaChat];
const COMMIT_MS = 200;

interface OllamaReply {
  readonly model: string;
  readonly created_at: string;
  readonly message: {
    readonly role: string;
    readonly content: string;
    readonly thinking?: string;
    readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: object } }[];
  };
  readonly done: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
  readonly total_duration?: number;
  readonly platform?: { readonly credits_consumed: number; readonly decision_id: string };
  readonly error?: string;
}

const upstream = useUpstream();
let box: Signalbox;
let simulated: Signalbox;

beforeAll(async () => {
  const gateway = `gateway: { commit_after_ms: ${COMMIT_MS}, retries_max: 0, output_above_maximum: refuse }\n`;
  const policy = testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, gateway);
  // Images go to a model with vision.
  const seeing = policy.replace('[tools, json_schema]', '[tools, json_schema, vision]');
  box = await startSignalbox({ surfaces, policy: seeing, env: UPSTREAM_ENV });
  simulated = await startSignalbox({ surfaces });
});
afterAll(async () => {
  await Promise.all([box.stop(), simulated.stop()]);
});

const messages = [{ role: 'user', content: 'Say hello.' }];

function ask(body: object, headers: Readonly<Record<string, string>> = {}, to = box): Promise<Response> {
  return fetch(`${to.url}/api/chat`, {
    method: 'POST',
    body: JSON.stringify({ model: 'best', messages, ...body }),
    headers: { 'content-type': 'application/json', 'x-api-key': to.key, ...headers },
  });
}

const replyOf = async (response: Response): Promise<OllamaReply> => (await response.json()) as OllamaReply;

async function linesOf(response: Response): Promise<OllamaReply[]> {
  const lines = (await response.text()).split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line) as OllamaReply);
}

describe('with the simulated models', () => {
  test('a request without `stream` gets lines, and the last line has the counts, the duration and the price', async () => {
    const response = await ask({ model: 'auto-fast' }, {}, simulated);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const lines = await linesOf(response);
    const last = lines.pop()!;
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.every(({ done, message }) => !done && message.role === 'assistant')).toBe(true);
    expect(lines.map(({ message }) => message.content).join('')).toContain('You said: "Say hello."');
    expect(last).toMatchObject({ done: true, done_reason: 'stop', message: { role: 'assistant', content: '' } });
    expect(last.prompt_eval_count).toBeGreaterThan(0);
    expect(last.eval_count).toBeGreaterThan(0);
    expect(Number.isInteger(last.total_duration)).toBe(true);
    expect(Date.parse(last.created_at)).toBeGreaterThan(0);
    expect(last.platform!.credits_consumed).toBeGreaterThan(0);
  });

  test('a request with `stream: false` gets one object, and OpenAI’s callers still get their own form', async () => {
    const whole = await replyOf(await ask({ model: 'auto-fast', stream: false }, {}, simulated));
    expect(whole).toMatchObject({ done: true, done_reason: 'stop', message: { role: 'assistant' } });
    const answer = await answerOf(await simulated.post('/v1/chat/completions', { model: 'auto-fast', messages }));
    expect(answer.choices[0]!.message.content).toBe(whole.message.content);
    expect(answer.platform.credits_consumed).toBe(whole.platform!.credits_consumed);
  });

  test('a tool is called with an object, and its result is read by name', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather.', parameters } }];
    const question = { role: 'user', content: 'What is the weather in Bern?' };
    const called = await replyOf(
      await ask({ model: 'auto-fast', stream: false, messages: [question], tools }, {}, simulated),
    );
    const calls = called.message.tool_calls!;
    expect(calls).toEqual([{ function: { name: 'weather', arguments: { city: 'simulated' } } }]);
    const result = { role: 'tool', tool_name: 'weather', content: '20 °C' };
    const next = [question, { role: 'assistant', content: '', tool_calls: calls }, result];
    const answered = await replyOf(
      await ask({ model: 'auto-fast', stream: false, messages: next, tools }, {}, simulated),
    );
    expect(answered.message.content).toContain('The tool answered: "20 °C"');
  });

  test('the API’s documentation has its path, both headers of a key and its errors', async () => {
    const document = (await (await fetch(`${simulated.url}/docs/json`)).json()) as {
      paths: Record<string, { post: { security: object[]; responses: Record<string, object> } }>;
      components: { securitySchemes: object };
    };
    const { security, responses } = document.paths['/api/chat']!.post;
    expect(security).toEqual([{ apiKey: [] }, { apiKeyHeader: [] }]);
    expect(document.components.securitySchemes).toMatchObject({
      apiKey: { type: 'http', scheme: 'bearer' },
      apiKeyHeader: { in: 'header', name: 'x-api-key' },
    });
    expect(JSON.stringify(responses['401'])).toContain('{"value":{"error":"The API key');
  });
});

describe('a request', () => {
  test('reaches the model with its images, options, tools and format', async () => {
    upstream.next({ text: '{}' });
    const body = {
      stream: false,
      messages: [{ role: 'user', content: 'What is it?', images: ['/9j/4AAQ'] }],
      options: { num_predict: 7, temperature: 0.5, top_p: 0.9, seed: 3, stop: ['x'], num_ctx: 4096 },
      format: { type: 'object', properties: {} },
    };
    const response = await ask(body);
    expect([response.status, await response.clone().text()]).toEqual([200, expect.any(String)]);
    expect(upstream.requests.at(-1)!.body as object).toMatchObject({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/4AAQ' } },
          ],
        },
      ],
      temperature: 0.5,
      top_p: 0.9,
      seed: 3,
      stop: ['x'],
      response_format: { type: 'json_schema' },
    });
  });

  test('is recorded, logged and priced like every chat', async () => {
    upstream.next({ usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
    const { platform } = await replyOf(await ask({ stream: false }));
    expect(platform!.credits_consumed).toBe(0.09);
    const decision = (await (await box.get(`/v1/decisions/${platform!.decision_id}`)).json()) as object;
    expect(decision).toMatchObject({ kind: 'chat', outcome: { credits_consumed: 0.09 } });
    const line = await waitFor(() =>
      box.lines.map((text) => JSON.parse(text)).find(({ decision: id }) => id === platform!.decision_id),
    );
    expect(line).toMatchObject({ message: 'chat', status: 200 });
  });

  test('with tools is streamed call by call, with complete arguments', async () => {
    const toolCalls = [
      { name: 'a', arguments: '{"x":1,"y":"two"}' },
      { name: 'b', arguments: '{}' },
    ];
    upstream.next({ toolCalls });
    const tools = ['a', 'b'].map((name) => ({ type: 'function', function: { name } }));
    const lines = await linesOf(await ask({ tools }));
    expect(lines.flatMap(({ message }) => message.tool_calls ?? [])).toEqual([
      { function: { name: 'a', arguments: { x: 1, y: 'two' } } },
      { function: { name: 'b', arguments: {} } },
    ]);
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: 'stop' });
  });

  test('whose answer is cut at its cap says so, and its thinking is separate', async () => {
    upstream.next({ reasoning: 'Hm.', text: 'Hel', finish: 'length' });
    const { message, done_reason } = await replyOf(await ask({ stream: false }));
    expect([message.thinking, message.content, done_reason]).toEqual(['Hm.', 'Hel', 'length']);
  });
});

describe('an error', () => {
  test.each([
    ['no key', { 'x-api-key': '' }, {}, 401],
    ['an unknown key in the other header', { 'x-api-key': '', authorization: 'Bearer sb_live_x' }, {}, 401],
    ['a field of the wrong kind', {}, { messages: [{ role: 'user', content: 7 }] }, 400],
    ['no such model', {}, { model: 'none' }, 404],
  ] as const)('for %s is `{"error": …}`', async (_, headers, body, status) => {
    const response = await ask(body, headers);
    const reply = await replyOf(response);
    expect([response.status, Object.keys(reply), typeof reply.error]).toEqual([status, ['error'], 'string']);
  });

  test('names the field of its own dialect, and the headers that may contain a key', async () => {
    const wrong = await replyOf(await ask({ messages: [{ role: 'user', images: 'x' }] }));
    expect(wrong.error).toContain('messages[0].images');
    expect((await replyOf(await ask({}, { 'x-api-key': '' }))).error).toContain('x-api-key: sb_live_');
  });

  test('from the model before the first part has a status', async () => {
    upstream.next({ fail: 'server' });
    const response = await ask({});
    expect([response.status, Object.keys(await replyOf(response))]).toEqual([502, ['error']]);
  });

  test('after the headers were sent, or after the first part, is the last line', async () => {
    upstream.next({ headersAfterMs: 4 * COMMIT_MS, fail: 'server' });
    const committed = await ask({});
    expect(committed.status).toBe(200);
    expect(Object.keys((await linesOf(committed)).at(-1)!)).toEqual(['error']);
    upstream.next({ text: ['one ', 'two '], cutAfter: 2 });
    const lines = await linesOf(await ask({}));
    expect(lines[0]!.message.content).toBe('one ');
    expect(Object.keys(lines.at(-1)!)).toEqual(['error']);
  });

  test('names the field for the length of the answer as the request does', async () => {
    const refused = await ask({ options: { num_predict: 99_999 } });
    expect((await replyOf(refused)).error).toContain('options.num_predict is above its maximum');
    for (const field of ['max_tokens', 'max_completion_tokens']) {
      const answer = await box.post('/v1/chat/completions', { model: 'best', messages, [field]: 99_999 });
      expect((await answerOf(answer)).error.message).toContain(`: ${field} is above its maximum`);
    }
  });

  test('on routes that belong to no surface has OpenAI’s form, as before', async () => {
    const response = await fetch(`${box.url}/v1/models`);
    expect((await answerOf(response)).error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' });
  });
});

describe('an Idempotency-Key', () => {
  test('gets the same lines again, at no cost and without a call to the provider', async () => {
    for (const stream of [true, false]) {
      const key = `ollama-${crypto.randomUUID()}`;
      upstream.next({ text: ['one ', 'two ', 'three'] });
      const first = await ask({ stream }, { 'idempotency-key': key });
      const text = await first.text();
      const { length } = upstream.requests;
      const again = await ask({ stream }, { 'idempotency-key': key });
      expect([await again.text(), again.headers.get('x-signalbox-replayed')]).toEqual([text, 'true']);
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(upstream.requests.length).toBe(length);
    }
  });

  test('applies to one dialect: the same body in another dialect is another request', async () => {
    const key = `ollama-${crypto.randomUUID()}`;
    const body = { model: 'best', messages, stream: false };
    await (await ask(body, { 'idempotency-key': key })).text();
    const other = await box.post('/v1/chat/completions', body, { headers: { 'idempotency-key': key } });
    expect([other.status, (await answerOf(other)).error.code]).toEqual([422, 'idempotency_key_reused']);
  });
});
