import { commandIn } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import type { PluginCommand } from './command.ts';
import { newPlugin } from './new.ts';
import { testPlugin } from './test.ts';

/** `signalbox plugin new|test`. Throws UsageError, or an Error of one clear sentence. */
export const runPlugin = async ([name, ...args]: readonly string[], command: PluginCommand): Promise<CommandResult> =>
  commandIn('plugin', { new: newPlugin, test: testPlugin }, name)(args, command);
