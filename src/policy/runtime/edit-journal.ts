import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isObject, parseJson } from '../../core/object.ts';
import type { PolicyFile } from '../load.ts';

/**
 * An edit of several policy files that becomes the policy's as one: its journal, in the policy's folder, has every new text. From the
 * moment that the journal has its name, each reader of the folder sees the edit as done, and before that none does. Whatever ends the
 * writer in between, the folder reads as the old policy or the new one. `write-edit.ts` writes it.
 */
export const EDIT_FILE = '.signalbox-edit.json';

/** A file of an edit. */
interface JournaledFile {
  readonly name: string;
  /** SHA-256 of the text before; null for no file. */
  readonly before: string | null;
  /** The new text; null for no file. */
  readonly after: string | null;
}

export type EditJournal = readonly JournaledFile[];

export const textHash = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');

/** Reads the journal in a folder; empty for none, and for a file that is no journal. */
export async function readEdit(folder: string): Promise<EditJournal> {
  const text = await readFile(join(folder, EDIT_FILE), 'utf8').catch(() => '');
  const journal: unknown = text === '' ? null : parseJson(text);
  const files: unknown = isObject(journal) ? journal.files : null;
  return Array.isArray(files) && files.every(isJournaled) ? files : [];
}

function isJournaled(value: unknown): value is JournaledFile {
  if (!isObject(value)) return false;
  const { name, before, after } = value;
  const isTextOrNull = (one: unknown) => one === null || typeof one === 'string';
  return typeof name === 'string' && FILE_NAME.test(name) && isTextOrNull(before) && isTextOrNull(after);
}

/** A name in the folder itself. */
const FILE_NAME = /^[^./\\\0][^/\\\0]*\.ya?ml$/;

/** The files with an edit done. A file that somebody has changed since is theirs. */
export function withEdit(
  files: readonly PolicyFile[],
  edit: EditJournal,
  pathOf: (name: string) => string,
): readonly PolicyFile[] {
  if (edit.length === 0) return files;
  const found = new Map(files.map((file) => [basename(file.path), file]));
  for (const one of edit) {
    const { name, after } = one;
    if (!isAsBefore(one, found.get(name))) continue;
    if (after === null) found.delete(name);
    else found.set(name, { path: pathOf(name), text: after });
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether a file is as it was before the edit. */
export function isAsBefore({ before }: JournaledFile, file: PolicyFile | undefined): boolean {
  if (file === undefined) return before === null;
  return file.text !== undefined && textHash(file.text) === before;
}
