import { afterEach, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { type FakeModel, FakeModelServer, type ServerKind } from '../support/model-servers.ts';
import { runHere } from '../support/run-here.ts';
import { type Signalbox, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function fake(kind: ServerKind, ...models: readonly FakeModel[]): FakeModelServer {
  const server = new FakeModelServer(kind, models);
  opened.push(() => server.stop());
  return server;
}

/** Time passes ten times as fast, so that no test waits five seconds between two polls. */
const FASTER = 10;

async function start(policy: string, env: Readonly<Record<string, string>>, data?: string): Promise<Signalbox> {
  const signalbox = await startSignalbox({
    clock: () => performance.now() * FASTER,
    timers: {
      after: (ms, run) => setTimeout(run, ms / FASTER),
      every: (ms, run) => setInterval(run, ms / FASTER),
    },
    ...{ policy, env, ...(data !== undefined && { data }) },
  });
  opened.push(() => signalbox.stop());
  return signalbox;
}

const DIGEST = 'a'.repeat(64);
const model = (name: string, digest?: string): FakeModel => ({
  ...{ name, capabilities: ['completion'], inUse: 8_192, ...(digest !== undefined && { digest }) },
});
const BIG = model('big:latest', DIGEST);
const OTHER = model('other:4b');

const policyFor = (models = '', providers = '  box: { preset: ollama }') => `version: 1
providers:
${providers}
models:
  house-big:
    provider: box
    upstream: big
    price: { input: 1000, output: 1000, basis: own }
    context_window: 8000
    max_output: 2000
    quality: { default: 0.8, basis: guessed }
${models}
`;
const priceOf = (pattern: string, price: number, provider = 'box') =>
  `  "${pattern}": { provider: ${provider}, unknown_price: { as: { input: ${price}, output: ${price} } } }\n`;

/** Returns the Credits that a request for a model cost; a text with status and code if it was refused. */
async function costOf(signalbox: Signalbox, name: string, key = signalbox.key): Promise<number | string> {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const answer = await signalbox.post('/v1/chat/completions', { model: name, messages }, withKey(key));
  const { platform, error } = await answerOf(answer);
  return answer.status === 200 ? platform.credits_consumed : `${answer.status} ${error?.code}`;
}

async function costsOf(signalbox: Signalbox, names: readonly string[]): Promise<Record<string, number | string>> {
  const costs: Record<string, number | string> = {};
  for (const name of names) costs[name] = await costOf(signalbox, name);
  return costs;
}

const refused = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, NOT_FOUND]));
const NOT_FOUND = '404 model_not_found';
const env = (server: FakeModelServer) => ({ OLLAMA_BASE_URL: server.url });

/** The model with a price under the names that Ollama gives it after `ollama cp` and a second pull, and names that Ollama resolves itself. */
const NAMES = ['box/big', 'box/BIG', 'box/big:latest', 'box/big:70b', 'box/library/big', 'box/copy', 'box/LIBRARY/Big'];
const COPIES = [model('big:70b', DIGEST), model('BIG'), model('library/big'), model('copy', DIGEST)];

