import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '..');
/** The folder of the unpacked commits. They stay there for the next run. */
const FOLDER = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'signalbox-bench');

/** A checkout whose requests are measured, with its packages installed. */
export interface Checkout {
  readonly name: 'baseline' | 'before' | 'now';
  /** The root of its files. */
  readonly root: string;
}

/** The server whose lines and objects `bench/way.ts` counts. */
const COUNTED = 'bench/way-served.ts';

const run = (command: readonly string[], cwd = ROOT): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd });
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
};

/** Returns the full hash of a commit. @throws Error if this clone does not have the commit */
const commitOf = (name: string): string => run(['git', 'rev-parse', '--verify', `${name}^{commit}`]);

/** Unpacks a commit and installs its packages, unless an earlier run did. Returns the root of its files. */
function unpacked(commit: string): string {
  const root = join(FOLDER, commit);
  if (!existsSync(root)) {
    const partial = `${root}.${process.pid}`;
    mkdirSync(partial, { recursive: true });
    run(['sh', '-c', `git archive ${commit} | tar -x -C "$0"`, partial]);
    if (existsSync(root)) rmSync(partial, { recursive: true });
    else renameSync(partial, root);
  }
  run(['deploy/install.sh'], root);
  // All commits are counted in the same way.
  copyFileSync(join(ROOT, COUNTED), join(root, COUNTED));
  return root;
}

/**
 * Returns the checkouts that are compared: the fixed baseline that `bench/baseline` names, the commit before, and these files.
 * @param before the commit before; by default the last commit if files have changed since, else its parent
 */
export function checkouts(before: string): Checkout[] {
  const fixed = commitOf(readFileSync(join(ROOT, 'bench/baseline'), 'utf8').trim());
  const isChanged = run(['git', 'status', '--porcelain', '--', 'src', 'plugins']) !== '';
  const last = commitOf(before || (isChanged ? 'HEAD' : 'HEAD^'));
  return [
    { name: 'baseline', root: unpacked(fixed) },
    ...(last === fixed ? [] : [{ name: 'before' as const, root: unpacked(last) }]),
    { name: 'now', root: ROOT },
  ];
}

/** Returns a line that names the commits that are compared. */
export const comparedLine = (compared: readonly Checkout[]): string =>
  compared
    .filter(({ name }) => name !== 'now')
    .map(({ name, root }) => `${name}: ${root.slice(FOLDER.length + 1, FOLDER.length + 10)}`)
    .join(', ');
