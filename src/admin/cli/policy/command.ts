import { UsageError } from '../../../core/usage-error.ts';
import type { PolicyWorkspace } from '../../use-cases/policy/tools.ts';

/** The inputs of every command on a policy. */
export interface PolicyCommand extends PolicyWorkspace {
  /** The default of `folder`. */
  readonly shippedFolder: string;
  /** The flags among the arguments that name the folders of the policy and of the data. */
  readonly folderFlags: readonly string[];
  /** Whether to write for a terminal: with colours, and lines that fit. */
  readonly terminal: boolean;
  /** Reads the standard input to its end. */
  readonly input: () => Promise<string>;
  /** Writes at once, for a command that goes on. */
  readonly write: (text: string) => Promise<void>;
  /** The operator's wish that a command end: `signal` is aborted by Ctrl-C and the like, which end the process again after `forget`. */
  readonly ended: () => { readonly signal: AbortSignal; forget(): void };
}

/** The one folder that a command names, or the default. Throws UsageError for several. */
export function folderIn(named: readonly string[], command: string, { folder }: PolicyCommand): string {
  if (named.length > 1) throw new UsageError(`policy ${command} takes one folder.`);
  return named[0] ?? folder;
}
