import { UsageError } from '../options.ts';
import type { CommandResult } from '../result.ts';
import type { PolicyCommand } from './command.ts';

/** `signalbox policy test`. Throws UsageError. */
export async function testPolicy(_args: readonly string[], _command: PolicyCommand): Promise<CommandResult> {
  throw new UsageError('not built yet');
}
