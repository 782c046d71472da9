import { parseFlags } from './arguments.ts';
import type { CommandOutput } from './result.ts';

interface RestartCommand {
  /** Replaces the processes that serve the data folder, one after the other, and yields a sentence for each step. */
  readonly restart: () => AsyncIterable<string>;
  readonly write: (text: string) => Promise<void>;
}

/** Runs `signalbox restart`. Throws UsageError if no server runs, or if a new process cannot start. */
export async function runRestart(args: readonly string[], { restart, write }: RestartCommand): Promise<CommandOutput> {
  parseFlags(args, {});
  for await (const sentence of restart()) await write(`${sentence}\n`);
  return '';
}
