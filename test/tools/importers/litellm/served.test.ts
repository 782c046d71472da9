import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type FakeUpstream, startFakeUpstream } from '../../../support/fake-upstream.ts';
import { type Signalbox, startSignalbox } from '../../../support/signalbox.ts';
import { imported } from './support.ts';

const PRICE = 'input_cost_per_token: 1e-6, output_cost_per_token: 2e-6';

/** Two upstreams, at which all deployments are served. */
let upstreams: readonly [FakeUpstream, FakeUpstream];
let server: Signalbox | undefined;
beforeAll(() => {
  upstreams = [startFakeUpstream(), startFakeUpstream()];
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  for (const upstream of upstreams) {
    upstream.behave({});
    upstream.requests.length = 0;
  }
});
afterAll(() => Promise.all(upstreams.map((upstream) => upstream.stop())));

/** A deployment of a name at an upstream. @param more further parameters */
const entry = (name: string, at: 0 | 1, more = '', info = '') =>
  `  - { model_name: ${name}, litellm_params: { model: openai/${name}-up, api_base: "${upstreams[at].url}", api_key: key-${at}, ${PRICE}${more} }, model_info: { max_output_tokens: 512${info} } }\n`;

/** Serves the imported configuration. */
async function serve(entries: readonly string[], router: string): Promise<Signalbox> {
  const { files, report } = imported(`model_list:\n${entries.join('')}router_settings: { ${router} }\n`);
  expect(report.problems).toEqual([]);
  const policy = Object.fromEntries(files.map(({ name, text }) => [name, text]));
  const env = Object.fromEntries([...report.variables.keys()].map((name) => [name, `key-of-${name}`]));
  server = await startSignalbox({ policy, env });
  return server;
}

interface Answer {
  readonly model: string;
  readonly choices: readonly { readonly finish_reason: string }[];
  readonly platform: { readonly attempts: readonly { readonly model: string }[] };
}

async function chat(model: string, content = 'hi', max_tokens = 16): Promise<Answer> {
  const messages = [{ role: 'user', content }];
  const answer = await server!.post('/v1/chat/completions', { model, messages, max_tokens });
  const body: unknown = await answer.json();
  expect([answer.status, answer.status === 200 ? null : body]).toEqual([200, null]);
  return body as Answer;
}

describe('an imported policy falls back as LiteLLM does:', () => {
  const names = ['main', 'next', 'long', 'mild'];
  const entries = () =>
    names.map((name) =>
      entry(name, name === 'main' ? 0 : 1, '', `, max_input_tokens: ${name === 'long' ? 100_000 : 8_000}`),
    );
  const lists =
    'num_retries: 0, fallbacks: [{ main: [next] }], context_window_fallbacks: [{ main: [long] }], content_policy_fallbacks: [{ main: [mild] }]';

  test.each([
    ['an error', { fail: 'server' }, 'next'],
    ['a 429', { fail: 'rate_limited' }, 'next'],
    ['a refusal', { finish: 'content_filter', text: '' }, 'mild'],
  ] as const)('after %s to the model of the list for it', async (_, behaviour, expected) => {
    await serve(entries(), lists);
    upstreams[0].behave(behaviour);
    const { model, platform } = await chat('main');
    expect([model, platform.attempts[0]?.model]).toEqual([expected, 'main']);
  });

  test('a prompt that is too long goes to the model for long prompts, without a call to the first model', async () => {
    await serve(entries(), lists);
    expect((await chat('main', 'word '.repeat(12_000))).model).toBe('long');
    expect(upstreams[0].requests).toHaveLength(0);
  });

  test('a fallback that fails is followed by its own fallbacks, and groups without a list have the default', async () => {
    await serve(
      entries(),
      'num_retries: 0, fallbacks: [{ main: [next] }, { next: [mild] }], default_fallbacks: [main]',
    );
    upstreams[0].behave({ fail: 'server' });
    upstreams[1].behave(({ body }) => (body.model === 'mild-up' ? {} : { fail: 'server' }));
    expect((await chat('main')).model).toBe('mild');
    upstreams[0].behave({});
    expect((await chat('long')).model).toBe('main');
  });

  test('without a list for it, a refusal reaches the caller', async () => {
    await serve(entries(), 'fallbacks: [{ main: [next] }]');
    upstreams[0].behave({ finish: 'content_filter', text: '' });
    const { model, choices } = await chat('main');
    expect([model, choices[0]?.finish_reason]).toEqual(['main', 'content_filter']);
  });
});

describe('an imported policy divides the requests of a name as LiteLLM does:', () => {
  const shares = async (count: number): Promise<number[]> => {
    for (let at = 0; at < count; at += 20)
      await Promise.all(Array.from({ length: Math.min(20, count - at) }, (_, i) => chat('same', `request ${at + i}`)));
    return upstreams.map(({ requests }) => requests.length);
  };

  test('by weight', async () => {
    await serve([entry('same', 0, ', weight: 9'), entry('same', 1, ', weight: 1')], 'routing_strategy: simple-shuffle');
    const [often = 0, seldom = 0] = await shares(200);
    expect(often + seldom).toBe(200);
    // Five standard deviations around 20.
    expect(Math.abs(seldom - 20)).toBeLessThanOrEqual(21);
    expect(seldom).toBeGreaterThan(0);
  });

  test('by the limit in rpm, if no weight is stated', async () => {
    await serve([entry('same', 0, ', rpm: 1000000'), entry('same', 1, ', rpm: 9000000')], 'num_retries: 0');
    const [seldom = 0, often = 0] = await shares(100);
    expect(seldom + often).toBe(100);
    expect(Math.abs(seldom - 10)).toBeLessThanOrEqual(15);
  });

  test('the lowest order first, and beyond its limit the next one', async () => {
    await serve([entry('same', 0, ', order: 2'), entry('same', 1, ', order: 1, rpm: 3')], 'num_retries: 0');
    expect(await shares(3)).toEqual([0, 3]);
    expect(await shares(2)).toEqual([2, 3]);
  });
});
