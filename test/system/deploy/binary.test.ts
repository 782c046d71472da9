import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import OpenAI from 'openai';
import { commitOf } from '../../../src/server/version.ts';
import { deeply } from '../../deep/deeply.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { testPolicy } from '../../support/policies.ts';
import { freePort } from '../../support/ports.ts';
import { connect } from '../../support/raw-http.ts';
import { freshDatabase } from '../../support/shared-postgres.ts';
import { MAIN, makeTestKey, PROGRAM, temporaryFolder } from '../../support/signalbox.ts';
import { expectWholePage, PAGES } from './pages.ts';

/**
 * The program of `npm run build`, in a separate folder with an empty environment, without Bun, Node or npm. Everything that the sources
 * read from files next to them must be inside the program.
 */
const KEY = makeTestKey();
const PROSE = 'The committee met on Tuesday, and nobody could remember why. '.repeat(80);
const TOKENS = countTokens(PROSE);
/** More than the 256 concurrent requests that Bun allows by default. */
const AT_ONCE = 280;

const home = temporaryFolder();
const program = join(home, 'bin/signalbox');
const work = join(home, 'work');

/** The upstream answers once this many requests wait, or after a while. The upstream also records requests for packages. */
let open = 0;
let most = 0;
let wanted = 1;
const packages: string[] = [];
let release = Promise.withResolvers<void>();
const upstream = startOwnServer(async (request) => {
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith('/v1/')) {
    packages.push(pathname);
    return new Response('{}', { status: 404 });
  }
  most = Math.max(most, ++open);
  if (open >= wanted) release.resolve();
  await Promise.race([release.promise, Bun.sleep(6_000)]);
  open--;
  const message = { role: 'assistant', content: 'Hello' };
  const usage = { prompt_tokens: TOKENS, completion_tokens: 1, total_tokens: TOKENS + 1 };
  return Response.json({ id: 'x', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
});

const OWN = `version: 1
plugins: [./plugins/own.ts, signalbox-strategy-packed]
providers:
  up: { adapter: openai-compatible, base_url: "${upstream.url}/v1", api_key_env: TEST_UPSTREAM_KEY }
selectors:
  own: { strategy: own }
  packed: { strategy: packed }
models:
${['uncounted', 'counted']
  .map(
    (id) => `  ${id}:
    endpoints: [{ provider: up, upstream: ${id} }]
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: 0.8, basis: guessed }
`,
  )
  .join('')}    tokenizer: o200k_base
`;

const strategy = (name: string) => `import { defineStrategy, Type } from 'signalbox/plugin';
import { reason } from './reason.ts';
export const one = defineStrategy({
  name: '${name}',
  status: 'alpha',
  options: Type.Object({}, { additionalProperties: false }),
  prepare: () => ({
    reason,
    score({ n, quality }, out) {
      for (let i = 0; i < n; i++) out[i] = quality[i]!;
    },
  }),
});
`;

function writeModule(folder: string, name: string, file: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), strategy(name));
  writeFileSync(join(folder, 'reason.ts'), `export const reason = '${name}';\n`);
}

/** The complete environment of the program. */
const ENV = {
  TEST_UPSTREAM_KEY: 'upstream-secret',
  SIGNALBOX_API_KEY: KEY,
  // For packages that Bun would download.
  BUN_CONFIG_REGISTRY: `${upstream.url}/registry/`,
};

const run = (...args: string[]) => runIn(work, ...args);

async function runIn(cwd: string, ...args: string[]) {
  const child = Bun.spawn([program, ...args], { cwd, env: ENV, stdout: 'pipe', stderr: 'pipe' });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}

let server: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;
let url = '';
const lines: string[] = [];
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const ask = (model: string, content: string, more: object = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  });

async function readLog(stream: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  }
}

beforeAll(async () => {
  mkdirSync(work);
  // Files of a stranger in the folder must not become settings or code.
  writeFileSync(join(work, '.env'), 'OPENAI_API_KEY=sk-of-a-stranger\n');
  writeFileSync(join(work, 'bunfig.toml'), 'preload = ["./stranger.ts"]\n');
  writeFileSync(join(work, 'stranger.ts'), 'process.exit(7);\n');
  mkdirSync(join(work, 'policies'));
  writeFileSync(join(work, 'policies/mine.yaml'), OWN);
  mkdirSync(dirname(program));
  // `npm run test:system` has built the program already.
  if (PROGRAM !== MAIN) copyFileSync(PROGRAM, program);
  else {
    const built = Bun.spawnSync([process.execPath, join(MAIN, '../../deploy/build.ts'), '--outfile', program]);
    expect(built.stderr.toString()).toBe('');
    expect(built.stdout.toString()).toMatch(/Signalbox \d+\.\d+\.\d+\S*, Bun \S+, \d+\.\d MB\nsha256 [0-9a-f]{64}\n$/);
  }
  server = Bun.spawn([program, 'serve', '--port', '0'], { cwd: work, env: ENV, stdout: 'pipe', stderr: 'inherit' });
  void readLog(server.stdout);
  await waitFor(() => {
    url = /"message":"listening","address":"([^"]+)"/.exec(lines.join('\n'))?.[1] ?? '';
    return url !== '';
  });
});

