import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isObject, parseJson } from '../../core/json/object.ts';
import type { PolicyFile } from '../load.ts';

/**
 * An edit of several policy files that takes effect atomically. Its journal, in the policy folder, contains every new text. As soon as the
 * journal has its final name, every reader sees the whole edit; before that, no reader sees any part of it. Even after a crash of the
 * writer, the folder reads as the old policy or the new one. `write-edit.ts` writes the journal.
 */
export const EDIT_FILE = '.signalbox-edit.json';

/** A file of an edit. */
interface JournaledFile {
  readonly name: string;
  /** The SHA-256 of the file's text before the edit; null for no file. */
  readonly before: string | null;
  /** The file's text after the edit; null for no file. */
  readonly after: string | null;
}

export type EditJournal = readonly JournaledFile[];

export const textHash = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');

/** Reads the journal in a folder. `readEdit` returns an empty list if the folder has no journal, or if the file is not a journal. */
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

/** A file name without a folder. */
const FILE_NAME = /^[^./\\\0][^/\\\0]*\.ya?ml$/;

/** Returns the files with the edit applied. If someone has changed a file after the edit, that change is kept. */
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

/** Whether a file is the same as before the edit. */
export function isAsBefore({ before }: JournaledFile, file: PolicyFile | undefined): boolean {
  if (file === undefined) return before === null;
  return file.text !== undefined && textHash(file.text) === before;
}
