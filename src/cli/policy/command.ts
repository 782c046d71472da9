import type { PolicyWorkspace } from '../../admin/use-cases/policy/tools.ts';
import { UsageError } from '../../core/usage-error.ts';

/** The inputs of every command on a policy. */
export interface PolicyCommand extends PolicyWorkspace {
  /** The default of `folder`. */
  readonly shippedFolder: string;
  /** A folder with policy files in the current folder that the default does not use; null if there is none. */
  readonly unusedFolder: string | null;
  /** The flags in the arguments that name the policy folder and the data folder. */
  readonly folderFlags: readonly string[];
  /** Whether the output is a terminal. If it is, the output has colours, and lines fit the width of the terminal. */
  readonly terminal: boolean;
  /** Reads the standard input to its end. */
  readonly input: () => Promise<string>;
  /** Writes immediately, for a command that continues to run. */
  readonly write: (text: string) => Promise<void>;
  /**
   * Notices when the operator wants the command to end: Ctrl-C and similar signals abort `signal`. After `forget`, these signals end the
   * process at once again.
   */
  readonly ended: () => { readonly signal: AbortSignal; forget(): void };
}

/** Returns the only folder that a command names, or the default folder. Throws UsageError for several folders. */
export function folderIn(named: readonly string[], command: string, { folder }: PolicyCommand): string {
  if (named.length > 1) throw new UsageError(`policy ${command} takes one folder. Name only one.`);
  return named[0] ?? folder;
}
