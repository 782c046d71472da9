import { describe, expect, spyOn, test } from 'bun:test';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BASE, type Data, PLAIN, written } from '../../admin/use-cases/policy/guarded-edits.ts';
import { expectError } from '../../support/error-contract.ts';
import type { LivePolicy } from '../../support/live-policy.ts';
import { useLivePolicy } from '../../support/use.ts';

/**
 * https://docs.litellm.ai/blog/mcp-stdio-command-injection-april-2026: LiteLLM ran a command from a setting that can be written over HTTP.
 */
describe('CVE-2026-30623, a command in configuration that is written over HTTP', () => {
  const CANARY = 'canary-of-the-environment-0123456789';
  const files = () => Object.fromEntries(written(BASE, PLAIN).map(({ path, text }) => [path, text]));
  const env = {
    ...{ FIRST_KEY: 'sk-first-81f2c9d07ab4', OPS_URL: 'https://ops.example', OPS_SECRET: 'whsec-51d2f0a97c3e84b6d1' },
    CANARY_SECRET: CANARY,
  };
  const shut = useLivePolicy(files, { env });
  const open = useLivePolicy(files, { env, args: ['--allow-policy-writes'] });
  const NAME = 'part-0.yaml';

  const headers = ({ box }: LivePolicy) => ({
    authorization: `Bearer ${box.key}`,
    'content-type': 'application/json',
  });
  async function put(live: LivePolicy, changes: readonly object[]): Promise<Response> {
    const { revision } = await live.status();
    return await fetch(`${live.box.url}/admin/policy/files`, {
      method: 'PUT',
      headers: { ...headers(live), 'if-match': `"${revision}"` },
      body: JSON.stringify({ changes }),
    });
  }
  /** The file that a malicious module creates when it is loaded. */
  const mark = (live: LivePolicy) => join(live.folder, 'ran');
  const evil = (live: LivePolicy) => `await Bun.write(${JSON.stringify(mark(live))}, 'ran');\nexport const none = 1;\n`;
  const TOUCH = (live: LivePolicy) => `touch ${mark(live)}`;

  interface Schema {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly additionalProperties?: Schema | boolean;
    readonly items?: Schema;
    readonly patternProperties?: Readonly<Record<string, Schema>>;
    readonly anyOf?: readonly Schema[];
    readonly allOf?: readonly Schema[];
    readonly then?: Schema;
    readonly else?: Schema;
  }
  /** Names of keys whose value may be an address, a file, a variable, code, or the choice of code that gets a provider's keys. */
  const SUSPECT =
    /(?:^|_)(?:env|files?|urls?|paths?|plugins?|modules?|commands?|args|scripts?|hosts?|adapter|preset|settings)$/;

  /** The paths of all suspect keys in the served schema. `*` stands for any name, `0` for a list item. */
  function suspectIn(root: Schema): string[][] {
    const walk = (schema: Schema, path: readonly string[]): string[][] => {
      const inner = Object.entries(schema.properties ?? {}).flatMap(([key, one]) => {
        const own = [...path, key];
        return [...(SUSPECT.test(key) ? [own] : []), ...walk(one, own)];
      });
      const { additionalProperties: more, patternProperties = {}, items, anyOf = [], allOf = [] } = schema;
      const named = [...(typeof more === 'object' ? [more] : []), ...Object.values(patternProperties)];
      const others = [...anyOf, ...allOf, ...(schema.then ? [schema.then] : []), ...(schema.else ? [schema.else] : [])];
      return [
        ...inner,
        ...named.flatMap((one) => walk(one, [...path, '*'])),
        ...(items ? walk(items, [...path, '0']) : []),
        ...others.flatMap((one) => walk(one, path)),
      ];
    };
    // Signalbox never fetches an address in the messages of a test case.
    const paths = walk(root, []).filter((path) => !path.includes('pages_max') && !path.includes('messages'));
    return [...new Map(paths.map((path) => [path.join('.'), path])).values()];
  }
  const suspects = async () => suspectIn((await (await shut.box.get('/admin/policy/schema')).json()) as Schema);

  /** The policy with a value at a path. If the path allows any name, it uses a name that the policy contains. */
  function withValue(data: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
    if (step === undefined) return value;
    if (step === '0') return [withValue(Array.isArray(data) ? data[0] : undefined, rest, value)];
    const map = (data ?? {}) as Data;
    const key = step === '*' ? (Object.keys(map)[0] ?? 'evil') : step;
    return { ...map, [key]: withValue(map[key], rest, value) };
  }
  const textWith = (path: readonly string[], value: unknown) => `${JSON.stringify(withValue(BASE, path, value))}\n`;

  test('every key of the policy that could name a command, a file, an address or a variable is refused over HTTP', async () => {
    const paths = await suspects();
    const names = paths.map((path) => path.join('.'));
    for (const known of [
      'plugins',
      'providers.*.base_url_env',
      'alerts.webhooks.*.url_env',
      'tokens.0.jwks_env',
      'sign_in.client_secret_env',
    ]) {
      expect(names).toContain(known);
    }
    const { revision } = await shut.status();
    const written: string[] = [];
    for (const path of paths) {
      for (const value of ['CANARY_SECRET', ['./evil.ts'], `$(${TOUCH(shut)})`]) {
        const answer = await put(shut, [{ name: NAME, text: textWith(path, value) }]);
        if (answer.status !== 403) written.push(`${path.join('.')}: ${answer.status}`);
      }
    }
    expect([written, (await shut.status()).revision]).toEqual([[], revision]);
  });

  /** Sections that are complete with any variable, so that a check goes as far as reading the variable. */
  const issuer = { name: 'one', issuer: 'https://issuer.example', audience: 'a', when: 'claims.org == "acme"' };
  const VARIABLES: Readonly<Record<string, (name: string) => Data>> = {
    'guards.0.service.api_key_env': (name) => ({
      guards: [{ name: 'attacks', guard: 'lakera', service: { api_key_env: name }, on_match: 'block' }],
    }),
    'guards.0.service.url_env': (name) => ({
      guards: [{ name: 'names', guard: 'presidio', service: { url_env: name }, on_match: 'mask' }],
    }),
    'providers.*.api_key_env': (name) => ({
      providers: { first: { adapter: 'openai-compatible', base_url: 'https://first.example/v1', api_key_env: name } },
    }),
    'providers.*.api_keys_env': (name) => ({
      providers: {
        first: { adapter: 'openai-compatible', base_url: 'https://first.example/v1', api_keys_env: [name] },
      },
    }),
    'providers.*.api_keys_env.0.api_key_env': (name) => ({
      providers: {
        first: {
          adapter: 'openai-compatible',
          base_url: 'https://first.example/v1',
          api_keys_env: [{ api_key_env: name, account: 'main' }],
        },
      },
    }),
    'providers.*.base_url_env': (name) => ({
      providers: { first: { adapter: 'openai-compatible', base_url_env: name, api_key_env: 'FIRST_KEY' } },
    }),
    'alerts.webhooks.*.url_env': (name) => ({
      alerts: { webhooks: { ops: { url_env: name, secret_env: 'OPS_SECRET' } } },
    }),
    'alerts.webhooks.*.secret_env': (name) => ({
      alerts: { webhooks: { ops: { url_env: 'OPS_URL', secret_env: name } } },
    }),
    'tokens.0.jwks_env': (name) => ({ tokens: [{ ...issuer, jwks_env: name }] }),
    'sign_in.client_secret_env': (name) => ({
      sign_in: {
        issuer: 'https://issuer.example',
        client_id: 'a',
        client_secret_env: name,
        roles: [{ role: 'member' }],
      },
    }),
  };

  test('no check of a policy reveals the value of a variable, or whether the server has it', async () => {
    const envs = (await suspects()).map((path) => path.join('.')).filter((path) => path.endsWith('env'));
    // The variables of payments are read when a chain is contacted, which no check does.
    expect(envs.filter((path) => !path.startsWith('payments.')).sort()).toEqual(Object.keys(VARIABLES).sort());
    for (const [path, sections] of Object.entries(VARIABLES)) {
      const answers: string[] = [];
      for (const name of [
        'CANARY_SECRET',
        'UNSET_SECRET9',
        ...(path === 'providers.*.api_key_env' ? ['FIRST_KEY'] : []),
      ]) {
        const changes = [{ name: NAME, text: `${JSON.stringify({ ...BASE, ...sections(name) })}\n` }];
        for (const tool of ['check', 'test'] as const) {
          const answer = await shut.box.post(`/admin/policy/${tool}`, { changes });
          expect([path, tool, answer.status]).toEqual([path, tool, 200]);
          // A revision is a hash of the policy text, which contains the name.
          const text = (await answer.text()).replaceAll(name, 'NAME');
          answers.push(text.replaceAll(/"policy_revision":"[0-9a-f]+"/g, ''));
        }
      }
      expect(answers.join()).not.toContain(CANARY);
      expect([path, ...answers.slice(0, 2)]).toEqual([path, ...answers.slice(2, 4)]);
      // The answer does depend on a variable that the active policy names, so the test would notice a difference.
      if (answers.length > 4) expect(answers[4]).not.toBe(answers[0]);
    }
  });

  const SPECIFIERS = [
    './evil.ts',
    '../evil.ts',
    'node:child_process',
    'bun',
    'https://evil.example/a.js',
    'data:text/javascript,import("node:fs")',
  ];

  test('no tool and no edit loads a module that the active policy does not name', async () => {
    shut.write('evil.ts', evil(shut));
    for (const specifier of [...SPECIFIERS, shut.file('evil.ts'), `file://${shut.file('evil.ts')}`]) {
      const changes = [{ name: 'more.yaml', text: `plugins: [${JSON.stringify(specifier)}]\n` }];
      await expectError(await put(shut, changes), 'insufficient_permissions');
      for (const [tool, body] of [
        ['check', { changes }],
        ['test', { changes }],
        ['diff', { b: { changes } }],
        ['explain', { request: { model: 'auto', messages: [] }, policy: { changes } }],
        ['patch', { changes }],
        ['pushes', { files: changes }],
      ] as const) {
        expect((await shut.box.post(`/admin/policy/${tool}`, body)).status).toBeLessThan(500);
      }
    }
    expect(existsSync(mark(shut))).toBe(false);
    // This proves that the test would notice the file: an owner of a server with `--allow-policy-writes` may load the module.
    open.write('evil.ts', evil(open));
    await put(open, [{ name: 'more.yaml', text: 'plugins: [./evil.ts]\n' }]);
    expect(existsSync(mark(open))).toBe(true);
  });

  test('no edit names a file outside the policy’s folder, or a file that is not a policy', async () => {
    const before = readdirSync(shut.folder).sort();
    for (const name of [
      '../evil.yaml',
      '/tmp/evil.yaml',
      'a/b.yaml',
      '..\\evil.yaml',
      'a\0.yaml',
      '.evil.yaml',
      'evil.ts',
      'evil.yaml/../evil.ts',
    ]) {
      expect((await put(shut, [{ name, text: 'strong_from: 0.5\n' }])).status).toBe(400);
    }
    expect(readdirSync(shut.folder).sort()).toEqual(before);
  });

  test('shell commands are plain text in everything else that can be written over HTTP', async () => {
    const spawned = spyOn(Bun, 'spawn');
    const { box } = shut;
    const commands = [
      `$(${TOUCH(shut)})`,
      `\`${TOUCH(shut)}\``,
      `; ${TOUCH(shut)} #`,
      `| ${TOUCH(shut)}`,
      `-c ${TOUCH(shut)}`,
    ];
    for (const command of commands) {
      const question = {
        model: command,
        messages: [{ role: 'user', content: command }],
        tools: [{ type: 'mcp', server: { command: 'sh', args: ['-c', command] } }],
      };
      const answers = await Promise.all([
        box.post('/admin/keys', { name: command, labels: { command } }),
        box.post('/admin/teams', { name: command }),
        box.post('/admin/users', { issuer: command, sub: command, name: command }),
        box.post('/admin/alerts/test', { webhook: command }),
        box.post('/admin/playground', { key: 'test00000001', dialect: command, body: question }),
        box.post('/admin/subjects/subject_0/block', { note: command }),
        box.post('/v1/chat/completions', question, { headers: { 'user-agent': command, 'idempotency-key': command } }),
        box.post('/v1/feedback', { decision_id: command, comment: command }),
        put(shut, [{ name: 'rules.yaml', text: `strong_from: 0.5 # ${command}\n` }]),
      ]);
      expect(answers.filter(({ status }) => status >= 500).map(({ url }) => url)).toEqual([]);
      const [key, team, user, ...others] = answers.map(({ status }) => status);
      expect([key, team, user, others.at(-1)]).toEqual([200, 200, 200, 200]);
    }
    expect(existsSync(mark(shut))).toBe(false);
    expect(spawned).not.toHaveBeenCalled();
    spawned.mockRestore();
    rmSync(shut.file('evil.ts'), { force: true });
  });
});