describe('a model with a price', () => {
  test('costs its price under no other name, whatever names its server lists', async () => {
    const signalbox = await start(policyFor(), env(fake('ollama', BIG, ...COPIES, OTHER)));
    expect(await costOf(signalbox, 'house-big')).toBe(7);
    expect(await costsOf(signalbox, [...NAMES, 'box/other:4b'])).toEqual(refused([...NAMES, 'box/other:4b']));
    const pinned = await signalbox.makeKey('--name', 'pinned', '--model', 'box/BIG', '--model', 'box/*');
    expect(await costOf(signalbox, 'box/BIG', pinned)).toBe(NOT_FOUND);
  });

  test('is not served at the price that a wildcard states for the other models', async () => {
    const policy = policyFor(priceOf('box/*', 100));
    const signalbox = await start(policy, env(fake('ollama', BIG, ...COPIES, OTHER)));
    expect(await costsOf(signalbox, [...NAMES, 'house-big', 'box/other:4b'])).toEqual({
      ...refused(NAMES),
      // A wildcard takes these names for the declared model.
      ...{ 'box/big': 7, 'box/BIG': 7, 'box/big:latest': 7, 'house-big': 7 },
      'box/other:4b': 0.7,
    });
  });

  test('of a wildcard is not served at the price of a wildcard with a shorter pattern', async () => {
    const policy = `version: 1
providers:
  box: { preset: ollama }
models:
${priceOf('box/big*', 1_000)}${priceOf('box/*', 100)}`;
    const signalbox = await start(policy, env(fake('ollama', BIG, model('copy', DIGEST), OTHER)));
    expect(await costsOf(signalbox, ['box/big', 'box/copy', 'box/BIG', 'box/other:4b'])).toEqual({
      'box/big': 7,
      ...refused(['box/copy', 'box/BIG']),
      'box/other:4b': 0.7,
    });
  });

  test('makes the other models need a price while its server does not list it', async () => {
    const signalbox = await start(policyFor(), env(fake('ollama', model('copy', DIGEST))));
    expect(await costOf(signalbox, 'house-big')).toBe('503 no_healthy_model');
    expect(await costOf(signalbox, 'box/copy')).toBe(NOT_FOUND);
  });

  test('makes the models of each provider with the same host and port need a price', async () => {
    const server = fake('ollama', BIG, ...COPIES);
    const { port } = new URL(server.url);
    const providers = `  box: { adapter: openai-compatible, base_url: "http://127.0.0.1:${port}/v1" }
  again: { preset: ollama, base_url: "http://localhost:${port}/v1" }
  mapped: { preset: ollama, base_url: "http://[::ffff:127.0.0.1]:${port}/v1" }`;
    const signalbox = await start(policyFor('', providers), {});
    const others = ['again', 'mapped'].flatMap((name) => [`${name}/big`, `${name}/copy`, `${name}/BIG`]);
    expect(await costsOf(signalbox, ['house-big', ...others])).toEqual({ 'house-big': 7, ...refused(others) });
  });

  test('makes equal weights at another server need a price, and a stated price of 0 is one', async () => {
    const [box, desk] = [fake('ollama', BIG), fake('ollama', model('copy', DIGEST), OTHER)];
    const providers = `  box: { preset: ollama }
  desk: { preset: ollama, base_url: "${desk.url}/v1" }`;
    const names = ['desk/copy', 'desk/other:4b'];
    const first = await start(policyFor('', providers), env(box));
    // On a busy machine, the start may not wait for the lists of both servers.
    await waitFor(async () => (await costOf(first, 'desk/other:4b')) === 0);
    expect(await costsOf(first, names)).toEqual({ 'desk/copy': NOT_FOUND, 'desk/other:4b': 0 });
    const second = await start(policyFor(priceOf('desk/*', 0, 'desk'), providers), env(box));
    expect(await costsOf(second, names)).toEqual({ 'desk/copy': 0, 'desk/other:4b': 0 });
  });

  test.each([
    ['vllm', 'VLLM_BASE_URL'],
    ['lm-studio', 'LM_STUDIO_BASE_URL'],
    ['llama-cpp', 'LLAMA_CPP_BASE_URL'],
  ] as const)('makes all other models of %s need a price', async (kind, variable) => {
    const server = fake(kind, model('big', '/models/big'), model('alias', '/models/big'), OTHER);
    const providers = `  box: { preset: ${kind} }`;
    const names = ['box/big', 'box/alias', 'box/other:4b'];
    const first = await start(policyFor('', providers), { [variable]: server.url });
    expect(await costsOf(first, ['house-big', ...names])).toEqual({ 'house-big': 7, ...refused(names) });
    const second = await start(policyFor(priceOf('box/*', 100), providers), { [variable]: server.url });
    expect(await costsOf(second, ['box/big', 'box/other:4b'])).toEqual({ 'box/big': 7, 'box/other:4b': 0.7 });
    // Of these servers, only vLLM identifies the weights of a name.
    expect(await costOf(second, 'box/alias')).toBe(kind === 'vllm' ? NOT_FOUND : 0.7);
  });
});

