import { parseFlags } from './arguments.ts';
import type { CommandOutput } from './result.ts';

interface RestartCommand {
  /** Replaces the processes that serve the data folder, one after the other: a sentence on each step. */
  readonly restart: () => AsyncIterable<string>;
  readonly write: (text: string) => Promise<void>;
}

/** `signalbox restart`. Throws UsageError where no server runs, or a new process cannot start. */
export async function runRestart(args: readonly string[], { restart, write }: RestartCommand): Promise<CommandOutput> {
  parseFlags(args, {});
  for await (const sentence of restart()) await write(`${sentence}\n`);
  return '';
}