afterAll(async () => {
  server.kill('SIGKILL');
  await server.exited;
  await upstream.stop();
  rmSync(home, { recursive: true, force: true });
});

describe('the standalone program', () => {
  test('the program serves the shipped policy, writes it to an editable folder, and ignores .env', async () => {
    const shipped = join(MAIN, '../../policies');
    const written = join(work, '.signalbox/policies');
    expect(readdirSync(written).sort()).toEqual(readdirSync(shipped).sort());
    expect(readFileSync(join(written, 'models.yaml'), 'utf8')).toBe(readFileSync(join(shipped, 'models.yaml'), 'utf8'));
    expect(lines.join('\n')).toContain('"the shipped policy was copied: edit the copy","folder":".signalbox/policies"');
    const client = new OpenAI({ apiKey: KEY, baseURL: `${url}/v1` });
    const answer = await client.chat.completions.create({ model: 'auto', messages: [{ role: 'user', content: 'Hi' }] });
    expect(answer.choices[0]?.message.content).toContain('simulated answer');
  });

  test('a start names its policy folder, and a folder with policy files that it does not use', () => {
    const written = join(work, '.signalbox/policies');
    const log = lines.map((line): unknown => JSON.parse(line));
    expect(log).toContainEqual(expect.objectContaining({ message: 'listening', policies: written }));
    const message = expect.stringContaining('is not used');
    expect(log).toContainEqual(expect.objectContaining({ message, folder: join(work, 'policies') }));
  });

  test('commands use the policy folder of the server, or else the folder of init, or else the built-in policy, and name it', async () => {
    expect((await run('policy', 'check')).out).toContain(`${join(work, '.signalbox/policies')}: `);
    const empty = join(home, 'empty');
    mkdirSync(empty);
    for (const args of [['policy', 'check', '--all'], ['policy', 'test'], ['doctor']]) {
      const { out, err } = await runIn(empty, ...args);
      expect(out + err).toContain('the built-in policy');
      expect(out + err).not.toContain('$bunfs');
    }
    expect((await runIn(empty, 'init')).out).toContain(' serve\n');
    expect((await runIn(empty, 'policy', 'check')).out).toContain('policies: ');
    writeFileSync(join(empty, 'policies/mine.yaml'), 'nonsense: 1\n');
    expect((await runIn(empty, 'policy', 'check')).code).toBe(2);
  });

  test.each(PAGES)('the program serves %s, with everything that the page loads', (page) => expectWholePage(url, page));

  test('the program applies an edit, with plugins in the policy folder and from a package', async () => {
    const policies = join(work, '.signalbox/policies');
    writeModule(join(policies, 'plugins'), 'own', 'own.ts');
    const packed = join(policies, 'node_modules/signalbox-strategy-packed');
    writeModule(join(packed, 'lib'), 'packed', 'start.ts');
    writeFileSync(join(packed, 'package.json'), '{"name":"signalbox-strategy-packed","exports":"./lib/start.ts"}');
    writeFileSync(join(policies, 'own.yaml'), OWN);
    await waitFor(async () => (await ask('counted', 'Hi')).status === 200);
    for (const selector of ['own', 'packed']) {
      const { platform } = await answerOf(await ask(selector, 'Hi'));
      expect(platform.route_reason).toContain(selector);
    }
  });

  test('the program counts a prompt exactly if only the upper bound is too long', async () => {
    const terms = { budget_limit: 2, max_tokens: 64 };
    await expectError(await ask('uncounted', PROSE, terms), 'budget_limit_too_low', 'budget_limit');
    // The first count loads the vocabulary, which on a busy machine may take longer than a request waits for it.
    await waitFor(async () => (await ask('counted', PROSE, terms)).status === 200);
  });

  test('the program audits its books on request', async () => {
    const answer = await fetch(`${url}/admin/ledger/audit`, { method: 'POST', headers });
    expect([answer.status, await answer.json()]).toMatchObject([200, { result: { is_sound: true } }]);
  });

  test(`the program handles ${AT_ONCE} requests at once, and accepts long headers`, async () => {
    const body = JSON.stringify({ model: 'counted', messages: [{ role: 'user', content: 'Hi' }] });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    [wanted, most, release] = [AT_ONCE, 0, Promise.withResolvers()];
    const statuses = Array.from({ length: AT_ONCE }, async () => {
      const connection = await connect(url);
      await connection.write(head + body);
      const { status } = await connection.response();
      connection.close();
      return status;
    });
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
    expect(most).toBe(AT_ONCE);
    const long = await fetch(`${url}/healthz`, { headers: { 'x-long': 'a'.repeat(200 * 1024) } });
    // The error has Signalbox's own body; Bun's error would have none.
    await expectError(long, 'headers_too_large');
  });

  test.skipIf(process.platform !== 'linux')('the program runs with the settings of the first line of main.ts', () => {
    const [first = ''] = readFileSync(MAIN, 'utf8').split('\n', 1);
    const settings = first.match(/\b[A-Z][A-Za-z_]+=\w+/g) ?? [];
    expect(settings.length).toBeGreaterThan(1);
    const environment = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0');
    expect(environment).toEqual(expect.arrayContaining(settings));
  });

  test('the program prints its version and, if known, its commit, without the sources', async () => {
    const { version } = JSON.parse(readFileSync(join(MAIN, '../../package.json'), 'utf8'));
    const commit = commitOf(join(MAIN, '../..'));
    const { out } = await run('--version');
    expect([version + (commit && `+${commit}`), `${version}+${commit}.dirty`]).toContain(out.trim());
  });

  test('the program reports its health to a container', async () => {
    expect(await run('health', '--url', url)).toEqual({
      code: 0,
      out: `${url}/healthz answered with status 200\n`,
      err: '',
    });
  });
});

