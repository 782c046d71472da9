import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryFields } from '../../../deploy/package.ts';
import sbom from '../../../deploy/sbom.cdx.json' with { type: 'json' };
import manifest from '../../../package.json' with { type: 'json' };
import { waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { startOwnServer } from '../../support/own-server.ts';
import { freePort } from '../../support/ports.ts';
import { addressIn } from '../../support/serve-here.ts';
import { makeTestKey, temporaryFolder } from '../../support/signalbox.ts';
import { expectWholePage, PAGES } from './pages.ts';

/** The package of `npm run package`, run with npx in an empty folder, with an npm cache of its own and without Bun on the path. */
const ROOT = join(import.meta.dir, '../../..');
const KEY = makeTestKey();
const INSTALL_MS = 90_000;
const home = temporaryFolder();
const work = join(home, 'work');
const tarball = `signalbox-${manifest.version}.tgz`;
const spec = `../out/${tarball}`;
const PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');
const ENV = { PATH, HOME: home, SIGNALBOX_API_KEY: KEY, ...npmSettings() };

/** The registry of this machine. The tests have no other settings of npm. */
function npmSettings(): Record<string, string> {
  const { stdout } = Bun.spawnSync(['npm', 'config', 'get', 'registry'], { cwd: ROOT });
  return { npm_config_registry: stdout.toString().trim(), npm_config_update_notifier: 'false' };
}

async function npm(command: readonly string[], { cwd = work, env = {} } = {}) {
  const child = Bun.spawn([...command], { cwd, env: { ...ENV, ...env }, stdout: 'pipe', stderr: 'pipe' });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, out, err };
}
const npx = (...args: string[]) => npm(['npx', '-y', spec, ...args]);

let server: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;
let url = '';
const printed: string[] = [];
let port = 0;

async function serve(): Promise<void> {
  port = freePort();
  printed.length = 0;
  url = '';
  server = Bun.spawn(['npx', '-y', spec], {
    cwd: work,
    env: { ...ENV, PORT: String(port) },
    stdout: 'pipe',
    stderr: 'inherit',
    // npx passes no signals to the server, so the test sends them to the whole group, as a terminal does.
    detached: true,
  });
  void (async () => {
    for await (const chunk of server.stdout.pipeThrough(new TextDecoderStream())) printed.push(chunk);
  })();
  await waitFor(() => {
    url = addressIn(printed.join('')) ?? '';
    return url !== '';
    // npm installs the package first.
  }, INSTALL_MS);
}

async function stop(): Promise<void> {
  process.kill(-server.pid, 'SIGTERM');
  await server.exited;
}

beforeAll(async () => {
  mkdirSync(work);
  const built = await npm([process.execPath, join(ROOT, 'deploy/package.ts'), '--out', join(home, 'out')], {
    env: { HOME: process.env.HOME ?? home, PATH: process.env.PATH ?? '' },
  });
  expect(built.err).toBe('');
  expect(built.code).toBe(0);
  await serve();
}, 2 * INSTALL_MS);

afterAll(async () => {
  await stop();
  rmSync(home, { recursive: true });
});

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const get = (path: string, init: RequestInit = {}) => fetch(url + path, { ...init, headers });
const chat = (model = 'auto', content = 'Say hello.', terms: object = {}) =>
  get('/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...terms }),
  });

/** The bound of its bytes as tokens does not fit into 2 Credits; its exact number of tokens does. */
const PROSE = 'The committee met on Tuesday, and nobody could remember why. '.repeat(80);
const model = (id: string, more = '') => `  ${id}:
    provider: simulated
    price: { input: 1, output: 4, as_of: 2026-11-01, basis: own }
    context_window: 32768
    max_output: 8192
    latency: { ttft_ms: 100, output_tokens_per_second: 100, basis: guessed }
    quality: { default: 0.8, basis: guessed }
${more}`;
const OWN = `version: 1\nmodels:\n${model('uncounted')}${model('counted', '    tokenizer: o200k_base\n')}`;

