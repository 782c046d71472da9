import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { answerOf } from '../support/answers.ts';
import { platformOf } from '../support/dialect-bench.ts';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { openApiOf } from '../support/openapi.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';
import { type Signalbox, startSignalbox } from '../support/signalbox.ts';

/** Tests `gateway.drop_unsupported` with a Claude model, which lacks most settings, and a model of OpenAI's dialect, which has them. */
let claude: FakeUpstream;
let other: FakeUpstream;
let openai: FakeUpstream;
let lax: Signalbox;
let strict: Signalbox;
/** A server that sends the headers of a stream at once. */
let hasty: Signalbox;

const ALL = '[presence_penalty, frequency_penalty, logit_bias, logprobs, seed, parallel_tool_calls]';

beforeAll(async () => {
  claude = startFakeUpstream({ dialect: 'anthropic', key: UPSTREAM_KEY });
  other = startFakeUpstream({ key: UPSTREAM_KEY });
  openai = startFakeUpstream({ key: UPSTREAM_KEY });
  const policy = (more: string) =>
    testPolicy(
      {
        claude: { url: claude.url, adapter: 'anthropic' },
        other: other.url,
        openai: { url: openai.url, adapter: 'openai' },
      },
      {
        sol: { endpoints: ['openai'], quality: 0.1, capabilities: ['reasoning'], more: '    lacks: [seed]\n' },
        'claude-opus-4-8': { endpoints: ['claude'], quality: 0.9 },
        able: { endpoints: ['other'], quality: 0.2, capabilities: ['tools', 'json_schema', 'logprobs', 'choices'] },
        seeing: { endpoints: ['other'], quality: 0.1, capabilities: ['vision'], more: '    lacks: [seed]\n' },
        toolless: { endpoints: ['other'], quality: 0.1, capabilities: [], more: '    lacks: [seed, tools]\n' },
        freely: {
          endpoints: ['other'],
          quality: 0.1,
          capabilities: ['tools', 'json_schema'],
          more: '    lacks: [forced_tools, seed]\n',
        },
        formless: {
          endpoints: ['other'],
          quality: 0.1,
          capabilities: ['tools'],
          more: '    lacks: [forced_tools, seed]\n',
        },
        mute: { endpoints: ['other'], quality: 0.1, capabilities: [], more: '    lacks: [seed]\n' },
        plain: { endpoints: ['other'], quality: 0.1, more: '    lacks: [single_tool_calls, seed]\n' },
      },
      `gateway: { retries_max: 0, forced_tools: refuse${more} }\n`,
    );
  [lax, strict, hasty] = await Promise.all([
    startSignalbox({ policy: policy(`, drop_unsupported: ${ALL}`), env: UPSTREAM_ENV }),
    startSignalbox({ policy: policy(', drop_unsupported: [presence_penalty]'), env: UPSTREAM_ENV }),
    startSignalbox({ policy: policy(', commit_after_ms: 100'), env: UPSTREAM_ENV }),
  ]);
});
afterAll(async () => {
  await Promise.all([lax.stop(), strict.stop(), hasty.stop()]);
  await Promise.all([claude.stop(), other.stop(), openai.stop()]);
});

const messages = [{ role: 'user', content: 'Hi' }];
const chat = (more: object, model = 'claude-opus-4-8') => ({ model, messages, ...more });
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }];
const sent = (to: FakeUpstream) => to.requests.at(-1)!.body;
const CHAT = '/v1/chat/completions';

