import { SignalboxError } from '../../../core/errors.ts';
import type { PolicyCandidate } from '../../../policy/runtime/candidate.ts';
import { type PolicyBundle, readBundle } from '../../../policy/runtime/source.ts';
import { checkWritable, type FileEdit, writeEdit } from '../../../policy/runtime/write-edit.ts';
import type { OpenStore } from '../../../store/driver.ts';
import type { PolicyOrigin } from '../../../store/instance-reports.ts';
import type { Write } from '../../../store/store.ts';
import type { TrailDetails } from '../../../store/trail.ts';

/** An edit that was checked and whose cases were run. */
export interface JudgedEdit {
  readonly before: PolicyBundle;
  readonly after: PolicyBundle;
  readonly edits: readonly FileEdit[];
  readonly candidate: Pick<PolicyCandidate, 'runtime' | 'surroundings'>;
}

/** The entries of the audit trail about an edit. */
export interface EditNotes {
  done(more?: TrailDetails): Write;
  undone(more?: TrailDetails): Write;
  /** The entry that a pushed revision is active, with the name that a server gives the revision. */
  applied(revision: string): Write;
}

/** Where a server's policy is stored: in the files of a folder, or in the store. */
export interface PolicyHome {
  readonly origin: PolicyOrigin;
  /** Reads the files of the policy. Rejects with PolicySourceError or StoreError. */
  read(): Promise<PolicyBundle>;
  /** Checks that files can be written, before any file is written. @throws UnwritablePolicy */
  check(edits: readonly Pick<FileEdit, 'name'>[]): Promise<void>;
  /**
   * Records an edit in the audit trail, and writes it.
   * @returns a function that undoes the edit; null if other servers have already activated the edit
   * @throws UnwritablePolicy, SignalboxError; nothing was written then
   */
  write(edit: JudgedEdit, notes: EditNotes): Promise<(() => Promise<void>) | null>;
  /** Waits for a limited time until the policy is active on all servers. @returns the names of servers on which it is not active */
  lagging(): Promise<readonly string[]>;
}

/** Stores the policy in the files of a folder. */
export const folderHome = (folder: string, store: Pick<OpenStore, 'commit'>): PolicyHome => ({
  origin: 'files',
  read: () => readBundle(folder),
  check: (edits) => checkWritable(folder, edits),
  async write({ before, edits }, notes) {
    await store.commit([notes.done()]);
    try {
      if ((await readBundle(folder)).hash !== before.hash) {
        throw new SignalboxError(
          'conflict',
          'The files on disk have changed in the meantime, so nothing was written. Read them and try again.',
        );
      }
      await writeEdit(folder, edits);
    } catch (cause) {
      await store.commit([notes.undone()]);
      throw cause;
    }
    return async () => {
      await writeEdit(
        folder,
        edits.map(({ name, before: old, after: text }) => ({ name, before: text, after: old })),
      );
      await store.commit([notes.undone()]);
    };
  },
  lagging: async () => [],
});
