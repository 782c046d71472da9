import { constants, existsSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf } from '../../core/thrown.ts';
import { UsageError } from '../../core/usage-error.ts';
import { moveDurably, syncFolder, writeDurably } from '../../store/durable-file.ts';
import { EDIT_FILE, type EditJournal, isAsBefore, readEdit, textHash } from './edit-journal.ts';
import { reasonOf, replaceFile } from './replace-file.ts';
import { readFileAt } from './source.ts';

/** A file of an edit: its text before and after the edit, null for no file. */
export interface FileEdit {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

/**
 * A folder whose files Signalbox must not or cannot write. The message of an `UnwritablePolicy` says why the folder cannot be written, as a
 * part of a sentence.
 */
export class UnwritablePolicy extends Error {
  override readonly name = 'UnwritablePolicy';
}

/**
 * Checks that the files of a folder can be written, before anything is written.
 * @throws UnwritablePolicy
 */
export async function checkWritable(folder: string, edits: readonly Pick<FileEdit, 'name'>[]): Promise<void> {
  try {
    await fs.access(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new UnwritablePolicy(`the policy folder cannot be written: ${reasonOf(cause)}`, { cause });
  }
  for (const { name } of edits) {
    const path = join(folder, name);
    const found = await fs.lstat(path).catch((cause) => {
      if (codeOf(cause) === 'ENOENT') return null;
      throw new UnwritablePolicy(`\`${name}\` cannot be read: ${reasonOf(cause)}`, { cause });
    });
    if (!found) continue;
    if (found.isSymbolicLink()) {
      throw new UnwritablePolicy(
        `\`${name}\` is a link, as in a folder that Kubernetes mounts, so the file must be changed at its source`,
      );
    }
    if (!found.isFile()) throw new UnwritablePolicy(`\`${name}\` is not a file`);
    if (found.nlink > 1) throw new UnwritablePolicy(`\`${name}\` has a hard link, which would keep the old text`);
    try {
      await fs.access(path, constants.W_OK);
    } catch (cause) {
      throw new UnwritablePolicy(`\`${name}\` cannot be written: ${reasonOf(cause)}`, { cause });
    }
  }
}

/** A step of the write that is safely on disk. A crash can happen between two steps. */
type EditStep = 'staged' | 'decided' | 'written';

/**
 * Writes an edit atomically. Once its journal is complete, the edit is the policy, even if the writer crashes.
 * @param onStep called after each step
 * @throws UnwritablePolicy if nothing was written; then no reader ever sees a part of the edit
 */
export async function writeEdit(
  folder: string,
  edits: readonly FileEdit[],
  onStep: (step: EditStep) => void = () => {},
): Promise<void> {
  // `writeEdit` removes files last, because a folder without files is not a policy.
  const inOrder = [...edits].sort((one, other) => Number(one.after === null) - Number(other.after === null));
  const files: EditJournal = inOrder.map(({ name, before, after }) => {
    return { name, before: before === null ? null : textHash(before), after };
  });
  const staged = join(folder, `${EDIT_FILE}.${process.pid}.tmp`);
  try {
    await writeDurably(staged, JSON.stringify({ files }));
    // Everyone who may read the folder must be able to read the journal, or the edit would look half-written to them.
    await fs.chmod(staged, (await fs.stat(folder)).mode & 0o666);
    onStep('staged');
    await moveDurably(staged, join(folder, EDIT_FILE));
  } catch (cause) {
    await fs.rm(staged, { force: true }).catch(() => {});
    throw new UnwritablePolicy(`the edit cannot be written: ${reasonOf(cause)}`, { cause });
  }
  onStep('decided');
  await finish(folder, onStep);
}

/**
 * Finishes an edit whose writer crashed. `finishEdit` does nothing if the folder has no such edit.
 * @throws UsageError if a file cannot be written; the edit is the policy nevertheless
 */
export async function finishEdit(folder: string): Promise<void> {
  if (!existsSync(join(folder, EDIT_FILE))) return removeStaged(folder);
  await finish(folder, () => {});
  await removeStaged(folder);
}

async function finish(folder: string, onStep: (step: EditStep) => void): Promise<void> {
  const journal = join(folder, EDIT_FILE);
  for (const file of await readEdit(folder)) {
    const path = join(folder, file.name);
    if (!isAsBefore(file, (await readFileAt(path)) ?? undefined)) continue;
    if (file.after === null) await fs.rm(path, { force: true });
    else await replaceFile(path, file.after);
    onStep('written');
  }
  try {
    syncFolder(folder);
    await fs.rm(journal, { force: true });
  } catch (cause) {
    throw new UsageError(`${journal} cannot be removed: ${reasonOf(cause)}.`);
  }
  onStep('written');
}

/** Removes journals that were never completed. */
async function removeStaged(folder: string): Promise<void> {
  const names = await fs.readdir(folder).catch(() => []);
  const left = names.filter((name) => name.startsWith(`${basename(EDIT_FILE)}.`) && name.endsWith('.tmp'));
  for (const name of left) await fs.rm(join(folder, name), { force: true }).catch(() => {});
}
