import { afterEach, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { type FakeModel, FakeModelServer, type ServerKind } from '../support/model-servers.ts';
import { type Signalbox, type StartOptions, startSignalbox, temporaryFolder, withKey } from '../support/signalbox.ts';

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function fake(kind: ServerKind, ...models: readonly FakeModel[]): FakeModelServer {
  const server = new FakeModelServer(kind, models);
  opened.push(() => server.stop());
  return server;
}

/** Time passes ten times as fast for a server of this file, so that no test waits five seconds between two polls. */
const FASTER = 10;
/** Time that servers skip. A server applies changes of found models at most once in this time, ms. */
let skippedMs = 0;
const BUILD_AFTER_MS = 60_000;
const QUICK: Pick<StartOptions, 'clock' | 'timers'> = {
  clock: () => performance.now() * FASTER + skippedMs,
  timers: {
    after: (ms, run) => setTimeout(run, ms / FASTER),
    every: (ms, run) => setInterval(run, ms / FASTER),
  },
};

async function start(options: StartOptions): Promise<Signalbox> {
  const signalbox = await startSignalbox({ ...QUICK, ...options });
  opened.push(() => signalbox.stop());
  return signalbox;
}

const SMOL: FakeModel = { name: 'smol:latest', capabilities: ['completion'], inUse: 4_096 };
const QWEN: FakeModel = {
  ...{ name: 'qwen:4b', capabilities: ['completion', 'tools'], size: '4.0B', parameters: 4e9, inUse: 8_192 },
};

const policyFor = (more = '', provider = '{ preset: ollama }') => `version: 1
providers:
  box: ${provider}
${more}
`;
/** A model of the policy, at the same server. */
const declared = (upstream: string, id = 'mine') => `models:
  ${id}:
    provider: box
    upstream: ${upstream}
    price: { input: 0, output: 0, basis: own }
    context_window: 6000
    max_output: 1500
    quality: { default: 0.3, basis: guessed }
`;
const envOf = (server: FakeModelServer) => ({ OLLAMA_BASE_URL: server.url });

async function chat(signalbox: Signalbox, model: string, key = signalbox.key) {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const answer = await signalbox.post('/v1/chat/completions', { model, messages }, withKey(key));
  const { platform, error } = await answerOf(answer);
  return {
    status: answer.status,
    model: platform?.routed_model ?? '',
    code: error?.code,
    platform,
    message: error?.message,
    details: error?.details,
  };
}

interface Listed {
  readonly data: readonly Readonly<Record<'id' | 'upstream' | 'state' | 'why', string>>[];
}

async function listed(signalbox: Signalbox, path: string): Promise<Listed['data']> {
  const answer = await signalbox.get(path);
  return ((await answer.json()) as Listed).data;
}

const idsIn = async (signalbox: Signalbox) => (await listed(signalbox, '/v1/models')).map(({ id }) => id);
const reload = (signalbox: Signalbox) => signalbox.post('/admin/policy/reload', {});
const revisionOf = async (signalbox: Signalbox) =>
  ((await (await signalbox.get('/admin/policy')).json()) as { readonly revision: string }).revision;

describe('a policy that declares no model', () => {
  test('serves the first request with a model that the server has, and the model also by its name', async () => {
    const signalbox = await start({ policy: policyFor(), env: envOf(fake('ollama', SMOL)) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
    expect(await chat(signalbox, 'box/smol')).toMatchObject({ status: 200, model: 'box/smol' });
    expect(await chat(signalbox, 'smol')).toMatchObject({ status: 404, code: 'model_not_found' });
    expect(await idsIn(signalbox)).toContain('box/smol');
    const [smol] = (await listed(signalbox, '/admin/models')).filter(({ id }) => id === 'box/smol');
    expect(smol).toMatchObject({
      found: { provider: 'box', guessed: ['quality'] },
      selectors: ['auto', 'auto-fast', 'auto-cheap'],
    });
    expect(signalbox.lines.join('\n')).toContain('box: smol, 4,096 tokens, no tools');
  });

  test('knows what a model can do although its digest is malformed, and notices a change', async () => {
    const odd: FakeModel = { ...QWEN, digest: 'sha256:none', isBrief: true };
    const server = fake('ollama', odd);
    const signalbox = await start({ policy: policyFor(), env: envOf(server) });
    await waitFor(() => signalbox.lines.join('\n').includes('box: qwen:4b, 8,192 tokens, tools'));
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const route = () => signalbox.post('/v1/route', { model: 'box/qwen:4b', messages, tools });
    expect((await route()).status).toBe(200);
    server.models = [{ ...odd, capabilities: ['completion'] }];
    const refuses = async () => {
      await reload(signalbox);
      return (await route()).status === 422;
    };
    await waitFor(refuses, 20_000);
  });

  test('serves a model that is added later, and does not choose one that is removed', async () => {
    const server = fake('ollama', SMOL);
    const signalbox = await start({ policy: policyFor(), env: envOf(server) });
    server.models = [SMOL, QWEN];
    await reload(signalbox);
    await waitFor(async () => (await idsIn(signalbox)).includes('box/qwen:4b'), 20_000);
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/qwen:4b' });
    await waitFor(() => signalbox.lines.join('\n').includes('"box: qwen:4b, 8,192 tokens, tools"'));
    server.models = [SMOL];
    expect((await chat(signalbox, 'box/qwen:4b')).status).toBe(502);
    await waitFor(async () => (await chat(signalbox, 'box/qwen:4b')).code === 'no_healthy_model', 20_000);
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
  }, 60_000);

  test('starts without an answer of the server, says that it has not answered, and serves as soon as a model is found', async () => {
    const server = fake('ollama', SMOL);
    server.override = () => new Response('busy', { status: 500 });
    const signalbox = await start({ policy: policyFor(), env: envOf(server) });
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const refused = await signalbox.post('/v1/chat/completions', { model: 'auto', messages });
    const { message } = await expectError(refused, 'no_healthy_model');
    expect(message).toBe('`auto` has no models to choose from: box has not answered yet.');
    expect((await signalbox.get('/readyz')).status).toBe(200);
    server.override = () => null;
    await reload(signalbox);
    await waitFor(async () => (await chat(signalbox, 'auto')).status === 200, 20_000);
  }, 60_000);

  test('keeps the last list while the server is away, also after a restart', async () => {
    const server = fake('ollama', SMOL);
    const data = temporaryFolder();
    const first = await startSignalbox({ ...QUICK, data, policy: policyFor(), env: envOf(server) });
    expect(await chat(first, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
    await first.stop();
    server.override = () => new Response('busy', { status: 500 });
    const second = await start({ data, policy: policyFor(), env: envOf(server) });
    expect(await idsIn(second)).toContain('box/smol');
  });

  test('serves from memory, with one warning, if the data folder cannot keep the list', async () => {
    const data = temporaryFolder();
    mkdirSync(join(data, 'found-models.json'));
    const server = fake('ollama', SMOL);
    const signalbox = await start({ data, policy: policyFor(), env: envOf(server) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200 });
    server.models = [SMOL, QWEN];
    await reload(signalbox);
    await waitFor(async () => (await idsIn(signalbox)).includes('box/qwen:4b'), 20_000);
    const warnings = signalbox.lines.filter((line) => line.includes('found models cannot be kept'));
    expect(warnings).toHaveLength(1);
  }, 60_000);

  test('serves models of llama.cpp and of its Python server', async () => {
    const env = {
      LLAMA_CPP_BASE_URL: fake('llama-cpp', { name: '/models/SmolLM2.Q4_1.gguf', inUse: 2_048 }).url,
      PYTHON_URL: `${fake('python', { name: 'smol' }).url}/v1`,
    };
    const python =
      '{ adapter: openai-compatible, base_url_env: PYTHON_URL, discover: serve, settings: { server: openai } }';
    const policy = `version: 1\nproviders:\n  cpp: { preset: llama-cpp }\n  python: ${python}\n`;
    const signalbox = await start({ policy, env });
    expect(await chat(signalbox, 'cpp/SmolLM2.Q4_1')).toMatchObject({ status: 200 });
    expect(await chat(signalbox, 'python/smol')).toMatchObject({ status: 200 });
  });
});

describe('a policy that declares a model that can be served', () => {
  test('chooses only the declared model, and serves found models by name', async () => {
    const signalbox = await start({ policy: policyFor(declared('smol')), env: envOf(fake('ollama', SMOL, QWEN)) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'mine' });
    expect(await chat(signalbox, 'box/qwen:4b')).toMatchObject({ status: 200, model: 'box/qwen:4b' });
    const ids = await idsIn(signalbox);
    expect(ids).toContain('mine');
    // The entry of the operator replaces the found model.
    expect(ids).not.toContain('box/smol');
  });

  test('says in the refusal of a selector that a key may not use the declared models, and which found models the key can name', async () => {
    const models = declared('gone:7b') + declared('gone:8b', 'other').replace('models:\n', '');
    const policy = policyFor(models.replaceAll('box', 'sim'), '{ preset: ollama }\n  sim: { adapter: simulated }');
    const signalbox = await start({ policy, env: envOf(fake('ollama', SMOL, QWEN)) });
    const key = await signalbox.makeKey('--name', 'one', '--model', 'box/smol');
    expect(await chat(signalbox, 'auto', key)).toMatchObject({
      ...{ status: 422, code: 'no_eligible_model' },
      message:
        'No model can serve this request. The reason is the same for each model: this API key may not use it. Selectors do not choose models that were found at a provider with `discover: serve`, but a request can name them: `box/smol`.',
    });
    expect(await chat(signalbox, 'box/smol', key)).toMatchObject({ status: 200 });
  });

  test('chooses also from found models with `discover: choose`', async () => {
    const policy = policyFor(declared('smol'), '{ preset: ollama, discover: choose }');
    const signalbox = await start({ policy, env: envOf(fake('ollama', SMOL, QWEN)) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/qwen:4b' });
  });

  test('does not count the declared model if the server lacks it', async () => {
    const signalbox = await start({ policy: policyFor(declared('gone:7b')), env: envOf(fake('ollama', SMOL)) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
    expect(await chat(signalbox, 'mine')).toMatchObject({
      ...{ status: 503, code: 'no_healthy_model' },
      details: { unavailable: [{ model: 'mine', state: 'absent' }] },
    });
    const [missing] = (await listed(signalbox, '/admin/endpoints')).filter(({ upstream }) => upstream === 'gone:7b');
    expect(missing).toMatchObject({ state: 'absent', why: 'box has no `gone:7b`: `ollama pull gone:7b`' });
    const explained = await signalbox.post('/admin/policy/explain', { request: { model: 'mine' } });
    expect(await explained.text()).toContain('box has no `gone:7b`: `ollama pull gone:7b`.');
  });

  test('applies the figures of a wildcard to the found models that it covers', async () => {
    const models = 'models:\n  "box/*": { provider: box, context_window: 3000, tags: [local] }\n';
    const rule = 'constraints:\n  - { name: here, require: \'"local" in model.tags\' }\n';
    const signalbox = await start({ policy: policyFor(models + rule), env: envOf(fake('ollama', SMOL)) });
    expect(await chat(signalbox, 'auto')).toMatchObject({ status: 200, model: 'box/smol' });
    const [smol] = (await listed(signalbox, '/v1/models')).filter(({ id }) => id === 'box/smol');
    expect(smol).toMatchObject({ max_input_tokens: 3_000, max_tokens: 1_024 });
  });

  test('rules reject a found model by facts that nothing states, and key lists name it by `PROVIDER/*`', async () => {
    const rule =
      'constraints:\n  - { name: here, when: key.labels.team == "legal", require: \'"local" in model.tags\' }\n';
    const signalbox = await start({ policy: policyFor(rule), env: envOf(fake('ollama', SMOL, QWEN)) });
    const legal = await signalbox.makeKey('--name', 'legal', '--label', 'team=legal');
    expect(await chat(signalbox, 'box/smol', legal)).toMatchObject({ status: 422 });
    const all = await signalbox.makeKey('--name', 'all', '--model', 'box/*');
    expect(await chat(signalbox, 'auto', all)).toMatchObject({ status: 200, model: 'box/qwen:4b' });
    const one = await signalbox.makeKey('--name', 'one', '--model', 'box/smol');
    expect(await chat(signalbox, 'auto', one)).toMatchObject({ status: 200, model: 'box/smol' });
    expect(await chat(signalbox, 'box/qwen:4b', one)).toMatchObject({ status: 403 });
  });
});

describe('found models are beside the policy', () => {
  test('a decision from before a change replays, and the operator’s revision stays', async () => {
    const server = fake('ollama', SMOL);
    const signalbox = await start({ policy: policyFor(), env: envOf(server) });
    const before = await chat(signalbox, 'auto');
    const revision = await revisionOf(signalbox);
    expect(before.platform.policy_revision).toStartWith(`${revision}-`);
    server.models = [QWEN];
    await reload(signalbox);
    await waitFor(async () => (await chat(signalbox, 'auto')).model === 'box/qwen:4b', 20_000);
    expect(await revisionOf(signalbox)).toBe(revision);
    const { decision_id: id } = before.platform;
    const explained = await waitFor(async () => {
      const answer = await signalbox.get(`/v1/decisions/${id}`);
      return answer.status === 200 ? ((await answer.json()) as Readonly<Record<string, unknown>>) : null;
    });
    expect(explained).toMatchObject({ policy_revision: before.platform.policy_revision, replay: { matches: true } });
    const [told] = (explained.explanation as readonly string[]).filter((sentence) => sentence.includes('was found at'));
    expect(told).toMatch(/^box\/smol was found at box, [-\d]+ [:\d]+ UTC; its quality is a guess\.$/);
    const trail = await (await signalbox.get('/admin/policy/revisions')).text();
    expect(trail).not.toContain(`${revision}-`);
    // The revision names one policy, although it was built several times.
    expect((await signalbox.get(`/admin/policy/revisions/${revision}`)).status).toBe(200);
    const tag = { headers: { 'if-match': `"${revision}"` } };
    expect((await signalbox.post('/admin/policy/reload', {}, tag)).status).toBe(200);
  }, 60_000);

  test('a hostile server stops neither the start nor an edit, and redirects are not followed', async () => {
    const trap = fake('ollama', { name: 'trap' });
    const server = fake('ollama');
    const answers = [
      () => Response.redirect(`${trap.url}/api/tags`),
      () => new Response('x'.repeat(2_000_000)),
      () =>
        Response.json({
          models: [{ name: 'a b' }, { name: 'a\u0000b' }, { name: '' }, { name: 'x'.repeat(5_000) }],
        }),
      () => new Response(new ReadableStream({ pull: () => new Promise<void>(() => {}) })),
    ];
    for (const answer of answers) {
      server.override = answer;
      const signalbox = await start({ policy: policyFor(declared('smol')), env: envOf(server) });
      expect((await reload(signalbox)).status).toBe(200);
      expect(await idsIn(signalbox)).toContain('mine');
      expect((await idsIn(signalbox)).filter((id) => id.startsWith('box/'))).toEqual([]);
    }
    expect(trap.calls).toEqual([]);
  }, 60_000);

  test('a found model changes no file of the policy', async () => {
    const policies = { 'a.yaml': policyFor() };
    const signalbox = await start({ policy: policies, env: envOf(fake('ollama', SMOL)) });
    await chat(signalbox, 'auto');
    const files = await (await signalbox.get('/admin/policy/files')).text();
    expect(files).not.toContain('smol');
    expect(readFileSync(join(signalbox.data, 'found-models.json'), 'utf8')).toContain('smol');
  });
});

describe('simulated models', () => {
  test('answer until a model for chats is found, and never again while the variable is set', async () => {
    // A simulated model that `auto` chooses takes seconds for an answer.
    const quick = (signalbox: Signalbox) => chat(signalbox, 'auto-fast');
    const server = fake('ollama', { name: 'embed', capabilities: ['embedding'], dimensions: 8 });
    const data = temporaryFolder();
    const first = await startSignalbox({ ...QUICK, data, env: envOf(server) });
    expect((await quick(first)).model).toStartWith('sim-');
    server.models = [SMOL];
    skippedMs += BUILD_AFTER_MS;
    await reload(first);
    await waitFor(async () => (await quick(first)).model === 'ollama/smol', 20_000);
    await first.stop();
    server.models = [];
    const second = await startSignalbox({ ...QUICK, data, env: envOf(server) });
    expect(await quick(second)).toMatchObject({ status: 503, code: 'no_healthy_model' });
    await second.stop();
    const third = await start({ data });
    expect((await quick(third)).model).toStartWith('sim-');
  }, 90_000);
});

test('found models use all keys of a pool, rules apply at each key, and a model that the server lacks is absent for all keys', async () => {
  const server = fake('ollama', SMOL);
  const keys: (string | null)[] = [];
  const proxy = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0, development: false },
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === '/v1/chat/completions') keys.push(request.headers.get('authorization'));
      return fetch(`${server.url}${pathname}`, {
        method: request.method,
        headers: request.headers,
        body: (await request.text()) || null,
      });
    },
  });
  opened.push(() => proxy.stop(true));
  const rule = 'constraints:\n  - { name: cheap, require: "model.price.output <= 1.0" }\n';
  const signalbox = await start({
    policy: policyFor(declared('gone:7b') + rule, '{ preset: ollama, api_keys_env: [KEY_A, KEY_B] }'),
    env: { OLLAMA_BASE_URL: `http://127.0.0.1:${proxy.port}`, KEY_A: 'first-key-of-box', KEY_B: 'second-key-of-box' },
  });
  for (let at = 0; at < 4; at++) expect(await chat(signalbox, 'box/smol')).toMatchObject({ status: 200 });
  expect(keys.filter((key) => key === 'Bearer first-key-of-box')).toHaveLength(2);
  expect(keys.filter((key) => key === 'Bearer second-key-of-box')).toHaveLength(2);
  const states = (await listed(signalbox, '/admin/endpoints')).filter(({ upstream }) => upstream === 'gone:7b');
  expect(states.map(({ state }) => state)).toEqual(['absent', 'absent']);
});
