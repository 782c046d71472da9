import { parseFlags } from './arguments.ts';
import type { CommandOutput } from './result.ts';

interface RestartCommand {
  /** Replaces the processes that serve the data folder, one after the other. */
  readonly restart: () => AsyncIterable<{ readonly process: number; readonly by: number }>;
  readonly write: (text: string) => Promise<void>;
}

/** `signalbox restart`. Throws UsageError where no server runs, or a new process cannot start. */
export async function runRestart(args: readonly string[], { restart, write }: RestartCommand): Promise<CommandOutput> {
  parseFlags(args, {});
  let count = 0;
  for await (const { process, by } of restart()) {
    count++;
    await write(`Process ${process} is replaced by process ${by}.\n`);
  }
  return `All ${count} processes are replaced.\n`;
}
