import { createReadStream, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { UsageError } from '../../../core/usage-error.ts';
import { auditLedger } from '../../../ledger/audit/run.ts';
import { copyStore, readStore } from '../../../store/open.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { type BooksFiles, openSpools, readLedger, type SpoolState } from './reading.ts';

/** The ends of a backup. */
interface Delivery {
  /** The new file. */
  readonly target: string;
  /** Called with the state of the spool before the audit. */
  readonly onSpool: (state: SpoolState) => void;
  /** Takes the whole copy elsewhere, and leaves no file behind. */
  readonly write?: (bytes: Uint8Array) => Promise<void>;
}

/**
 * Copies the database to a new file, and audits the copy.
 * @returns the size of the copy, and its audit; null where its ledger is of an older version, or there is none yet.
 * @throws UsageError for a file that exists; rejects with StoreError.
 */
export async function backUp(by: Principal, files: BooksFiles, { target, onSpool, write }: Delivery) {
  checkAction(by.caller, 'ledger.copy');
  if (existsSync(target)) throw new UsageError(`${target} exists already. A backup never overwrites a file.`);
  const part = `${target}.part`;
  if (existsSync(part)) {
    throw new UsageError(
      `${part} exists: another backup is running, or one was interrupted. If none is running, remove the file.`,
    );
  }
  // Refuses the books of a newer version before anything is written.
  (await readStore(files.file, ['ledger'])).close();
  const stateOf = openSpools(files);
  await copyStore(files.file, part);
  try {
    const audited = await readLedger(part, async (reader) => {
      onSpool(await stateOf(reader));
      return auditLedger(reader.journal, { idle: false });
    });
    const bytes = statSync(part).size;
    if (write) for await (const chunk of createReadStream(part)) await write(chunk);
    else publish(part, target);
    return { bytes, audit: audited?.value ?? null };
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
