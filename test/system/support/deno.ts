import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd } from '../../support/signalbox.ts';

const SYSTEM = join(import.meta.dir, '..');

/** The binary for this platform, as npm installs it. The install script of the package `deno` is not needed. */
function denoBinary(): string {
  const [binary] = [...new Bun.Glob('node_modules/@deno/*/deno{,.exe}').scanSync({ cwd: SYSTEM, onlyFiles: true })];
  if (!binary) throw new Error('Deno is not installed for this platform: npm run test:system installs it.');
  return join(SYSTEM, binary);
}

/** Runs or checks a file in Deno, from its folder, without any permission and without network access for its imports. */
export async function deno(command: 'run' | 'check', file: string, folder: string) {
  const home = join(folder, '.deno');
  mkdirSync(home, { recursive: true });
  const env = { DENO_DIR: home, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' };
  const flags = command === 'run' ? ['--no-prompt', '--no-remote'] : ['--no-remote'];
  return runToEnd([denoBinary(), command, ...flags, file], env, folder);
}