describe('npx with the file, in an empty folder', () => {
  test('serves the API', async () => {
    expect((await chat()).status).toBe(200);
  });

  test.each(PAGES)('serves %s, with everything that the page loads', (page) => expectWholePage(url, page));

  test('runs the commands at the running server, and names itself in their texts', async () => {
    const list = await npx('keys', 'list');
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(list.out).toContain('test00000001');
    const unknown = await npx('keyz');
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain(`npx --yes ${spec} help`);
  });

  test('applies an edit, which the worker for policies reads', async () => {
    writeFileSync(join(work, '.signalbox/policies/own.yaml'), OWN);
    await waitFor(async () => (await (await get('/v1/models')).text()).includes('"counted"'));
    expect(await npx('policy', 'check')).toMatchObject({ code: 0, err: '' });
  });

  test('counts a prompt exactly, in the worker for tokens', async () => {
    const terms = { budget_limit: 2, max_tokens: 64 };
    await expectError(await chat('uncounted', PROSE, terms), 'budget_limit_too_low', 'budget_limit');
    await waitFor(async () => (await chat('counted', PROSE, terms)).status === 200);
  });

  test('audits the ledger and examines the database, in their workers', async () => {
    const audit = await get('/admin/ledger/audit', { method: 'POST' });
    expect([audit.status, await audit.json()]).toMatchObject([200, { result: { is_sound: true } }]);
    const doctor = await npx('doctor', '--json');
    const { data } = JSON.parse(doctor.out) as { data: { check: string; state: string; subject: string | null }[] };
    const database = data.filter(({ check }) => check === 'database');
    expect(database.length).toBeGreaterThan(0);
    expect(database.filter(({ state }) => state !== 'ok')).toEqual([]);
    const folders = data.filter(({ check, subject }) => check === 'permissions' && subject?.endsWith('.signalbox'));
    expect(folders.map(({ subject }) => subject)).toEqual([join(work, '.signalbox')]);
  });

  test('proposes models of a provider, with the figures of the package', async () => {
    const list = startOwnServer(() => Response.json({ data: [{ id: 'new-model', object: 'model' }] }));
    const provider = `providers:\n  up: { adapter: openai-compatible, base_url: "${list.url}/v1" }\n`;
    writeFileSync(join(work, '.signalbox/policies/provider.yaml'), provider);
    expect(await npx('catalog', 'update', 'up')).toMatchObject({ code: 0, out: expect.stringContaining('new-model') });
    await list.stop();
  });

  test('tests a plugin, in the worker for plugins', async () => {
    expect((await npx('plugin', 'new', 'strategy', 'parrot')).code).toBe(0);
    expect(await npx('plugin', 'test', 'parrot', '--runs', '5')).toMatchObject({ code: 0, err: '' });
  });
});

describe('signalbox init', () => {
  test('writes the policy and the variables, and the next start uses them', async () => {
    const { code, out } = await npx('init');
    expect(code).toBe(0);
    expect(out).toContain(`npx --yes ${spec} serve`);
    const example = readFileSync(join(work, '.env.example'), 'utf8');
    for (const name of ['OPENAI_API_KEY', 'OLLAMA_BASE_URL']) expect(example).toContain(`#${name}=`);
    const shipped = readFileSync(join(ROOT, 'policies/signalbox.yaml'), 'utf8');
    const file = join(work, 'policies/signalbox.yaml');
    expect(readFileSync(file, 'utf8')).toBe(shipped);
    writeFileSync(join(work, 'policies/own.yaml'), 'selectors: { house: { strategy: auto-cheap } }\n');
    await stop();
    // Commands check the policy of the next start.
    expect((await npx('policy', 'check')).out).toContain('policies: ');
    await serve();
    const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } });
    expect(await models.text()).toContain('"house"');
  });

  test('fills an empty folder', async () => {
    mkdirSync(join(work, 'empty/policies'), { recursive: true });
    expect((await npx('init', 'empty')).code).toBe(0);
    expect(existsSync(join(work, 'empty/policies/signalbox.yaml'))).toBe(true);
  });

  test('changes no file that exists', async () => {
    const file = join(work, 'policies/signalbox.yaml');
    const edited = readFileSync(file, 'utf8');
    const again = await npx('init');
    expect(again.code).toBe(0);
    expect(again.out).toContain('was not changed');
    expect(readFileSync(file, 'utf8')).toBe(edited);
  });

  test('refuses a folder that is a file', async () => {
    writeFileSync(join(work, 'taken'), '');
    const refused = await npx('init', 'taken');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('cannot be written');
    expect(existsSync(join(work, 'taken/policies'))).toBe(false);
  });
});

