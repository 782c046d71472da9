import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Program, startSilent } from '../process.ts';
import { installOnce, runInstaller } from './installed.ts';

const NAME = '@portkey-ai/gateway';
const VERSION = '1.15.2';
const INTEGRITY = 'sha512-OuwwQEJ0rnKQuPgaCqyMpP+X5Uly2h9EBDm5Lx/NYu9MXTzB/nKrKgjd8J3vPGeNpYoyxTzKSzTV2tGv8Dd+fg==';
/**
 * The adapter between Node and Hono. From 1.14.2 on, Portkey answers every stream on Node with a 500
 * (https://github.com/Portkey-AI/gateway/issues/1389), and its own version range would install the newest 1.x.
 */
const OVERRIDES = { '@hono/node-server': '1.14.1' };

export interface Portkey {
  /** The version, such as "Portkey 1.15.2", and the dependencies that matter. */
  readonly version: string;
  readonly node: string;
  start(runtime: 'Node' | 'Bun'): Promise<Program>;
}

/** Returns the headers that tell Portkey which provider to call at which address. */
export const portkeyHeaders = (upstream: string): Readonly<Record<string, string>> => ({
  'x-portkey-provider': 'openai',
  'x-portkey-custom-host': upstream,
});

/** @param home the folder for installations @throws Error if Portkey cannot be installed */
export async function installPortkey(home: string): Promise<Portkey> {
  const node = Bun.which('node');
  if (!node) throw new Error('there is no `node` in PATH');
  const folder = join(home, `portkey-${VERSION}-${Object.values(OVERRIDES).join('-')}`);
  await installOnce(folder, install);
  const root = join(folder, 'node_modules', NAME);
  const versions = ['hono', '@hono/node-server'].map(
    (name) => `${name} ${versionOf(join(folder, 'node_modules', name))}`,
  );
  const loopback = join(import.meta.dir, 'loopback.mjs');
  const commands = { Node: [node, '--import', loopback], Bun: [process.execPath, '--preload', loopback] };
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
  const manifest = { private: true, dependencies: { [NAME]: VERSION }, overrides: OVERRIDES };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  await runInstaller(['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  const lock: { packages: Record<string, { integrity?: string }> } = JSON.parse(
    readFileSync(join(folder, 'package-lock.json'), 'utf8'),
  );
  const { integrity } = lock.packages[`node_modules/${NAME}`] ?? {};
  if (integrity !== INTEGRITY) throw new Error(`${NAME} ${VERSION} is not what it was: ${integrity}`);
}

function versionOf(folder: string): string {
  const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return version;
}
