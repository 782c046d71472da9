import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { UsageError } from '../../core/usage-error.ts';
import { auditLedger } from '../../ledger/audit/run.ts';
import { copyStore, readStore } from '../../store/open.ts';
import { type BooksFiles, openSpool, readLedger, type SpoolState } from './reading.ts';

/**
 * Copies the database to a new file, and audits the copy.
 * @param onSpool called with the state of the spool before the audit.
 * @returns the size of the copy, and its audit; null where its ledger is of an older version, or there is none yet.
 * @throws UsageError for a file that exists; rejects with StoreError.
 */
export async function backUp(files: BooksFiles, target: string, onSpool: (state: SpoolState) => void) {
  if (existsSync(target)) throw new UsageError(`${target} exists already. A backup never overwrites a file.`);
  const part = `${target}.part`;
  if (existsSync(part)) {
    throw new UsageError(
      `${part} exists: another backup is running, or one was interrupted. If none is running, remove the file.`,
    );
  }
  // Refuses the books of a newer version before anything is written.
  (await readStore(files.file, ['ledger'])).close();
  const stateOf = openSpool(files);
  await copyStore(files.file, part);
  try {
    const audited = await readLedger(part, async (reader) => {
      onSpool(await stateOf(reader));
      return auditLedger(reader.journal, { idle: false });
    });
    publish(part, target);
    return { bytes: statSync(target).size, audit: audited?.value ?? null };
  } finally {
    rmSync(part, { force: true });
  }
}

/** Unlike a rename, a link never replaces another process's file; not every file system has links. */
function publish(part: string, target: string): void {
  try {
    linkSync(part, target);
  } catch {
    if (existsSync(target)) throw new UsageError(`${target} exists already. A backup never overwrites a file.`);
    renameSync(part, target);
  }
}