/** Runs the blocks of commands that docs/operate/first-deployment.md has for a developer, in a new project. */
describe('the page for an application developer', () => {
  const app = join(home, 'app');
  const page = readFileSync(join(ROOT, 'docs/operate/first-deployment.md'), 'utf8');
  const section = page.split('\n## An application developer\n')[1]?.split('\n## ')[0] ?? '';
  const own = freePort();
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = '']) =>
    commands.replace(/\.\/signalbox-(VERSION|OLD|NEW)\.tgz/g, spec).replace('127.0.0.1:8787', `127.0.0.1:${own}`),
  );
  const [install = '', start = '', ask = '', budget = '', refusal = '', upgrade = '', rollback = ''] = blocks;
  let running: Bun.Subprocess | undefined;
  const env = { PORT: String(own), SIGNALBOX_KEY: KEY };
  async function follow(commands: string): Promise<string> {
    const { code, out, err } = await npm(['sh', '-ec', commands], { cwd: app, env });
    expect([code, code === 0 ? '' : err]).toEqual([0, '']);
    return out;
  }
  async function startServer(): Promise<void> {
    running = Bun.spawn(['sh', '-c', `exec ${start}`], { cwd: app, env: { ...ENV, ...env }, stdout: 'ignore' });
    await waitFor(async () => (await fetch(`http://127.0.0.1:${own}/healthz`).catch(() => null))?.ok === true, 30_000);
  }
  async function stopServer(): Promise<void> {
    running?.kill();
    await running?.exited;
  }
  afterAll(stopServer);

  test('leads to an answer, a budget, an upgrade and a rollback', async () => {
    expect(blocks).toHaveLength(7);
    mkdirSync(app);
    writeFileSync(join(app, 'package.json'), '{"name": "app", "private": true}');
    // The name `signalbox` may belong to another project of the registry.
    const installed = await follow(install);
    expect(installed).toContain('node_modules/.bin/signalbox serve');
    expect(installed).not.toContain('npx signalbox');
    await startServer();
    expect(await follow(ask)).toContain('"choices"');
    expect(await follow(budget)).toMatch(/sb_live_/);
    expect(await follow(refusal)).toContain('"code":"request_exceeds_budget"');
    await follow(upgrade);
    await stopServer();
    await startServer();
    expect(await follow(ask)).toContain('"choices"');
    await stopServer();
    await follow(rollback);
    await startServer();
    expect(await follow(ask)).toContain('"choices"');
    expect(await follow('node_modules/.bin/signalbox keys list')).toContain('app');
  }, 300_000);
});

describe('a plugin of a project that has the package', () => {
  const project = join(home, 'plugins');
  const follow = async (...command: string[]) => {
    const { code, out, err } = await npm(command, { cwd: project });
    return { code, out: out + err };
  };

  test('type-checks with the package and TypeScript alone, and a wrong type fails', async () => {
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"name": "plugins", "private": true}');
    const typescript = `typescript@${manifest.devDependencies.typescript}`;
    expect(await follow('npm', 'install', '--silent', '--save-dev', spec, typescript)).toMatchObject({ code: 0 });
    for (const kind of ['strategy', 'provider', 'guard']) {
      const made = await follow('node_modules/.bin/signalbox', 'plugin', 'new', kind, `own-${kind}`);
      expect(made.code).toBe(0);
      const check = () => follow('node_modules/.bin/tsc', '-p', `own-${kind}`, '--skipLibCheck', 'false');
      expect(await check()).toEqual({ code: 0, out: '' });
      const file = join(project, `own-${kind}/index.ts`);
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace(/name: '[^']*'/, 'name: 5'));
      expect((await check()).out).toContain('TS2322');
      writeFileSync(file, text);
      const tried = await follow('node_modules/.bin/signalbox', 'plugin', 'test', `own-${kind}`, '--runs', '5');
      expect(tried.code).toBe(0);
    }
  }, 120_000);

  test('imports values from the module in its own tests', async () => {
    const code = "import { isObject } from 'signalbox-gateway/plugin'; if (!isObject({})) process.exit(1);";
    writeFileSync(join(project, 'own.mjs'), code);
    expect(await follow('node', 'own.mjs')).toEqual({ code: 0, out: '' });
  });
});