describe('a listed field', () => {
  test.each<[string, object, string[]]>([
    ['presence_penalty', { presence_penalty: 1 }, ['presence_penalty']],
    ['frequency_penalty', { frequency_penalty: -1, presence_penalty: 0.5 }, ['presence_penalty', 'frequency_penalty']],
    ['logit_bias', { logit_bias: { '50256': -100 } }, ['logit_bias']],
    ['logprobs', { logprobs: true, top_logprobs: 3 }, ['logprobs', 'top_logprobs']],
    ['seed', { seed: 7 }, ['seed']],
  ])('a listed field %s is dropped and named if the model lacks it', async (_, fields, dropped) => {
    const response = await lax.post(CHAT, chat(fields));
    const { model, platform } = await answerOf(response);
    expect([response.status, model]).toEqual([200, 'claude-opus-4-8']);
    expect(platform.dropped).toEqual(dropped);
    expect(response.headers.get('x-signalbox-dropped')).toBe(dropped.join(', '));
    for (const name of Object.keys(fields)) expect(sent(claude)).not.toHaveProperty(name);
  });

  test('a listed field is sent to a model that accepts it, and then it is not named', async () => {
    const response = await lax.post(CHAT, chat({ seed: 7, logprobs: true }, 'able'));
    expect((await answerOf(response)).platform.dropped).toEqual([]);
    expect(response.headers.has('x-signalbox-dropped')).toBe(false);
    expect(sent(other)).toMatchObject({ seed: 7, logprobs: true });
  });

  test('a listed field excludes no model from a selector’s choice', async () => {
    const { model } = await answerOf(await lax.post(CHAT, chat({ seed: 7 }, 'auto')));
    const without = await answerOf(await lax.post(CHAT, chat({}, 'auto')));
    expect(model).toBe(without.model);
    expect((await answerOf(await strict.post(CHAT, chat({ seed: 7 }, 'auto')))).model).toBe('able');
  });

  test('a dropped field is also named in the header of a stream, and in its last chunk', async () => {
    const response = await lax.post(CHAT, chat({ seed: 7, stream: true }));
    expect(response.headers.get('x-signalbox-dropped')).toBe('seed');
    expect(await response.text()).toContain('"dropped":["seed"]');
  });

  test.each([false, true])(
    'a dropped field is also named in the header of a repeated answer (stream: %p)',
    async (stream) => {
      const init = { headers: { 'idempotency-key': crypto.randomUUID() } };
      const ask = async () => {
        const { headers, text } = await lax.post(CHAT, chat({ seed: 7, stream }), init).then(async (response) => ({
          headers: response.headers,
          text: await response.text(),
        }));
        return { replayed: headers.get('x-signalbox-replayed'), dropped: headers.get('x-signalbox-dropped'), text };
      };
      const first = await ask();
      expect(first).toMatchObject({ replayed: null, dropped: 'seed' });
      expect(await ask()).toEqual({ ...first, replayed: 'true' });
    },
  );

  test.each<[string, string, object]>([
    ['chat', CHAT, chat({ tools, parallel_tool_calls: false }, 'plain')],
    [
      'Messages',
      '/v1/messages',
      {
        model: 'plain',
        max_tokens: 99,
        messages,
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      },
    ],
    [
      'Responses',
      '/v1/responses',
      {
        model: 'plain',
        input: 'Hi',
        store: false,
        tools: [{ type: 'function', name: 'look', strict: false, parameters: { type: 'object', properties: {} } }],
        parallel_tool_calls: false,
      },
    ],
  ])('a listed field is dropped from %s, and named as the caller wrote it', async (name, path, body) => {
    const response = await lax.post(path, body);
    const field = name === 'Messages' ? 'tool_choice.disable_parallel_tool_use' : 'parallel_tool_calls';
    expect(response.status).toBe(200);
    expect(platformOf((await response.json()) as object)?.dropped).toEqual([field]);
    expect(response.headers.get('x-signalbox-dropped')).toBe(field);
    expect(sent(other)).not.toHaveProperty('parallel_tool_calls');
  });
});

test('the OpenAPI document has every header of Signalbox, including the header for dropped fields', async () => {
  const { paths } = await openApiOf<{
    paths: Record<string, { post: { responses: Record<string, { headers: object }> } }>;
  }>(lax.url);
  const { headers } = await lax.post(CHAT, chat({ seed: 7 }));
  const own = [...headers.keys()].filter((name) => name.startsWith('x-signalbox-'));
  expect(own).toContain('x-signalbox-dropped');
  for (const path of [CHAT, '/v1/messages', '/v1/responses']) {
    expect(Object.keys(paths[path]!.post.responses['200']!.headers)).toEqual(expect.arrayContaining(own));
  }
});

test('of a list of wishes only the unsupported member is dropped, and named', async () => {
  const [state, logprobs] = ['reasoning.encrypted_content', 'message.output_text.logprobs'];
  const ask = (more: object) => lax.post('/v1/responses', { model: 'sol', input: 'Hi', store: false, ...more });
  const response = await ask({ include: [state, logprobs], top_logprobs: 2 });
  expect(response.headers.get('x-signalbox-dropped')).toBe('include[1], top_logprobs');
  const { body } = openai.requests.at(-1)!;
  expect([body.include, body.top_logprobs]).toEqual([[state], undefined]);
  expect((await ask({ include: [state], top_logprobs: 2 })).headers.get('x-signalbox-dropped')).toBe('top_logprobs');
  expect((await ask({ include: [logprobs] })).headers.get('x-signalbox-dropped')).toBe('include[0]');
});

describe('a field that no setting drops', () => {
  test.each([false, true])(
    'a field that no setting drops is named in the header, percent-encoded (stream: %p)',
    async (stream) => {
      const response = await strict.post(CHAT, chat({ stream, 'my, fièld': 1, verbosity_hint: 2 }));
      expect(response.status).toBe(200);
      expect(response.headers.get('x-signalbox-dropped')).toBe('my%2C%20fi%C3%A8ld, verbosity_hint');
      await response.text();
    },
  );

  test('dropped fields are only counted if the header would be longer than 1,024 bytes', async () => {
    const fields = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`unknown_field_number_${at}`, at]));
    const response = await strict.post(CHAT, chat(fields));
    const text = response.headers.get('x-signalbox-dropped') ?? '';
    const shown = text.split(', ');
    expect(text.length).toBeLessThanOrEqual(1_024);
    expect(shown.at(-1)).toBe(`and ${90 - (shown.length - 1)} more`);
    expect((await answerOf(response)).platform.dropped).toHaveLength(65);
  });

  test('the headers of a stream that begin before its model is known name no dropped field', async () => {
    claude.next({ headersAfterMs: 700 });
    const response = await hasty.post(CHAT, chat({ stream: true, unknown_field: 1 }));
    expect([response.status, response.headers.has('x-signalbox-dropped')]).toEqual([200, false]);
    expect(await response.text()).toContain('"dropped":["unknown_field"]');
  });
});

