import { afterEach, describe, expect, test } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SHIPPED_POLICIES } from '../../src/server/shipped-policies.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { type FakeModel, FakeModelServer } from '../support/model-servers.ts';
import { type Signalbox, type StartOptions, startSignalbox, temporaryFolder } from '../support/signalbox.ts';

/** A person at home: the shipped policy, and one model server. */
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function fake(...models: readonly FakeModel[]): FakeModelServer {
  const server = new FakeModelServer('ollama', models);
  opened.push(() => server.stop());
  return server;
}

/** Time passes ten times as fast, so that no test waits five seconds between two polls. */
const FASTER = 10;
/** Time that servers skip. After this time, a server applies other figures of a model that it serves, ms. */
let skippedMs = 0;
const BUILD_AFTER_MS = 60_000;

async function start(server: Pick<FakeModelServer, 'url'>, options: StartOptions = {}): Promise<Signalbox> {
  const signalbox = await startSignalbox({
    clock: () => performance.now() * FASTER + skippedMs,
    timers: {
      after: (ms, run) => setTimeout(run, ms / FASTER),
      every: (ms, run) => setInterval(run, ms / FASTER),
    },
    ...{ env: { OLLAMA_BASE_URL: server.url }, ...options },
  });
  opened.push(() => signalbox.stop());
  return signalbox;
}

const SMOL: FakeModel = { name: 'smol:latest', capabilities: ['completion'], inUse: 4_096 };
const SNIPPET = 'models:\n  "ollama/*": { provider: ollama, context_window: 32768 }\n';

async function ask(signalbox: Signalbox, path: string, body: object) {
  const { platform, error } = await answerOf(await signalbox.post(path, { model: 'auto', ...body }));
  return { model: platform?.routed_model, code: error?.code, message: error?.message };
}
const chat = (signalbox: Signalbox, content = 'Say hello.', more = {}) =>
  ask(signalbox, '/v1/chat/completions', { messages: [{ role: 'user', content }], ...more });

interface TestedCase {
  readonly name: string;
  readonly status: string;
  readonly settings: readonly {
    readonly settings: readonly string[];
    readonly status: string;
    readonly missing: readonly object[];
  }[];
}

describe('the shipped policy with the keys of a wildcard for all found models', () => {
  test('is accepted as an edit and at the next start, without the cases that need a declared model', async () => {
    const server = fake(SMOL);
    const folder = temporaryFolder();
    const data = temporaryFolder();
    cpSync(SHIPPED_POLICIES, folder, { recursive: true });
    const options = { data, args: ['--policies', folder] };
    const first = await start(server, options);
    expect(await chat(first)).toMatchObject({ model: 'ollama/smol' });
    writeFileSync(join(folder, 'own.yaml'), SNIPPET);
    expect((await first.post('/admin/policy/reload', {})).status).toBe(200);
    await waitFor(async () => (await (await first.get('/v1/models')).text()).includes('"max_input_tokens":32768'));
    const tested = await first.post('/admin/policy/test', {});
    const { cases } = (await tested.json()) as { readonly cases: readonly TestedCase[] };
    const here = cases
      .find(({ name }) => name === 'a small question is a usual request')
      ?.settings.find(({ settings }) => settings.includes('here'));
    expect(here).toMatchObject({
      status: 'not_run',
      missing: [{ name: 'auto', reason: 'the policy declares no model here that answers a conversation' }],
    });
    await opened.pop()!();
    const second = await start(server, options);
    expect(await chat(second)).toMatchObject({ model: 'ollama/smol' });
  }, 60_000);
});

