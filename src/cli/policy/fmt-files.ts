import {
  access,
  constants,
  type FileHandle,
  lstat,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import type { FileProblem, PolicyFile } from '../../policy/parse.ts';
import { FILE_BYTES_MAX, isPolicyFile } from '../../runtime/source.ts';

/** A file to be formatted. */
export interface Opened {
  /** As diagnostics name it, with its text, where it has one. A mark of its encoding is part of it. */
  readonly file: PolicyFile;
  readonly bytes: Uint8Array;
}

/** The policy files of folders and those named one by one, each once. Throws UsageError. */
export async function openFiles(places: readonly string[]): Promise<Opened[]> {
  const found = await Promise.all(places.map(filesAt));
  const paths = [...new Set(found.flat().map(shown))];
  return Promise.all(paths.map(openFile));
}

async function filesAt(place: string): Promise<string[]> {
  const found = await stat(place).catch((cause) => refuse(`${place} cannot be read`, cause));
  if (found.isDirectory()) {
    const names = await readdir(place).catch((cause) => refuse(`${place} cannot be read`, cause));
    const files = names.filter(isPolicyFile).sort();
    if (files.length === 0) throw new UsageError(`${place} holds no .yaml files.`);
    return files.map((name) => join(place, name));
  }
  if (!found.isFile() || !/\.ya?ml$/.test(place))
    throw new UsageError(`${place} is neither a folder nor a .yaml file.`);
  return [place];
}

/** As diagnostics name it: from the working folder, or from the root where it lies elsewhere. */
function shown(path: string): string {
  const near = relative('', path);
  return near.startsWith('..') ? resolve(path) : near;
}

/** What cannot be read is told of it, and keeps no other file from being formatted. */
async function openFile(path: string): Promise<Opened> {
  const left = (problem: FileProblem, detail: string) => ({
    file: { path, problem, detail },
    bytes: new Uint8Array(),
  });
  try {
    const found = await stat(path);
    // A pipe would be waited for without end.
    if (!found.isFile()) return left('unreadable', found.isDirectory() ? 'it is a folder' : 'it is not a file');
    if (found.size > FILE_BYTES_MAX) return left('too-large', `it has ${found.size} bytes`);
    const bytes = await readFile(path);
    return { file: { path, ...decoded(bytes) }, bytes };
  } catch (cause) {
    return left('unreadable', reasonOf(cause));
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): { text: string } | { problem: 'not-utf-8'; detail: string } {
  try {
    return { text: strict.decode(bytes) };
  } catch {
    return { problem: 'not-utf-8', detail: '' };
  }
}

/**
 * Has a file hold another text, at once: whoever reads meanwhile gets the old text or the new one. Mode and owner stay,
 * and of a symbolic link it is the file that it leads to. A file that is not there is made. With `bytes`, it must still hold
 * those. Throws UsageError, and then the file is as it was.
 */
export async function replaceFile(path: string, text: string, bytes: Uint8Array | null = null): Promise<void> {
  try {
    const isThere = await lstat(path).then(
      () => true,
      (cause) => codeOf(cause) !== 'ENOENT',
    );
    const real = isThere ? await realpath(path) : path;
    // A file that may not be written could still be replaced: its folder decides about that.
    if (isThere) await access(real, constants.W_OK);
    const rights = isThere ? await stat(real) : null;
    // Replacing it would leave the old text to its other names; writing into it would show half of the new one.
    if (rights && rights.nlink > 1)
      throw new Error('it has another name, by a hard link, that would keep the old text');
    await removeLeftovers(dirname(real), basename(real));
    // No policy file by its name: who watches the folder does not look at it.
    const beside = join(dirname(real), `.${basename(real)}.${process.pid}.tmp`);
    try {
      await writeBeside(beside, text, rights);
      if (bytes !== null && !(await readFile(real)).equals(bytes)) throw new Error('it was changed meanwhile');
      await rename(beside, real);
    } catch (cause) {
      if (!isTaken(cause)) await rm(beside, { force: true });
      throw cause;
    }
  } catch (cause) {
    refuse(`${path} cannot be written`, cause);
  }
}

/** A minute: no write takes so long. */
const LEFTOVER_MS = 60_000;

/** What a process wrote beside a file and was killed before it took the file's place. */
async function removeLeftovers(folder: string, name: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const one of names.filter((each) => each.startsWith(`.${name}.`) && /\.\d+\.tmp$/.test(each))) {
    const path = join(folder, one);
    const found = await lstat(path).catch(() => null);
    if (found?.isFile() && Date.now() - found.mtimeMs > LEFTOVER_MS) await rm(path, { force: true });
  }
}

interface Rights {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

async function writeBeside(path: string, text: string, rights: Rights | null): Promise<void> {
  const handle = await open(path, 'wx', rights ? 0o600 : 0o666);
  try {
    await handle.writeFile(text);
    if (rights) await grant(handle, rights);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function grant(handle: FileHandle, { uid, gid, mode }: Rights): Promise<void> {
  const mine = await handle.stat();
  // A server may run as another user than whoever writes: it must still be able to read the file.
  if (mine.uid !== uid || mine.gid !== gid) await handle.chown(uid, gid);
  await handle.chmod(mode & 0o7777);
}

const codeOf = (cause: unknown): string => (cause instanceof Error && 'code' in cause ? String(cause.code) : '');

const isTaken = (cause: unknown): boolean => codeOf(cause) === 'EEXIST';

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'it belongs to another user'],
  ['EROFS', 'its file system is read-only'],
  ['ENOSPC', 'no space is left'],
  ['ENOENT', 'it is not there'],
  ['ELOOP', 'its symbolic links lead in a circle'],
]);

const reasonOf = (cause: unknown): string =>
  REASONS.get(codeOf(cause)) ?? (cause instanceof Error ? cause.message : String(cause));

/** Says in a sentence what a file system refuses. */
function refuse(what: string, cause: unknown): never {
  throw new UsageError(`${what}: ${reasonOf(cause)}.`);
}
