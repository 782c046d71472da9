import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AGENT_ALIASES } from '../../src/core/policy/alias-names.ts';
import { answerOf, waitFor } from '../support/answers.ts';
import { expectError } from '../support/error-contract.ts';
import { FakeModelServer } from '../support/model-servers.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { testPolicy } from '../support/policies.ts';
import { runHere } from '../support/run-here.ts';
import type { Signalbox } from '../support/signalbox.ts';
import { useSignalbox, useUpstream } from '../support/use.ts';

/** The names that coding agents send, in a policy of a user that lists no alias. */
const upstream = useUpstream();
const policyOf = (more = '') => testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, more);
const policy = policyOf();
const box = useSignalbox({ policy });
const none = useSignalbox({ policy: policyOf('default_aliases: none\n') });

const body = (model: string) => ({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] });
const chat = (model: string, to: Signalbox = box) => to.post('/v1/chat/completions', body(model));

/** A name for each default alias: a pattern is replaced by a name that it covers. */
const SENT = [...AGENT_ALIASES].map(([name, selector]) => [name.replace('*', '9-20290101'), selector] as const);

/** Names on the pages that need something else than a policy: simulated models, and a provider of a client's configuration. */
const OTHERS: ReadonlySet<string> = new Set(['sim-embed', 'silent-model', 'signalbox', 'model']);

/** The names of models in the examples of a page. */
function namesOn(page: string): string[] {
  const text = blocksOf(`docs/clients/${page}`).map((block) => block.text);
  const NAME = /(?:\b\w*model"?\s*[:=]\s*|_MODEL=|\s-m )["']?(?:signalbox\/)?([\w.-]+)(?=["'\s,}]|$)/g;
  return text.flatMap((one) => [...one.matchAll(NAME)].map(([, name]) => name!));
}

const pages = readdirSync(join(import.meta.dir, '../../docs/clients'));
const listed = [...new Set(pages.flatMap(namesOn))].filter((name) => /^[a-z]/.test(name) && !OTHERS.has(name));

test('the pages of clients use names that this test reads', () => {
  expect(listed).toEqual(expect.arrayContaining(['auto', 'auto-cheap', 'claude-auto', 'claude-auto-cheap']));
});

test.each(listed)('%s, a name in an example for a client, is served without a list of aliases', async (name) => {
  expect((await chat(name)).status).toBe(200);
});

describe.each(SENT)('%s', (name, selector) => {
  test(`means ${selector} in every dialect, and the answer, the log and the decision show it`, async () => {
    const { platform } = await answerOf(await chat(name));
    expect(platform).toMatchObject({ routed_model: 'best', alias: name });
    const decision = await (await box.get(`/v1/decisions/${platform.decision_id}`)).json();
    expect(decision).toMatchObject({
      facts: { model: selector, alias: name },
      receipt: { alias: name },
      replay: { matches: true },
    });
    const line = () => box.lines.find((one) => one.includes(platform.decision_id));
    await waitFor(() => line() !== undefined);
    expect(JSON.parse(line()!)).toMatchObject({ selector, alias: name });

    const message = (await (await box.post('/v1/messages', body(name))).json()) as { platform: object };
    expect(message.platform).toMatchObject({ alias: name });
    const contents = [{ parts: [{ text: 'Hi' }] }];
    const content = await box.post(`/v1beta/models/${name}:generateContent`, { contents });
    expect(await content.json()).toMatchObject({ modelVersion: 'best', platform: { alias: name } });
    const advice = await (await box.post('/v1/route', body(name))).json();
    expect(advice).toMatchObject({ recommended_model: 'best', alias: name });
    const counted = await (await box.post('/v1/messages/count_tokens', body(name))).json();
    expect(counted).toMatchObject({ input_tokens: expect.any(Number) });
    expect(await (await box.get(`/v1/models/${name}`)).json()).toMatchObject({ id: name, display_name: selector });
  });

  test('is unknown with `default_aliases: none`', async () => {
    const { message } = await expectError(await chat(name, none), 'model_not_found', 'model');
    expect(message).toContain(`With \`default_aliases: agents\`, it stands for \`${selector}\``);
  });
});

test('an answer to a name that is no alias does not mention one', async () => {
  for (const name of ['auto', 'best']) expect((await answerOf(await chat(name))).platform).not.toHaveProperty('alias');
});

