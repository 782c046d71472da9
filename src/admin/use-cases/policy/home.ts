import { SignalboxError } from '../../../core/errors.ts';
import type { PolicyCandidate } from '../../../policy/runtime/candidate.ts';
import { type PolicyBundle, readBundle } from '../../../policy/runtime/source.ts';
import { checkWritable, type FileEdit, writeEdit } from '../../../policy/runtime/write-edit.ts';
import type { OpenStore } from '../../../store/driver.ts';
import type { PolicyOrigin } from '../../../store/instance-reports.ts';
import type { Write } from '../../../store/store.ts';
import type { TrailDetails } from '../../../store/trail.ts';

/** An edit that was checked and rehearsed. */
export interface JudgedEdit {
  readonly before: PolicyBundle;
  readonly after: PolicyBundle;
  readonly edits: readonly FileEdit[];
  readonly candidate: Pick<PolicyCandidate, 'runtime' | 'surroundings'>;
}

/** The entries of the trail on an edit. */
export interface EditNotes {
  done(more?: TrailDetails): Write;
  undone(more?: TrailDetails): Write;
  /** That a pushed revision is in force, by its name at a server. */
  inForce(revision: string): Write;
}

/** Where the policy of a server is kept: in the files of a folder, or in the store. */
export interface PolicyHome {
  readonly origin: PolicyOrigin;
  /** Rejects with PolicySourceError or StoreError. */
  read(): Promise<PolicyBundle>;
  /** Checks that files can be written, before anything is. @throws UnwritablePolicy */
  check(edits: readonly Pick<FileEdit, 'name'>[]): Promise<void>;
  /**
   * Notes an edit in the trail, and writes it.
   * @returns how to take it back; null where other servers have it in force
   * @throws UnwritablePolicy, SignalboxError; it is not written then
   */
  write(edit: JudgedEdit, notes: EditNotes): Promise<(() => Promise<void>) | null>;
  /** Waits a while until all servers have in force what is kept. @returns the names of those that have not */
  lagging(): Promise<readonly string[]>;
}

/** Keeps the policy in the files of a folder. */
export const folderHome = (folder: string, store: Pick<OpenStore, 'commit'>): PolicyHome => ({
  origin: 'files',
  read: () => readBundle(folder),
  check: (edits) => checkWritable(folder, edits),
  async write({ before, edits }, notes) {
    await store.commit([notes.done()]);
    try {
      if ((await readBundle(folder)).hash !== before.hash) {
        throw new SignalboxError('conflict', 'The files on disk changed meanwhile, so nothing was written.');
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
