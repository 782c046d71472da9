import type { Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, messageOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';

/**
 * Replaces the text of a file atomically: every reader gets the old text or the new text. `replaceFile` keeps the file's mode and owner,
 * follows symbolic links, and creates a missing file.
 * @throws UsageError; the file is then unchanged.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    const isThere = await fs.lstat(path).then(
      () => true,
      (cause) => codeOf(cause) !== 'ENOENT',
    );
    const real = isThere ? await fs.realpath(path) : path;
    // The file system allows replacing a read-only file, because only the rights of its folder count. Signalbox refuses to replace a
    // read-only file.
    if (isThere) await fs.access(real, fs.constants.W_OK);
    const rights = isThere ? await fs.stat(real) : null;
    // Replacing a file with a hard link would leave the old text under its other names, and writing into the file would not be atomic.
    if (rights && rights.nlink > 1) throw new Error('it has a hard link, which would keep the old text');
    await removeLeftovers(dirname(real), basename(real));
    // The name of the temporary file is not the name of a policy file, so that no watcher reads it.
    const beside = join(dirname(real), `.${basename(real)}.${process.pid}.tmp`);
    try {
      await writeBeside(beside, text, rights);
      await fs.rename(beside, real);
    } catch (cause) {
      if (!isTaken(cause)) await fs.rm(beside, { force: true });
      throw cause;
    }
  } catch (cause) {
    refuse(`${path} cannot be written`, cause);
  }
}

/** No write of a policy file takes longer than this. */
const LEFTOVER_MS = 60_000;

/** Removes the temporary files of processes that were killed. */
async function removeLeftovers(folder: string, name: string): Promise<void> {
  const names = await fs.readdir(folder).catch(() => []);
  for (const one of names.filter((each) => each.startsWith(`.${name}.`) && /\.\d+\.tmp$/.test(each))) {
    const path = join(folder, one);
    const found = await fs.lstat(path).catch(() => null);
    if (found?.isFile() && Date.now() - found.mtimeMs > LEFTOVER_MS) await fs.rm(path, { force: true });
  }
}

type Rights = Pick<Stats, 'uid' | 'gid' | 'mode'>;

async function writeBeside(path: string, text: string, rights: Rights | null): Promise<void> {
  const handle = await fs.open(path, 'wx', rights ? 0o600 : 0o666);
  try {
    await handle.writeFile(text);
    if (rights) await grant(handle, rights);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function grant(handle: fs.FileHandle, { uid, gid, mode }: Rights): Promise<void> {
  const mine = await handle.stat();
  // A server may run as another user and must still be able to read the file.
  if (mine.uid !== uid || mine.gid !== gid) await handle.chown(uid, gid);
  await handle.chmod(mode & 0o7777);
}

const isTaken = (cause: unknown): boolean => codeOf(cause) === 'EEXIST';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'it belongs to another user'],
  ['EROFS', 'its file system is read-only'],
  ['ENOSPC', 'no space is left'],
  ['ENOENT', 'it does not exist'],
  ['ELOOP', 'its symbolic links lead in a circle'],
]);

/** Returns a file system error as a part of a sentence. */
export const reasonOf = (cause: unknown): string => REASONS.get(codeOf(cause)) ?? messageOf(cause);

/** Throws a file system error as a sentence. */
function refuse(what: string, cause: unknown): never {
  throw new UsageError(`${what}: ${reasonOf(cause)}.`);
}
