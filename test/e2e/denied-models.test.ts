import { afterAll, describe, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../support/answers.ts';
import { useEmbeddings } from '../support/embedding-upstream.ts';
import { FakeModelServer } from '../support/model-servers.ts';
import { withKey } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** The models that a key may not use: its own list, and the lists of its parent keys. */
const upstream = useUpstream();
const vectors = useEmbeddings('openai');
const server = new FakeModelServer('ollama', [
  { name: 'smol', capabilities: ['completion'], inUse: 8_192 },
  { name: 'qwen:4b', capabilities: ['completion'], inUse: 8_192 },
]);
afterAll(() => server.stop());

const model = (id: string, quality: number, more = '') => `  ${id}:
    provider: cloud
    price: { input: 1, output: 4, basis: own }
    context_window: 32768
    max_output: 8192
    quality: { default: ${quality}, basis: guessed }
${more}`;
const vectorModel = (id: string) => `  ${id}:
    provider: vectors
    price: { input: 1, output: 0, basis: own }
    context_window: 100
    operations: [embed]
    embedding: { dimensions: 8, vector_space: s }
`;
const box = useSignalbox(() => ({
  policy: `version: 1
credits: { usd_per_credit: 0.001 }
providers:
  cloud: { adapter: openai-compatible, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY }
  vectors: { adapter: openai-compatible, base_url: "${vectors.url}", api_key_env: TEST_UPSTREAM_KEY }
  own: { preset: ollama, base_url: "${server.url}/v1", discover: choose }
models:
${model('best', 0.95, '    aliases: [top]\n')}${model('plain', 0.6)}${vectorModel('small')}${vectorModel('small-too')}  "cloud/*": { provider: cloud, unknown_price: { as: { input: 2, output: 8 } } }
selectors:
  search: { strategy: auto, vector_space: s }
  cloudy: { strategy: auto, models: { require: 'model.id in ["best", "plain"]' } }
`,
}));

interface KeyAnswer {
  readonly id: string;
  readonly key: string;
  readonly not_models: readonly string[] | null;
}
const keyOf = async (answer: Response): Promise<KeyAnswer> => (await answer.json()) as KeyAnswer;
const create = async (body: object) =>
  keyOf(await box.post('/admin/keys', { scopes: ['chat', 'route', 'delegate'], ...body }));
const change = (id: string, body: object) =>
  box.get(`/admin/keys/${id}`, { method: 'PATCH', body: JSON.stringify(body) });

async function chat({ key }: Pick<KeyAnswer, 'key'>, name: string) {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const answer = await box.post('/v1/chat/completions', { model: name, messages }, withKey(key));
  const { platform, error } = await answerOf(answer);
  return answer.status === 200 ? platform.routed_model : `${answer.status} ${error.code}`;
}
const REFUSED = '403 insufficient_permissions';

async function listed({ key }: Pick<KeyAnswer, 'key'>): Promise<readonly string[]> {
  const answer = (await (await box.get('/v1/models', withKey(key))).json()) as {
    readonly data: readonly { id: string }[];
  };
  return answer.data.map(({ id }) => id);
}

describe('a key with denied models', () => {
  test('cannot name them, also by an alias, and gets no answer of them from a selector', async () => {
    const key = await create({ not_models: ['best'] });
    expect(await Promise.all(['best', 'top', 'plain', 'cloudy'].map((name) => chat(key, name)))).toEqual([
      ...[REFUSED, REFUSED],
      ...['plain', 'plain'],
    ]);
    const route = await box.post('/v1/route', { model: 'cloudy' }, withKey(key.key));
    expect(await route.json()).toMatchObject({ recommended_model: 'plain' });
    expect((await create({})).not_models).toBeNull();
  });

  test('does not see them in lists of models', async () => {
    const key = await create({ not_models: ['best', 'own/smol'] });
    const ids = await listed(key);
    expect([ids.includes('best'), ids.includes('top'), ids.includes('own/smol')]).toEqual([false, false, false]);
    expect([ids.includes('plain'), ids.includes('own/qwen:4b')]).toEqual([true, true]);
    // Another key without the list is not affected, whichever lists first.
    expect(await listed(await create({}))).toContain('best');
  });

  test('can have a wildcard, and all models that are found at a server, in its list', async () => {
    const key = await create({ not_models: ['cloud/*', 'own/*'] });
    for (const name of ['cloud/other', 'own/smol', 'own/qwen:4b'])
      expect([name, await chat(key, name)]).toEqual([name, REFUSED]);
    expect(await chat(key, 'best')).toBe('best');
    const one = await create({ not_models: ['cloud/other', 'own/smol'] });
    expect(
      await Promise.all(['cloud/other', 'cloud/more', 'own/smol', 'own/qwen:4b'].map((name) => chat(one, name))),
    ).toEqual([...[REFUSED, 'cloud/more'], ...[REFUSED, 'own/qwen:4b']]);
    // Selectors choose from found models here, because the provider states `discover: choose`.
    const only = await create({ not_models: ['best', 'plain', 'own/*'] });
    expect(await chat(only, 'auto')).toBe('422 no_eligible_model');
  });

  test('cannot use them for embeddings', async () => {
    const key = await create({ scopes: ['embed'], not_models: ['small'] });
    const embed = async (name: string) => {
      return (await box.post('/v1/embeddings', { model: name, input: 'a b' }, withKey(key.key))).status;
    };
    expect([await embed('small'), await embed('search')]).toEqual([403, 200]);
    expect(vectors.received.map(({ body }) => body.model)).toEqual(['small-too']);
  });

  test('is refused although its list of models, or an alias, allows them', async () => {
    const key = await create({ models: ['best', 'plain', 'own/*'], not_models: ['best', 'own/smol'] });
    expect(await Promise.all(['best', 'plain', 'own/smol', 'own/qwen:4b'].map((name) => chat(key, name)))).toEqual([
      ...[REFUSED, 'plain'],
      ...[REFUSED, 'own/qwen:4b'],
    ]);
    const all = await create({ models: ['own/smol', 'own/qwen:4b'], not_models: ['own/*'] });
    expect(await chat(all, 'auto')).toBe('422 no_eligible_model');
  });

  test('reads in the refusal that its key may not use the model, and which models a selector left out', async () => {
    const key = await create({ not_models: ['best', 'plain', 'own/*'] });
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const refusal = async (name: string) =>
      (await answerOf(await box.post('/v1/chat/completions', { model: name, messages }, withKey(key.key)))).error;
    expect((await refusal('best')).message).toBe('This API key may not use the model `best`.');
    expect(JSON.stringify((await refusal('auto')).details)).toContain('this API key may not use it');
  });

  test('has records that show the list, replay, and are decided again with it', async () => {
    const key = await create({ not_models: ['best', 'none-such'] });
    expect(await chat(key, 'cloudy')).toBe('plain');
    const [record] = await waitFor(async () => {
      const answer = await box.get(`/admin/decisions?key=${key.id}`);
      const { data } = (await answer.json()) as { readonly data: readonly { readonly id: string }[] };
      return data.length > 0 ? data : null;
    });
    const shown: unknown = await (await box.get(`/v1/decisions/${record!.id}`)).json();
    expect(shown).toMatchObject({ facts: { key_models: null, key_not_models: ['best'] }, replay: { matches: true } });
    const explained = await box.post('/admin/policy/explain', { request: { model: 'cloudy' }, key: key.id });
    expect(await explained.json()).toMatchObject({ facts: { key_not_models: ['best'] } });
    const other = await create({});
    expect(await chat(other, 'cloudy')).toBe('best');
  });
});

describe('a child key', () => {
  test('may use neither the models that its parents deny nor those that it denies itself', async () => {
    const parent = await create({ not_models: ['best'] });
    const child = await keyOf(
      await box.post('/v1/keys', { scopes: ['chat', 'delegate'], not_models: ['plain'] }, withKey(parent.key)),
    );
    const grandchild = await keyOf(await box.post('/v1/keys', { not_models: ['own/*'] }, withKey(child.key)));
    const uses = (key: KeyAnswer) => Promise.all(['best', 'plain', 'own/smol'].map((name) => chat(key, name)));
    expect(await uses(parent)).toEqual([REFUSED, 'plain', 'own/smol']);
    expect(await uses(child)).toEqual([REFUSED, REFUSED, 'own/smol']);
    expect(await uses(grandchild)).toEqual([REFUSED, REFUSED, REFUSED]);
    // A change of the first key reaches all keys below it.
    expect((await change(parent.id, { not_models: ['own/smol'] })).status).toBe(200);
    expect(await uses(parent)).toEqual(['best', 'plain', REFUSED]);
    expect(await uses(child)).toEqual(['best', REFUSED, REFUSED]);
    expect((await change(parent.id, { not_models: null })).status).toBe(200);
    expect(await uses(grandchild)).toEqual(['best', REFUSED, REFUSED]);
  });

  test('cannot be given a model that its parent denies', async () => {
    const parent = await create({ not_models: ['best'] });
    const answer = await box.post('/v1/keys', { models: ['plain', 'best'] }, withKey(parent.key));
    expect([answer.status, (await answerOf(answer)).error.param]).toEqual([400, 'models[1]']);
  });
});

test('commands state, show and remove the list', async () => {
  const made = await box.run(
    'keys',
    'create',
    '--name',
    'cli',
    '--not-model',
    'best',
    '--not-model',
    'own/*',
    '--json',
  );
  const key = JSON.parse(made.out) as KeyAnswer;
  expect([made.code, key.not_models]).toEqual([0, ['best', 'own/*']]);
  expect((await box.run('keys', 'show', key.id)).out).toContain('own/*');
  expect(await chat(key, 'best')).toBe(REFUSED);
  const changed = await box.run('keys', 'change', key.id, '--not-model', 'plain', '--json');
  expect(JSON.parse(changed.out)).toMatchObject({ not_models: ['plain'] });
  expect((await box.run('keys', 'create', '--not-model', 'none')).code).not.toBe(0);
  expect((await box.run('keys', 'change', key.id, '--no-not-model')).code).toBe(0);
  expect(await Promise.all(['best', 'plain'].map((name) => chat(key, name)))).toEqual(['best', 'plain']);
});
