import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deeply } from '../../deep/deeply.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { FakeModelServer } from '../../support/model-servers.ts';
import { testPolicy, UPSTREAM_ENV } from '../../support/policies.ts';
import { freePort } from '../../support/ports.ts';
import { runHere } from '../../support/run-here.ts';
import { serveHere } from '../../support/serve-here.ts';
import {
  cleanEnvironment,
  launch,
  makeTestKey,
  PROGRAM,
  runCommand,
  type Signalbox,
  startSignalbox,
  temporaryFolder,
} from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';

const NO_KEY = { SIGNALBOX_API_KEY: '' };
const hello = [{ role: 'user', content: 'Say hello.' }];

let folder: string;
const upstream = useUpstream();
let policy: string;
const running: Pick<Signalbox, 'stop'>[] = [];

beforeAll(() => {
  folder = temporaryFolder();
  policy = testPolicy({ first: upstream.url }, { best: { endpoints: ['first'] } });
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((box) => box.stop()));
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

let folders = 0;
function emptyFolder(): string {
  const path = newPath();
  mkdirSync(path);
  return path;
}

function policyFolder(text: string): string {
  const path = emptyFolder();
  writeFileSync(join(path, 'policy.yaml'), text);
  return path;
}

/** Returns a path in the test's own folder that does not exist yet. */
const newPath = () => join(folder, `data${++folders}`);

async function start(options: Parameters<typeof startSignalbox>[0]): Promise<Signalbox> {
  const box = await startSignalbox(options);
  running.push(box);
  return box;
}

const modelsWith = (url: string, key: string) =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const ids = async (box: Signalbox) =>
  ((await (await box.get('/v1/models')).json()) as { data: { id: string; owned_by: string }[] }).data;

describe('settings', () => {
  test('come from the environment', async () => {
    const data = newPath();
    const port = freePort();
    const key = makeTestKey();
    const settings = {
      PORT: String(port),
      HOST: 'localhost',
      SIGNALBOX_DATA: data,
      SIGNALBOX_POLICIES: policyFolder(policy),
      SIGNALBOX_API_KEY: key,
    };
    const server = await serveHere(['serve'], { ...settings, ...UPSTREAM_ENV }, []);
    running.push(server);
    const { url } = server;
    expect(url).toBe(`http://localhost:${port}`);
    expect(existsSync(join(data, 'signalbox.db'))).toBe(true);
    const models = (await (await modelsWith(url, key)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toContain('best');
  });

  test('come from flags first', async () => {
    const data = newPath();
    const port = freePort();
    const policies = policyFolder(policy);
    const args = ['serve', '--port', String(port), '--host=127.0.0.1', '--data', data, '--policies', policies];
    const wrong = { PORT: '1', HOST: 'nowhere.invalid', SIGNALBOX_DATA: '/proc/none', SIGNALBOX_POLICIES: '/none' };
    const server = await serveHere(args, { ...wrong, ...UPSTREAM_ENV }, []);
    running.push(server);
    const { url } = server;
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(existsSync(join(data, 'signalbox.db'))).toBe(true);
  });

  test('have a default: the data folder is .signalbox in the current folder', async () => {
    const here = emptyFolder();
    const { child } = await launch(['serve'], { PORT: '0' }, here);
    running.push({ stop: async () => child.kill('SIGKILL') });
    expect(existsSync(join(here, '.signalbox', 'admin.key'))).toBe(true);
  });

  test('a start installs the key in SIGNALBOX_API_KEY with all scopes and creates no other', async () => {
    const box = await start({ data: newPath() });
    expect((await box.post('/v1/route', {})).status).toBe(200);
    expect((await box.post('/v1/chat/completions', { model: 'auto', messages: hello })).status).toBe(200);
    expect(existsSync(join(box.data, 'admin.key'))).toBe(false);
    const { out } = await box.run('keys', 'list', '--json');
    expect(JSON.parse(out).data).toMatchObject([{ scopes: ['chat', 'embed', 'route', 'admin'] }]);
  });
});

describe('the first start without a terminal', () => {
  test('creates a data folder that only its owner can read, and a working key, and prints only the path of the key', async () => {
    const data = newPath();
    const box = await start({ data, env: NO_KEY });
    const file = join(data, 'admin.key');
    expect([mode(data), mode(file), mode(join(data, 'signalbox.db'))]).toEqual(['700', '600', '600']);
    const key = readFileSync(file, 'utf8').trim();
    expect(key).toMatch(/^sb_live_[a-z0-9]{12}_[\w-]{43}$/);
    expect((await modelsWith(box.url, key)).status).toBe(200);
    expect(box.lines.join('\n')).toContain(file);
    expect(box.lines.join('\n')).not.toContain(key);

    await box.stop();
    rmSync(file);
    const again = await start({ data, env: NO_KEY });
    expect(existsSync(file)).toBe(false);
    expect((await modelsWith(again.url, key)).status).toBe(200);
  });

  test('leaves no unseen key if it fails', async () => {
    const data = newPath();
    const box = await start({ data: newPath() });
    const { code } = await runCommand(['serve', '--port', new URL(box.url).port, '--data', data]);
    expect(code).toBe(1);
    await start({ data, env: NO_KEY });
    expect(readFileSync(join(data, 'admin.key'), 'utf8')).toStartWith('sb_live_');
  });

  test('does not overwrite a key file of another database', async () => {
    const data = newPath();
    mkdirSync(data);
    writeFileSync(join(data, 'admin.key'), 'precious');
    const serve = ['serve', '--port', '0', '--data', data];
    expect((await runCommand(serve)).err).toContain('admin.key exists');
    expect(readFileSync(join(data, 'admin.key'), 'utf8')).toBe('precious');
    rmSync(join(data, 'admin.key'));
    await start({ data, env: NO_KEY });
    expect(readFileSync(join(data, 'admin.key'), 'utf8')).toStartWith('sb_live_');
  });
});

describe('on a terminal', () => {
  /** Starts the server on a pseudo-terminal and waits for the example command. */
  async function onTerminal(data: string, env: Readonly<Record<string, string>> = {}) {
    const decoder = new TextDecoder();
    let shown = '';
    const child = Bun.spawn([PROGRAM, 'serve', '--port', '0', '--data', data], {
      env: cleanEnvironment(env),
      terminal: {
        cols: 80,
        data: (_, bytes) => {
          shown += decoder.decode(bytes, { stream: true });
        },
      },
    });
    running.push({
      stop: async () => {
        child.kill('SIGKILL');
        await child.exited;
        child.terminal?.close();
      },
    });
    const curl = await waitFor(() => /^ *(curl .*')\r?$/m.exec(shown)?.[1]);
    return { shown: () => shown, curl, child };
  }

  /** Pastes a line into a shell. */
  async function paste(line: string, env: Readonly<Record<string, string>> = {}) {
    const shell = Bun.spawn(['sh', '-c', line], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdout: 'pipe',
      stderr: 'ignore',
    });
    return answerOf(new Response(await new Response(shell.stdout).text()));
  }

  test('the first start shows the address, the key once, and a curl command that works when pasted', async () => {
    const data = newPath();
    const { shown, curl } = await onTerminal(data);
    const text = shown();
    expect(text).toMatch(/ready at http:\/\/127\.0\.0\.1:\d+/);
    const [key] = /sb_live_\w{12}_[\w-]{43}/.exec(text)!;
    expect(text.split('\n').filter((line) => line.trim() === key)).toHaveLength(1);
    expect(existsSync(join(data, 'admin.key'))).toBe(false);
    const { choices } = await paste(curl);
    expect(choices[0]?.message.content).toContain('simulated');
  });

  deeply('on a terminal the second start shows no key, and a line that takes it from the environment', async () => {
    const data = newPath();
    const key = makeTestKey();
    const { shown, curl } = await onTerminal(data, { SIGNALBOX_API_KEY: key });
    expect(shown()).not.toContain(key);
    const { choices } = await paste(curl, { SIGNALBOX_KEY: key });
    expect(choices[0]?.message.content).toContain('simulated');
  });

  deeply(
    'prints the providers that serve, that have no model or do not listen, and the number of unused ones, and Ctrl-C ends it cleanly',
    async () => {
      const closed = 'http://127.0.0.1:9/v1';
      const env = { OPENAI_API_KEY: 'sk-none', LM_STUDIO_BASE_URL: closed, OLLAMA_BASE_URL: closed };
      const { child, shown } = await onTerminal(newPath(), env);
      expect(shown()).toMatch(
        /Models from +openai \(\d+ models, 1 wildcard\)\s+No model yet +ollama, lm-studio; Signalbox looks again.+\s+Not running +ollama at 127\.0\.0\.1:9, lm-studio at 127\.0\.0\.1:9; start it to use its models\s+Not in use +\d+ providers; /,
      );
      child.terminal!.write('\x03');
      expect(await child.exited).toBe(0);
    },
  );
});

describe('a start that is impossible says why in one sentence and exits with 1:', () => {
  const serve = (...more: string[]) => ['serve', '--port', '0', '--data', newPath(), ...more];
  const file = () => {
    const path = newPath();
    writeFileSync(path, '');
    return path;
  };
  const cases: readonly [string, () => readonly string[], RegExp, Readonly<Record<string, string>>?][] = [
    ['an unknown flag', () => serve('--prot', '1'), /Unknown option '--prot'/],
    ['an address of another machine', () => serve('--host', '192.0.2.1'), /this machine does not have this address/],
    ['an address that is none', () => serve('--host', '999.1.1.1'), /this address does not exist/],
    [
      'a data folder below a file',
      () => ['serve', '--port', '0', '--data', join(file(), 'x')],
      /Cannot use the data folder/,
    ],
    ['a file as the data folder', () => ['serve', '--port', '0', '--data', file()], /Cannot use the data folder/],
    ['a missing policy folder', () => serve('--policies', newPath()), /policy folder .* cannot be read/],
    [
      'a file in place of the policy folder',
      () => serve('--policies', import.meta.path),
      /is not a folder.* name the folder/,
    ],
    ['an empty policy folder', () => serve('--policies', emptyFolder()), /has no \.yaml files/],
    ['a weak key', () => serve(), /SIGNALBOX_API_KEY .*too short/, { SIGNALBOX_API_KEY: 'sb_live_abc_tooshort' }],
    ['a key of another form', () => serve(), /does not have the form/, { SIGNALBOX_API_KEY: 'sk-0123456789' }],
  ];
  for (const [what, args, message, env] of cases) {
    test(what, async () => {
      const { code, err } = await runHere(args(), env);
      expect(err).toMatch(message);
      expect(err).toMatch(/^signalbox: [^\n]+\.\n$/);
      expect(code).toBe(1);
    });
  }

  test('a port in use, and a data folder in use', async () => {
    const box = await start({ data: newPath() });
    const { port } = new URL(box.url);
    const busy = await runHere(['serve', '--port', port, '--data', newPath()]);
    expect(busy).toMatchObject({ code: 1, err: expect.stringMatching(/^signalbox: [^\n]*port is in use[^\n]*\.\n$/) });
    const shared = await runHere(['serve', '--port', '0', '--data', box.data]);
    expect(shared).toMatchObject({ code: 1, err: expect.stringMatching(/^signalbox: Another Signalbox[^\n]*\.\n$/) });
    expect((await box.get('/v1/models')).status).toBe(200);
  });

  test('a wrong policy, with the location of each mistake', async () => {
    const policies = policyFolder(policy.replace('quality: { default: 0.8', 'quality: { default: 8'));
    const { code, err } = await runHere(serve('--policies', policies), UPSTREAM_ENV);
    expect(code).toBe(1);
    const line = policy.split('\n').findIndex((text) => text.includes('quality: {')) + 1;
    expect(err).toMatch(new RegExp(`policy\\.yaml:${line}:\\d+  `));
    expect(err).toMatch(/signalbox: The policy in \S+ has 1 error; the server did not start\.\n$/);
    expect(err).not.toMatch(/\n\s+at /);
  });

  test('--help is not a mistake', async () => {
    for (const [flag, ...args] of [
      ['signalbox serve', 'help'],
      ['signalbox serve', '--help'],
      ['--drain-ms', 'serve', '--help'],
      ['--expires-in', 'keys', 'create', '-h'],
    ]) {
      const { code, out } = await runHere(args);
      expect(code).toBe(0);
      expect(out).toContain(flag!);
    }
  });
});

describe('providers', () => {
  test('providers without a key are left out with one log line, and a restart with a key serves the real provider', async () => {
    const data = newPath();
    const env = { SIGNALBOX_API_KEY: makeTestKey() };
    const bare = await start({ data, env });
    const leftOut = bare.lines.filter((line) => line.includes('some providers are not used'));
    expect(leftOut).toHaveLength(1);
    expect(JSON.parse(leftOut[0]!)).toMatchObject({
      providers: expect.stringMatching(/^openai, anthropic, .*, ollama, [^()]+$/),
      reasons: expect.stringMatching(/signalbox policy check \S+ --all$/),
    });
    expect(new Set((await ids(bare)).map(({ owned_by: owner }) => owner))).toEqual(new Set(['signalbox', 'simulated']));
    await bare.stop();

    const local = new FakeModelServer('ollama', [{ name: 'smol', capabilities: ['completion'] }]);
    const ollama = await start({ data, env: { ...env, OLLAMA_BASE_URL: local.url } });
    const answer = await answerOf(await ollama.post('/v1/chat/completions', { model: 'auto', messages: hello }));
    expect(answer.choices[0]?.message.content).toBe('I am smol.');
    expect(answer.model).toBe('ollama/smol');
    expect(new Set((await ids(ollama)).map(({ owned_by: owner }) => owner))).toEqual(new Set(['signalbox', 'ollama']));
    await ollama.stop();
    await local.stop();

    const openai = await start({ data, env: { ...env, OPENAI_API_KEY: 'sk-none' } });
    const models = await ids(openai);
    expect(models.filter(({ owned_by: owner }) => owner === 'openai').length).toBeGreaterThan(0);
    expect(models.some(({ owned_by: owner }) => owner === 'simulated')).toBe(false);
    expect(bare.lines.join('\n')).toMatch(/"listening",.*"providers":"simulated \(\d models\)"/);
    expect(openai.lines.join('\n')).toMatch(/"listening",.*"providers":"openai \(\d+ models, 1 wildcard\)"/);
    expect(openai.lines.join('\n')).not.toContain('sk-none');
  });
});
