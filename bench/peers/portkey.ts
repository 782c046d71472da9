import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startSilent } from '../process.ts';

const NAME = '@portkey-ai/gateway';
const VERSION = '1.15.2';
const INTEGRITY = 'sha512-OuwwQEJ0rnKQuPgaCqyMpP+X5Uly2h9EBDm5Lx/NYu9MXTzB/nKrKgjd8J3vPGeNpYoyxTzKSzTV2tGv8Dd+fg==';
/**
 * The adapter between Node and Hono: from 1.14.2 on Portkey answers every stream on Node with a 500
 * (https://github.com/Portkey-AI/gateway/issues/1389), and its own range would bring the newest of 1.x.
 */
const OVERRIDES = { '@hono/node-server': '1.14.1' };

export interface Portkey {
  /** "Portkey 1.15.2", and what of its dependencies matters. */
  readonly version: string;
  readonly node: string;
  start(runtime: 'node' | 'bun'): Promise<Program>;
}

/** What Portkey is told with each request: whom to ask, and where that is. */
export const portkeyHeaders = (upstream: string): Readonly<Record<string, string>> => ({
  'x-portkey-provider': 'openai',
  'x-portkey-custom-host': upstream,
});

/** Installs Portkey, unless an earlier run did, into a folder for temporary files that only this user may write to. */
export async function installPortkey(): Promise<Portkey> {
  const home = join(tmpdir(), `signalbox-peers-${process.getuid?.() ?? 'user'}`);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(home);
  if (uid !== process.getuid?.() || (mode & 0o022) !== 0) throw new Error(`${home} belongs to others: remove it`);
  const folder = join(home, `portkey-${VERSION}-${Object.values(OVERRIDES).join('-')}`);
  if (!existsSync(folder)) await install(folder);
  const root = join(folder, 'node_modules', NAME);
  const node = Bun.which('node');
  if (!node) throw new Error('Portkey is measured on Node, and there is no `node` in PATH');
  const versions = ['hono', '@hono/node-server'].map(
    (name) => `${name} ${versionOf(join(folder, 'node_modules', name))}`,
  );
  const loopback = join(import.meta.dir, 'loopback.mjs');
  const commands = { node: [node, '--import', loopback], bun: [process.execPath, '--preload', loopback] };
  return {
    version: `Portkey ${versionOf(root)} (${versions.join(', ')})`,
    node: Bun.spawnSync([node, '--version']).stdout.toString().trim(),
    start: (runtime) =>
      startSilent(
        (port) => [...commands[runtime], join(root, 'build/start-server.js'), `--port=${port}`, '--headless'],
        { NODE_ENV: 'production' },
        '/',
      ),
  };
}

async function install(folder: string): Promise<void> {
  process.stderr.write(`installing ${NAME} ${VERSION} into ${folder}\n`);
  // Nothing is taken for installed that an interrupted run has left.
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const manifest = { private: true, dependencies: { [NAME]: VERSION }, overrides: OVERRIDES };
  writeFileSync(join(draft, 'package.json'), JSON.stringify(manifest));
  const npm = Bun.spawn(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: draft,
    stdout: 'ignore',
    stderr: 'inherit',
  });
  if ((await npm.exited) !== 0) throw new Error(`npm could not install ${NAME} ${VERSION}`);
  const lock: { packages: Record<string, { integrity?: string }> } = JSON.parse(
    readFileSync(join(draft, 'package-lock.json'), 'utf8'),
  );
  const { integrity } = lock.packages[`node_modules/${NAME}`] ?? {};
  if (integrity !== INTEGRITY) throw new Error(`${NAME} ${VERSION} is not what it was: ${integrity}`);
  renameSync(draft, folder);
}

function versionOf(folder: string): string {
  const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return version;
}
