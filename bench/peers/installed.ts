import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Returns the folder in which other gateways are installed, so that later runs find them.
 * @param chosen the user's folder; otherwise a folder for temporary files that only this user can write to
 */
export function peersHome(chosen?: string): string {
  const home = resolve(chosen ?? join(tmpdir(), `signalbox-peers-${process.getuid?.() ?? 'user'}`));
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(home);
  if (!chosen && (uid !== process.getuid?.() || (mode & 0o022) !== 0))
    throw new Error(`${home}: other users can write to this folder. Remove it, or name another one with --installed.`);
  return home;
}

/** Creates a folder, unless an earlier run did. A folder that an interrupted run left is created again. */
export async function installOnce(folder: string, install: (draft: string) => Promise<void>): Promise<void> {
  if (existsSync(folder)) return;
  process.stderr.write(`installing ${folder}\n`);
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  await install(draft);
  renameSync(draft, folder);
}

/** Runs a program of an installation. @throws Error if it fails */
export async function runInstaller(args: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...args], { cwd, stdout: 'ignore', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`\`${args.join(' ')}\` failed in ${cwd}`);
}