describe('npm publish', () => {
  const dry = (env: Record<string, string>) =>
    npm(['npm', 'publish', '--dry-run', '--tag', 'dev'], { cwd: join(home, 'out/package'), env });

  test('accepts the package from the release script, and refuses it from anyone else', async () => {
    const released = await dry({ SIGNALBOX_RELEASE: manifest.version });
    expect(released.code).toBe(0);
    const refused = await dry({});
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('npm run release');
  });

  test('refuses to pack or publish the sources', async () => {
    for (const args of [['pack'], ['publish', '--dry-run']]) {
      const refused = await npm(['npm', ...args], { cwd: ROOT, env: { SIGNALBOX_RELEASE: manifest.version } });
      expect([refused.code !== 0, refused.err]).toEqual([true, expect.stringContaining('npm run')]);
    }
  });

  test('has Bun as the only dependency, and no sources', () => {
    const published = JSON.parse(readFileSync(join(home, 'out/package/package.json'), 'utf8'));
    expect(Object.keys(published.dependencies)).toEqual(['bun']);
    expect(published.private).toBeUndefined();
    expect(existsSync(join(home, 'out/package/src'))).toBe(false);
  });

  test('has the changelog in its file', async () => {
    const { out } = await npm(['tar', '-tzf', spec]);
    expect(out.split('\n')).toContain('package/CHANGELOG.md');
  });

  test('has the licence texts of all bundled packages in its file, and of no package for development', async () => {
    const { out } = await npm(['tar', '-xzOf', spec, 'package/THIRD-PARTY-LICENSES']);
    const sections = out.split(/^-{80}\n\n/m).slice(1);
    const names = sections.flatMap((section) => section.split('\n\n', 1)[0]!.split('\n'));
    // The package contains neither Bun nor optional packages, which are for certain platforms.
    const bundled = sbom.components.filter(({ name, scope }) => scope === 'required' && name !== 'bun');
    const missing = bundled.filter(
      ({ name, version }) => !names.some((line) => line.startsWith(`${name} ${version}: `)),
    );
    expect([bundled.length > 50, missing]).toEqual([true, []]);
    expect(sections.filter((section) => !/\n\n\S/.test(section))).toEqual([]);
    for (const name of ['elysia/LICENSE', 'swagger-ui-dist/NOTICE'])
      expect(out).toContain(readFileSync(join(ROOT, 'node_modules', name), 'utf8').trim());
    expect(names.filter((line) => line.startsWith('echarts '))).toEqual([]);
  });

  test('states the repository only if it is public, and no credentials', () => {
    const page = 'https://github.com/example/signalbox';
    for (const remote of [
      `${page}.git`,
      page,
      'git@github.com:example/signalbox.git',
      'https://me:secret@github.com/example/signalbox',
    ])
      expect(repositoryFields(remote)).toEqual({
        repository: { type: 'git', url: `git+${page}.git` },
        homepage: `${page}#readme`,
        bugs: `${page}/issues`,
      });
    for (const remote of [
      '',
      '/srv/signalbox',
      'file:///srv/signalbox',
      'https://git.example/a/b',
      'me@github.com.example:a/b',
    ])
      expect(repositoryFields(remote)).toEqual({});
  });

  test('refuses the sources', async () => {
    const refused = await npm(['npm', 'publish', '--dry-run', '--tag', 'dev'], { cwd: ROOT });
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain('npm run release');
  });
});
