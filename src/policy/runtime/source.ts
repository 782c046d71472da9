import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { codeOf, messageOf } from '../../core/thrown.ts';
import { reasonOf } from '../../store/reason.ts';
import type { PricedAt } from '../compiled/moment.ts';
import type { PolicyFile } from '../load.ts';
import { EDIT_FILE, readEdit, withEdit } from './edit-journal.ts';

/** The most files of one policy. */
export const FILES_MAX = 256;
export const FILE_BYTES_MAX = 1_048_576;
/** The most characters of all files together. */
const LENGTH_MAX = 16_777_216;

/** The most times to read a folder that keeps changing. The last read of a folder that keeps changing counts. */
const READS_MAX = 8;
const READ_AGAIN_MS = 15;

/** All files of a policy, read together. */
export interface PolicyBundle {
  /**
   * The files of the policy by path, ascending. Paths of policy files are relative to the working folder; files outside it have absolute
   * paths.
   */
  readonly files: readonly PolicyFile[];
  readonly hash: string;
  /** For a pushed revision: its number, and the plugin code with which it was checked. `pushed` is absent for files of a folder. */
  readonly pushed?: {
    readonly id: number;
    readonly plugins: readonly (readonly [specifier: string, hash: string])[];
  };
}

/** A policy folder that cannot be read. The message of a `PolicySourceError` names the path and says what to do. */
export class PolicySourceError extends Error {
  override readonly name = 'PolicySourceError';
}

/**
 * Reads the `.yaml` and `.yml` files of a folder together. An edit that is being written counts as written. If the folder changes while
 * Signalbox reads it, Signalbox reads it again, so that old and new files are not mixed. `readBundle` ignores names that begin with a dot.
 */
export async function readBundle(folder: string): Promise<PolicyBundle> {
  for (let reads = 1; ; reads++) {
    const before = await signatureOf(folder);
    const files = await readAll(folder);
    if (files !== null && (reads >= READS_MAX || before === (await signatureOf(folder)))) {
      return { files, hash: hashOf(JSON.stringify(files)) };
    }
    await Bun.sleep(READ_AGAIN_MS);
  }
}

/** `readAll` returns null if a file was removed between listing and reading. */
async function readAll(folder: string): Promise<readonly PolicyFile[] | null> {
  const names = await namesIn(folder).catch((cause) => {
    throw new PolicySourceError(unreadableText(folder, cause), { cause });
  });
  const edit = await readEdit(folder);
  if (names.length + edit.length === 0) throw new PolicySourceError(`The policy folder ${folder} has no .yaml files.`);
  // While an edit is written, the files that it removes and the files that it adds can both exist.
  if (names.length > FILES_MAX + edit.length) {
    throw new PolicySourceError(`The policy folder ${folder} has ${names.length} files; the limit is ${FILES_MAX}.`);
  }
  const files = await Promise.all(names.map((name) => readFileAt(join(folder, name))));
  const found = withEdit(
    files.filter((file) => file !== null),
    edit,
    (name) => displayPath(join(folder, name)),
  );
  if (found.reduce((all, file) => all + (file.text?.length ?? 0), 0) > LENGTH_MAX) {
    throw new PolicySourceError(`The policy in ${folder} has more than ${LENGTH_MAX} characters, which is the limit.`);
  }
  return files.includes(null) ? null : found;
}

/** Returns the names of policy files, sorted; null if the folder cannot be read. */
function unreadableText(folder: string, cause: unknown): string {
  const code = codeOf(cause);
  if (code === 'ENOTDIR') return `${folder} is not a folder. A policy is all files of a folder, so name the folder.`;
  const advice =
    code === 'EACCES' ? 'let the user of the server read it and its files' : 'name another with --policies';
  return `The policy folder ${folder} cannot be read: ${reasonOf(cause)}; ${advice}.`;
}

/** Returns the names of the policy files of a folder. Rejects with the system's error. */
const namesIn = async (folder: string): Promise<string[]> => (await readdir(folder)).filter(isPolicyFile).sort();

export const isPolicyFile = (name: string): boolean => /\.ya?ml$/.test(name) && !name.startsWith('.');

/** Returns the path for diagnostics: relative to the working folder, or absolute for a file outside it. */
function displayPath(file: string): string {
  const path = relative('', file);
  return path.startsWith('..') ? resolve(file) : path;
}

/** Reads a policy file, or returns the reason why it cannot be read; null if the file does not exist. */
export async function readFileAt(file: string): Promise<PolicyFile | null> {
  const path = displayPath(file);
  try {
    const found = await stat(file);
    // Reading a pipe would never end, so only regular files are read.
    if (!found.isFile()) throw new Error(found.isDirectory() ? 'it is a folder' : 'it is not a file');
    const { size } = found;
    if (size > FILE_BYTES_MAX) return { path, problem: 'too-large', detail: `it has ${size} bytes` };
    const bytes = await readFile(file);
    return { path, ...decoded(bytes) };
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT' && (await lstat(file).catch(() => null)) === null) {
      // A listed name that is not UTF-8 contains replacement characters and is never found, so retrying would not end.
      return path.includes('\uFFFD') ? { path, problem: 'unreadable', detail: 'its name is not UTF-8' } : null;
    }
    if (code === 'ELOOP') return { path, problem: 'symlink-loop', detail: 'its symbolic links lead in a circle' };
    return { path, problem: 'unreadable', detail: REASONS.get(code) ?? messageOf(cause) };
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['ENOENT', 'it is a symbolic link to a file that does not exist'],
]);

const strict = new TextDecoder('utf-8', { fatal: true });
const lenient = new TextDecoder('utf-8');

/** Decodes UTF-8 and removes a byte order mark. */
function decoded(bytes: Uint8Array): { text: string } | { problem: 'not-utf-8'; detail: string } {
  try {
    return { text: strict.decode(bytes) };
  } catch {
    const readable = lenient.decode(bytes);
    const line = readable.slice(0, readable.indexOf('\uFFFD')).split('\n').length;
    return { problem: 'not-utf-8', detail: `the first byte that is not UTF-8 is in line ${line}` };
  }
}

/** Identifies the state of a folder without reading its files, by names, sizes, inodes and times. @param more files outside the folder */
export async function signatureOf(folder: string, more: readonly string[] = []): Promise<string> {
  const names = await namesIn(folder).catch(() => ['\0unreadable']);
  const paths = [folder, join(folder, EDIT_FILE), ...names.map((name) => join(folder, name)), ...more];
  return (await Promise.all(paths.map(async (path) => `${path} ${await stampOf(path)}`))).join('\n');
}

/** `stampOf` follows links, because Signalbox would read the target of a link. */
async function stampOf(path: string): Promise<string> {
  try {
    const found = await stat(path, { bigint: true });
    const { dev, ino, size, mtimeNs, ctimeNs } = found;
    // The times of a folder change with every unrelated file in it, and its content is covered by the names.
    return found.isDirectory() ? `${dev} ${ino}` : `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (cause) {
    return codeOf(cause);
  }
}

export function hashOf(content: string): string {
  return new Bun.CryptoHasher('sha256').update(content).digest('hex').slice(0, 16);
}

/** The number of hexadecimal digits of a hash of prices. */
const PRICES_LENGTH = 8;

/** Returns the input of a build with the prices of a moment. @param at ms since 1970 */
export const pricesOf = (at: number): PricedAt => ({ at, hashOf: (text) => hashOf(text).slice(0, PRICES_LENGTH) });