describe('its commands', () => {
  deeply('try and describe a policy', async () => {
    const small = testPolicy(
      { up: `${upstream.url}/v1` },
      { small: { endpoints: ['up'] } },
      'cases: [{ name: any, given: { task_type: general }, expect: { model: small } }]\n',
    );
    mkdirSync(join(work, 'small'));
    writeFileSync(join(work, 'small/policy.yaml'), small);
    const results = await Promise.all([
      // Checks the policy in the data folder, which the server wrote at its first start.
      run('policy', 'check'),
      run('policy', 'test', 'small'),
      run('policy', 'schema'),
    ]);
    expect(results.map(({ code, err }) => [code, err])).toEqual(results.map(() => [0, '']));
    expect(results[1]?.out).toContain('small: 1 case: 1 hold');
    expect(JSON.parse(results[2]?.out ?? '')).toHaveProperty('properties.models');
  });

  deeply('the program makes a plugin and tries it, and fetches no code', async () => {
    const made = await run('plugin', 'new', 'provider', 'parrot');
    expect(made.code).toBe(0);
    expect(readdirSync(join(work, 'parrot')).sort()).toEqual([
      'README.md',
      'deno.json',
      'index.test.ts',
      'index.ts',
      'package.json',
      'samples',
      'tsconfig.json',
    ]);
    // TypeScript refuses a relative path that does not begin with a dot.
    expect(readFileSync(join(work, 'parrot/tsconfig.json'), 'utf8')).toContain(
      '"./node_modules/signalbox-gateway/plugin/contract/plugin"',
    );
    const tried = await run('plugin', 'test', 'parrot', '--runs', '20');
    expect([tried.code, tried.err]).toEqual([0, '']);
    writeFileSync(join(work, 'hungry.ts'), "import 'left-pad';\n");
    const hungry = await run('plugin', 'test', 'hungry.ts');
    expect([hungry.code, hungry.err]).toEqual([1, expect.stringContaining('left-pad')]);
    expect(packages).toEqual([]);
  });

  test('the program creates keys, imports a configuration and audits the books', async () => {
    writeFileSync(
      join(work, 'litellm.yaml'),
      'model_list:\n  - model_name: gpt\n    litellm_params: { model: openai/gpt-5.6-terra, api_key: os.environ/OPENAI_API_KEY }\n',
    );
    const results = await Promise.all([
      run('keys', 'create', '--name', 'app'),
      run('import', 'litellm', 'litellm.yaml'),
      run('ledger', 'audit'),
      run('learn', 'status'),
    ]);
    expect(results.map(({ code, err }) => [code, err])).toEqual(results.map(() => [0, '']));
  });
});

deeply('the program starts itself for each of its processes, at one PostgreSQL', async () => {
  await using database = await freshDatabase();
  const port = freePort();
  const child = Bun.spawn(
    [program, 'serve', '--processes', '2', '--port', `${port}`, '--metrics-port', `${freePort()}`, '--data', 'shared'],
    {
      cwd: work,
      env: { HOME: home, SIGNALBOX_API_KEY: KEY, DATABASE_URL: database.url },
      stdout: 'ignore',
      stderr: 'inherit',
    },
  );
  const headers = { authorization: `Bearer ${KEY}` };
  await waitFor(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/admin/cluster`, { headers }).catch(() => null);
    return answer?.ok && ((await answer.json()) as { data: unknown[] }).data.length === 2;
  });
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});