describe('a model server that does not answer at the first start', () => {
  test('is named in errors and in the log, and no simulated model answers in its place', async () => {
    const server = fake(SMOL);
    server.override = () => new Response('busy', { status: 500 });
    const signalbox = await start(server);
    expect(await chat(signalbox)).toMatchObject({
      code: 'no_healthy_model',
      message: '`auto` has no models to choose from: ollama has not answered yet.',
    });
    expect(await chat(signalbox, 'Say hello.', { model: 'ollama/smol' })).toMatchObject({
      code: 'no_healthy_model',
      message: '`ollama/smol` cannot be served yet: ollama has not answered yet.',
    });
    expect(await chat(signalbox, 'Say hello.', { model: 'olama/smol' })).toMatchObject({ code: 'model_not_found' });
    const line = await waitFor(() => signalbox.lines.find((text) => text.includes('the models of a server cannot')));
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', provider: 'ollama', reason: 'the server answered 500' });
    server.override = () => null;
    await signalbox.post('/admin/policy/reload', {});
    await waitFor(async () => (await chat(signalbox)).model === 'ollama/smol', 20_000);
  }, 60_000);
});

test('a loaded model that states more context is believed, and the log has both figures', async () => {
  const large = { ...SMOL, contextMax: 131_072 };
  const server = fake(large);
  const signalbox = await start(server);
  const long = 'word '.repeat(6_000);
  expect(await chat(signalbox, long)).toMatchObject({ code: 'context_length_exceeded' });
  server.models = [{ ...large, inUse: 32_768 }];
  skippedMs += BUILD_AFTER_MS;
  await signalbox.post('/admin/policy/reload', {});
  await waitFor(async () => (await chat(signalbox, long)).model === 'ollama/smol', 20_000);
  const line = signalbox.lines.find((text) => text.includes('the context of a model changed'));
  expect(JSON.parse(line!)).toMatchObject({ model: 'ollama/smol', context: 'states 32,768; 4,096 before' });
}, 60_000);

describe('several models at home', () => {
  const LLAVA: FakeModel = {
    ...{ name: 'llava:13b', capabilities: ['completion', 'vision'], size: '13.0B', parameters: 13e9, inUse: 8_192 },
  };
  const CODER: FakeModel = {
    ...{ name: 'coder:7b', capabilities: ['completion', 'tools', 'insert'], size: '7.6B', parameters: 7.6e9 },
    inUse: 8_192,
  };
  const GENERAL: FakeModel = {
    ...{ name: 'general:8b', capabilities: ['completion', 'tools'], size: '8.0B', parameters: 8e9, inUse: 8_192 },
  };
  const PYTHON = 'Write a Python function that merges two sorted lists, and explain its complexity.';

  test('`auto` takes a model that fits the task, and not always the largest one', async () => {
    const signalbox = await start(fake(LLAVA, CODER, GENERAL));
    expect((await chat(signalbox, PYTHON)).model).not.toBe('ollama/llava:13b');
    expect(await chat(signalbox, PYTHON, { task_type: 'coding' })).toMatchObject({ model: 'ollama/coder:7b' });
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
    const seen = await ask(signalbox, '/v1/chat/completions', {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }],
    });
    expect(seen).toMatchObject({ model: 'ollama/llava:13b' });
    const other = await start(fake(LLAVA, GENERAL));
    expect(await chat(other, PYTHON)).toMatchObject({ model: 'ollama/general:8b' });
  });

  test('the completion of code takes a model that states `insert`, and no other', async () => {
    const server = fake(LLAVA, CODER, GENERAL);
    server.override = (path) => (path === '/v1/completions' ? Response.json(COMPLETION) : null);
    const signalbox = await start(server);
    const gap = { prompt: 'def area(radius):', suffix: '\n\nprint(area(2))', max_tokens: 32 };
    expect(await ask(signalbox, '/v1/completions', gap)).toMatchObject({ model: 'ollama/coder:7b' });
    const refused = await ask(signalbox, '/v1/completions', { ...gap, model: 'ollama/llava:13b' });
    expect(refused).toMatchObject({ code: 'no_eligible_model' });
    expect(refused.message).toContain('does not accept a `suffix`');
  });
});

const COMPLETION = {
  ...{ id: 'cmpl-1', object: 'text_completion', created: 1_800_000_000, model: 'coder:7b' },
  choices: [{ index: 0, text: '\n    return 3.14 * radius ** 2', finish_reason: 'stop', logprobs: null }],
  usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
};
/** A white pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=';