test('a name that gets the weights of a declared model is no longer served', async () => {
  const server = fake('ollama', BIG, OTHER);
  const signalbox = await start(policyFor(priceOf('box/*', 100)), env(server));
  expect(await costOf(signalbox, 'box/other:4b')).toBe(0.7);
  server.models = [BIG, model('other:4b', DIGEST)];
  await signalbox.post('/admin/policy/reload', {});
  await waitFor(async () => (await costOf(signalbox, 'box/other:4b')) === NOT_FOUND, 20_000);
});

test('without a model with a price, found models stay free, also those with the weights of another found model', async () => {
  const policy = 'version: 1\nproviders:\n  box: { preset: ollama }\n';
  const signalbox = await start(policy, env(fake('ollama', BIG, ...COPIES, OTHER)));
  const names = ['box/big', 'box/big:70b', 'box/copy', 'box/other:4b'];
  expect(await costsOf(signalbox, names)).toEqual(Object.fromEntries(names.map((name) => [name, 0])));
});

test('operators read why a found model is not served, and callers do not read the names of other models', async () => {
  const signalbox = await start(policyFor(), env(fake('ollama', BIG, OTHER, model('copy', DIGEST))));
  const key = await signalbox.makeKey('--name', 'caller', '--scope', 'chat');
  const messageFor = async (name: string, by: string) => {
    const answer = await signalbox.post(
      '/v1/chat/completions',
      { model: name, messages: [{ role: 'user', content: 'Hello' }] },
      withKey(by),
    );
    return (await answerOf(answer)).error.message;
  };
  for (const name of ['box/copy', 'box/other:4b']) {
    expect(await messageFor(name, signalbox.key)).toContain('house-big');
    expect(await messageFor(name, key)).not.toContain('house-big');
  }
});

test('a kept list of an earlier build, which does not identify weights, is not used', async () => {
  const server = fake('ollama', BIG, ...COPIES);
  const data = temporaryFolder();
  const first = await start(policyFor(), env(server), data);
  await costOf(first, 'house-big');
  await first.stop();
  const file = join(data, 'found-models.json');
  const kept = readFileSync(file, 'utf8');
  expect(kept).toContain('"digests"');
  writeFileSync(file, kept.replace(/,"digests":\[.*?\]\]/, ''));
  expect(readFileSync(file, 'utf8')).not.toContain('"digests"');
  server.override = () => new Response('busy', { status: 500 });
  const second = await start(policyFor(), env(server), data);
  // The server has not answered yet, so its models are unknown.
  expect(await costOf(second, 'box/copy')).toBe('503 no_healthy_model');
});

describe('a service with prices', () => {
  const policyOf = (service: string, models = '') => `version: 1
providers:
  cloud: { ${service}, api_key_env: CLOUD_KEY, discover: serve, settings: { server: openai } }
  sim: { adapter: simulated }
models:
  echo:
    provider: sim
    price: { input: 0, output: 0, basis: own }
    context_window: 8000
    max_output: 2000
    quality: { default: 0.5, basis: guessed }
${models}`;

  test.each([
    'preset: groq',
    'adapter: openai-compatible, base_url: "https://api.openai.com/v1"',
    'preset: vllm, base_url: "https://eu.api.openai.com./v1"',
  ])('is not searched for models without a stated price: %s', async (service) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'p.yaml'), policyOf(service));
    const { code, out } = await runHere(['policy', 'check', '--policies', folder, '--json']);
    expect(code).toBe(2);
    expect(out).toContain('conflicting-keys');
  });

  test('serves the models that it finds only at a stated price', async () => {
    const server = fake('python', model('gpt-5'), model('other'));
    const policy = policyOf(`preset: groq, base_url: "${server.url}/v1"`, priceOf('cloud/gpt*', 100, 'cloud'));
    const signalbox = await start(policy, { CLOUD_KEY: 'key-of-the-test' });
    expect(await costsOf(signalbox, ['cloud/gpt-5', 'cloud/other'])).toEqual({
      'cloud/gpt-5': 0.7,
      'cloud/other': NOT_FOUND,
    });
  });
});
