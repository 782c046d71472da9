import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * The first digits of the commit, which the build inserts; empty if the build does not know the commit. `BUILT_COMMIT` is undefined if the
 * sources run unbuilt.
 */
declare const BUILT_COMMIT: string | undefined;

const HASH = /^[0-9a-f]{40,64}$/;
const DIGITS = 8;

/** Returns this program's version with its commit if that is known, in the form of semantic versioning: `0.2.0+7e7a9e75`. */
export function withCommit(version: string): string {
  const commit = typeof BUILT_COMMIT === 'string' ? BUILT_COMMIT : commitOf(join(import.meta.dir, '../..'));
  return commit === '' ? version : `${version}+${commit}`;
}

/**
 * Returns the first digits of the commit of a source folder. For a clone it reads the files in `.git`, so that neither a run nor the build
 * of an image needs git. For an archive (`git archive`, a download) it reads `commit.txt`. It returns an empty text if neither `.git` nor
 * `commit.txt` has the commit.
 */
export function commitOf(root: string): string {
  const commit = headOf(root) ?? textIn(root, 'commit.txt') ?? '';
  return HASH.test(commit) ? commit.slice(0, DIGITS) : '';
}

function headOf(root: string): string | null {
  // In a worktree, `.git` is a file that names the folder of its data.
  const [, elsewhere] = /^gitdir: (.+)$/.exec(textIn(root, '.git') ?? '') ?? [];
  const folder = resolve(root, elsewhere ?? '.git');
  const head = textIn(folder, 'HEAD');
  const [, branch] = /^ref: (.+)$/.exec(head ?? '') ?? [];
  if (branch === undefined) return head;
  const shared = resolve(folder, textIn(folder, 'commondir') ?? '.');
  const packed = textIn(shared, 'packed-refs')?.split('\n') ?? [];
  const line = packed.find((each) => each.endsWith(` ${branch}`));
  return textIn(shared, branch) ?? line?.split(' ', 1)[0] ?? null;
}

/** Returns the text of a small file, trimmed; null if it cannot be read. */
function textIn(folder: string, name: string): string | null {
  try {
    return readFileSync(join(folder, name), 'utf8').trim();
  } catch {
    return null;
  }
}
