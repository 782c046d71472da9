import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { addressIn } from '../../support/serve-here.ts';
import { cleanEnvironment, makeTestKey, runToEnd, startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { replyTo } from './modes.ts';

const ROOT = join(import.meta.dir, '../../..');
const KEY = 'the-key-of-a-double';

export interface Served {
  readonly url: string;
  readonly key: string;
  stop(): Promise<void>;
}

/** The lines of a shipped provider that has a key: its name, its settings and the variable. */
const PROVIDER = /^( {2}([\w-]+): \{ preset: [^}]*?(?:\{[^}]*\}[^}]*?)?) \} # (\w+_API_KEY)$/gm;

/** Copies a policy folder in which each vendor has the address of a fake service. */
export function withDoubles(shipped: string) {
  const policies = temporaryFolder();
  cpSync(shipped, policies, { recursive: true });
  const file = join(policies, 'providers.yaml');
  const doubles = new Map<string, FakeUpstream>();
  const env: Record<string, string> = {};
  const text = readFileSync(file, 'utf8').replace(PROVIDER, (_, head: string, name: string, variable: string) => {
    const dialect = name === 'anthropic' || name === 'gemini' ? name : 'openai';
    const double = startFakeUpstream({ dialect, key: KEY, behaviour: replyTo });
    doubles.set(name, double);
    env[variable] = KEY;
    return `${head}, base_url: "${double.url}" }`;
  });
  writeFileSync(file, text);
  return {
    policies,
    env,
    of(vendor: string): FakeUpstream {
      const double = doubles.get(vendor);
      if (!double) throw new Error(`the shipped policy has no provider ${vendor} with a key`);
      return double;
    },
    async stop() {
      await Promise.all([...doubles.values()].map((double) => double.stop()));
      rmSync(policies, { recursive: true, force: true });
    },
  };
}
export type Doubles = ReturnType<typeof withDoubles>;

export async function serveThis({ policies, env }: Doubles): Promise<Served> {
  return startSignalbox({ env, args: ['--policies', policies] });
}

async function succeeded(command: readonly string[], cwd?: string): Promise<void> {
  const { code, out, err } = await runToEnd(command, {}, cwd);
  if (code !== 0) throw new Error(`${command.join(' ')}: ${code}\n${out}${err}`);
}

/** Clones the latest commit, with the packages of this clone. */
export async function cloneHere(): Promise<string> {
  const folder = temporaryFolder();
  await succeeded(['git', 'clone', '--quiet', ROOT, folder]);
  const [lock, installed] = [join(folder, 'package-lock.json'), join(ROOT, 'node_modules/.installed-lock')];
  // If the lock files differed, the start of the clone would install its own packages into these shared ones.
  if (readFileSync(lock, 'utf8') !== readFileSync(installed, 'utf8')) throw new Error('run `npm ci` before this test');
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Starts a clone as its README says. */
export async function startClone(folder: string, { policies, env }: Doubles): Promise<Served> {
  const [data, key] = [temporaryFolder(), makeTestKey()];
  const child = Bun.spawn(['npm', 'start', '--', '--port', '0', '--data', data, '--policies', policies], {
    cwd: folder,
    env: cleanEnvironment({ ...env, SIGNALBOX_API_KEY: key }),
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let printed = '';
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  void (async () => {
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      const url = addressIn(printed);
      if (url) resolve(url);
    }
    reject(new Error(`it ended: ${printed}`));
  })();
  const url = await promise;
  return {
    url,
    key,
    async stop() {
      child.kill('SIGTERM');
      await child.exited;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Installs packages into a separate folder. */
export async function installed(packages: readonly string[]): Promise<string> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await succeeded(['npm', 'install', ...flags, ...packages], folder);
  return folder;
}