describe('another field', () => {
  const refusal = async (box: Signalbox, body: object) => {
    const response = await box.post(CHAT, body);
    const { error } = await answerOf(response);
    return { status: response.status, code: error.code, param: error.param, message: error.message };
  };

  test('a field that is not listed is refused with its name and three remedies', async () => {
    expect(await refusal(strict, chat({ seed: 7 }))).toEqual({
      status: 422,
      code: 'no_eligible_model',
      param: 'seed',
      message:
        '`claude-opus-4-8` cannot serve this request: it lacks seed. Leave `seed` out, list it in `gateway.drop_unsupported`, or use one of: `able`.',
    });
  });

  test('a field that is not listed is refused, although a listed field needs the same capability', async () => {
    const both = chat({ presence_penalty: 1, frequency_penalty: 1 });
    expect(await refusal(strict, both)).toMatchObject({ status: 422, param: 'presence_penalty' });
    expect((await strict.post(CHAT, chat({ presence_penalty: 1 }))).status).toBe(200);
  });

  test('the error never suggests dropping a field that limits money, content or format', async () => {
    const { status, param, message } = await refusal(lax, chat({ tools, seed: 7 }, 'mute'));
    expect([status, param]).toEqual([422, 'tools']);
    expect(message).toContain(
      'it lacks tools. Leave `tools` out or use one of: `able`, `claude-opus-4-8`, `formless`, `freely`, `plain`.',
    );
  });

  const CURE = 'under its `capabilities` in the policy';

  test('the error suggests declaring a capability, unless the adapter lacks it or the policy says that the model lacks it', async () => {
    const cured = async (body: object) => (await refusal(strict, body)).message.includes(CURE);
    const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }] }];
    expect(await cured(chat({ tools }, 'mute'))).toBeTrue();
    expect(await cured(chat({ response_format: { type: 'json_object' } }, 'mute'))).toBeTrue();
    expect(await cured({ model: 'plain', messages: image })).toBeTrue();
    // No adapter for Anthropic supports it.
    expect(await cured(chat({ n: 2 }))).toBeFalse();
    expect(await cured(chat({ seed: 7 }, 'mute'))).toBeFalse();
    expect(await cured(chat({ tools }, 'toolless'))).toBeFalse();
  });

  test('the error about an image names the models that read images', async () => {
    const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }] }];
    const { status, message } = await refusal(lax, { model: 'plain', messages: image });
    expect([status, message]).toEqual([422, expect.stringContaining('it lacks vision. Use one of: `seeing`.')]);
  });

  test('the error about a forced tool suggests a JSON schema, only if the model supports one', async () => {
    const look = (parameters: object) => ({ name: 'look', parameters });
    const city = { type: 'object', properties: { city: { type: 'string' } } };
    const forced = async (model: string, more: object = {}, parameters: object = city) => {
      const offered = [{ type: 'function', function: look(parameters) }];
      return (await refusal(lax, chat({ tools: offered, tool_choice: 'required', ...more }, model))).message;
    };
    expect(await forced('freely')).toContain('as `response_format` of the type `json_schema`');
    expect(await forced('formless')).not.toContain('response_format');
    expect(await forced('freely', { n: 2 })).not.toContain('`response_format`');
    expect(await forced('freely', {}, { type: 'object', additionalProperties: true })).not.toContain('response_format');
    const input = [{ role: 'user', content: 'Hi' }];
    const own = [{ type: 'function', ...look(city) }];
    const answer = await lax.post('/v1/responses', { model: 'freely', input, tools: own, tool_choice: 'required' });
    expect((await answerOf(answer)).error.message).toContain('as `text.format` of the type `json_schema`');
    const schema = { name: 'look', schema: { type: 'object', properties: {} } };
    const done = await lax.post(
      CHAT,
      chat({ response_format: { type: 'json_schema', json_schema: schema } }, 'freely'),
    );
    expect(done.status).toBe(200);
  });

  test('the error about `n` names the models that return several choices', async () => {
    for (const model of ['plain', 'claude-opus-4-8']) {
      const { message, ...rest } = await refusal(lax, chat({ n: 2 }, model));
      expect(rest).toEqual({ status: 422, code: 'no_eligible_model', param: 'n' });
      expect(message).toContain('it lacks choices. Leave `n` out or use one of: `able`.');
    }
    expect(await answerOf(await lax.post(CHAT, chat({ n: 2 }, 'auto')))).toMatchObject({ model: 'able' });
  });

  test('the error about a field that no model accepts has two remedies', async () => {
    const { param, message } = await refusal(strict, chat({ logit_bias: { '1': 1 }, logprobs: true }));
    expect(param).toBe('logit_bias');
    expect(message).toEndWith(
      'Leave `logit_bias` and `logprobs` out, list them in `gateway.drop_unsupported`, or use one of: `able`.',
    );
  });
});
