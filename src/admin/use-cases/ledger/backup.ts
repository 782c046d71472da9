import { createReadStream, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { UsageError } from '../../../core/usage-error.ts';
import { auditLedger } from '../../../ledger/audit/run.ts';
import { copyStore, readStore } from '../../../store/open.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import { type BooksFiles, openSpools, readLedger, type SpoolState } from './reading.ts';

/** Where a backup goes. */
interface Delivery {
  /** The path of the new file. */
  readonly target: string;
  /** Called with the state of the spool before the audit. */
  readonly onSpool: (state: SpoolState) => void;
  /** If given, receives the whole copy, and no file remains. */
  readonly write?: (bytes: Uint8Array) => Promise<void>;
}

/**
 * Copies the database to a new file and audits the copy.
 * @returns the size of the copy, and its audit; the audit is null if there is no ledger, or if its version is older
 * @throws UsageError if the file exists; rejects with StoreError
 */
export async function backUp(by: Principal, files: BooksFiles, { target, onSpool, write }: Delivery) {
  checkAction(by.caller, 'ledger.copy');
  if (existsSync(target))
    throw new UsageError(`${target} already exists. A backup never overwrites a file. Name a new file.`);
  const part = `${target}.part`;
  if (existsSync(part)) {
    throw new UsageError(
      `${part} exists: another backup is running, or one was interrupted. If none is running, remove the file.`,
    );
  }
  // A ledger of a newer version is refused before the backup writes anything.
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

/**
 * Creating a link, unlike renaming, never replaces a file of another process. On file systems without links, `publish` renames the file
 * instead.
 */
function publish(part: string, target: string): void {
  try {
    linkSync(part, target);
  } catch {
    if (existsSync(target))
      throw new UsageError(`${target} already exists. A backup never overwrites a file. Name a new file.`);
    renameSync(part, target);
  }
}
