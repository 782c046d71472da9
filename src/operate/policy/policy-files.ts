import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import type { FileProblem, PolicyFile } from '../../policy/parse.ts';
import { reasonOf, refuse } from '../../runtime/replace-file.ts';
import { decoded, displayPath, FILE_BYTES_MAX, isPolicyFile } from '../../runtime/source.ts';

/**
 * Opens the policy files of folders and those named one by one, each once, as diagnostics name them: with its text, a byte order
 * mark included, if it can be read. Throws UsageError.
 */
export async function openFiles(places: readonly string[]): Promise<PolicyFile[]> {
  const found = await Promise.all(places.map(filesAt));
  const paths = new Set(found.flat().map(displayPath));
  return Promise.all([...paths].map(openFile));
}

async function filesAt(place: string): Promise<string[]> {
  const found = await fs.stat(place).catch((cause) => refuse(`${place} cannot be read`, cause));
  if (found.isDirectory()) {
    const names = await fs.readdir(place).catch((cause) => refuse(`${place} cannot be read`, cause));
    const files = names.filter(isPolicyFile).sort();
    if (files.length === 0) throw new UsageError(`${place} holds no .yaml files.`);
    return files.map((name) => join(place, name));
  }
  if (!found.isFile() || !/\.ya?ml$/.test(place))
    throw new UsageError(`${place} is neither a folder nor a .yaml file.`);
  return [place];
}

/** A file that cannot be read is reported, and does not keep others from being formatted. */
async function openFile(path: string): Promise<PolicyFile> {
  const left = (problem: FileProblem, detail: string) => ({ path, problem, detail });
  try {
    const found = await fs.stat(path);
    // Reading a pipe could block for ever.
    if (!found.isFile()) return left('unreadable', found.isDirectory() ? 'it is a folder' : 'it is not a file');
    if (found.size > FILE_BYTES_MAX) return left('too-large', `it has ${found.size} bytes`);
    return { path, ...decoded(await fs.readFile(path), withMark) };
  } catch (cause) {
    return left('unreadable', reasonOf(cause));
  }
}

const withMark = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
