import type { CommandResult } from '../result.ts';
import { unknownCommand } from '../unknown-command.ts';
import type { PluginCommand } from './command.ts';
import { newPlugin } from './new.ts';
import { testPlugin } from './test.ts';

/** `signalbox plugin new|test`. Throws UsageError, or an Error of one clear sentence. */
export async function runPlugin(args: readonly string[], command: PluginCommand): Promise<CommandResult> {
  const [name, ...rest] = args;
  if (name === 'new') return newPlugin(rest, command);
  if (name === 'test') return testPlugin(rest, command);
  throw unknownCommand('plugin', name);
}
