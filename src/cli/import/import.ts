import { UsageError } from '../options.ts';
import type { CommandResult } from '../result.ts';

/** What importing is given. */
export interface ImportCommand {
  /** The folder of the shipped policy: facts of models that a configuration names and does not state. */
  readonly shippedPolicies: string;
  /** The day, such as `2026-11-20`. */
  readonly today: string;
  /** For a terminal: colours, and lines that fit. */
  readonly terminal: boolean;
}

/** `signalbox import litellm FILE`. Throws UsageError, or an Error of one clear sentence. */
export async function runImport(args: readonly string[], _command: ImportCommand): Promise<CommandResult> {
  const [_name] = args;
  throw new UsageError('import takes litellm FILE. See signalbox help.');
}