test('the error for a name that agents do not send does not mention the default aliases', async () => {
  for (const to of [box, none]) {
    for (const name of ['claude-imaginary', 'gemini-imaginary', 'gemini-embedding-001']) {
      const { message } = await expectError(await chat(name, to), 'model_not_found', 'model');
      expect(message).not.toContain('default_aliases');
    }
  }
});

test('the list of models contains the names without a pattern, and a mistyped name is corrected', async () => {
  const { data } = (await (await box.get('/v1/models')).json()) as { data: { id: string; display_name: string }[] };
  const names = data.flatMap(({ id, display_name: meant }) => (id === meant ? [] : [[id, meant]]));
  expect(new Map(names as [string, string][])).toEqual(new Map(SENT.filter(([name]) => !name.endsWith('9-20290101'))));
  const { message } = await expectError(await chat('claude-atuo'), 'model_not_found', 'model');
  expect(message).toContain('Did you mean `claude-auto`?');
});

describe('any other meaning of a name comes first:', () => {
  const server = new FakeModelServer('ollama', [{ name: 'qwen:4b', capabilities: ['completion'], inUse: 8_192 }]);
  afterAll(() => server.stop());
  const own = useSignalbox(() => ({
    env: { OLLAMA_BASE_URL: server.url },
    policy: testPolicy(
      { fake: upstream.url },
      {
        'claude-opus-7': { endpoints: ['fake'] },
        other: { endpoints: ['fake'], more: '    aliases: [sonnet, claude-sonnet-9-*]\n' },
      },
      'selectors: { auto-fast: { strategy: auto-fast, aliases: [claude-auto] } }\n',
    ).replace(
      'providers:\n',
      `providers:\n  claude-opus-box: { preset: ollama }\n  anthropic: { preset: anthropic, base_url: "${upstream.url}", api_key_env: TEST_UPSTREAM_KEY, serves: "*" }\n`,
    ),
  }));

  test('an alias that the policy states is once in the list of models', async () => {
    const { data } = (await (await own.get('/v1/models')).json()) as { data: { id: string }[] };
    expect(data.filter(({ id }) => id === 'sonnet')).toHaveLength(1);
    expect(new Set(data.map(({ id }) => id)).size).toBe(data.length);
  });

  test.each([
    ['a declared model', 'claude-opus-7', 'claude-opus-7'],
    ['an alias of a declared model', 'sonnet', 'other'],
    ['an alias with `*` of a declared model', 'claude-sonnet-9-20290101', 'other'],
    ['an alias of another selector', 'claude-auto', 'auto-fast'],
    ['a model of a wildcard', 'claude-opus-4-8', 'anthropic/claude-opus-4-8'],
    ['a model that was found', 'claude-opus-box/qwen:4b', 'claude-opus-box/qwen:4b'],
    ['no other meaning', 'claude-opus-8', 'auto'],
    ['no other meaning, with a window', 'opus[1m]', 'auto'],
  ])('%s: %s means %s', async (_, name, meaning) => {
    await waitFor(async () => (await own.get('/v1/models/claude-opus-box%2Fqwen:4b')).status === 200);
    const { decision_id: id, error } = (await (await own.post('/v1/route', body(name))).json()) as {
      decision_id?: string;
      error?: { message: string };
    };
    if (name.endsWith('[1m]')) expect(error?.message).toContain(`\`${name}\` requests a window`);
    else expect(await (await own.get(`/v1/decisions/${id}`)).json()).toMatchObject({ facts: { model: meaning } });
  });
});

test('`policy explain` and the cases of a policy resolve the names as the server does, and a rule that compares with one is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-names-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'p.yaml');
  const env = { TEST_UPSTREAM_KEY: 'key-of-the-test' };
  const cases = 'cases: [{ name: sonnet, given: { model: claude-sonnet-9 }, expect: { model: best } }]\n';
  writeFileSync(file, policyOf(cases));
  expect(await runHere(['policy', 'test', folder], env)).toMatchObject({ code: 0 });
  const explained = await runHere(['policy', 'explain', folder, '--model', 'opus'], env);
  expect(explained).toMatchObject({ code: 0 });
  expect(explained.out).toContain('opus (an alias of auto)');
  writeFileSync(file, policyOf(`constraints: [{ name: x, when: 'request.model == "opus"', require: "true" }]\n`));
  const { code, out } = await runHere(['policy', 'check', folder], env);
  expect([code, out]).toEqual([2, expect.stringContaining('`opus` is an alias')]);
  writeFileSync(file, policyOf(`default_aliases: none\n${cases}`));
  expect((await runHere(['policy', 'check', folder], env)).out).toContain('unknown-reference');
});
