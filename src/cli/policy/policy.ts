import { commandIn } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import type { PolicyCommand } from './command.ts';

type Run = (args: readonly string[], command: PolicyCommand) => Promise<CommandResult>;

/** Each is loaded when it is asked for. */
const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<Run>>> = {
  check: async () => (await import('./check.ts')).runCheck,
  test: async () => (await import('./test.ts')).runTest,
  explain: async (args) =>
    isRecorded(args)
      ? (await import('./explain-decision.ts')).runExplainDecision
      : (await import('./explain-request.ts')).runExplain,
  diff: async () => (await import('./diff.ts')).runDiff,
  fmt: async () => (await import('./fmt.ts')).runFormat,
  schema: async () => (await import('./schema.ts')).runSchema,
};

const isRecorded = (args: readonly string[]): boolean =>
  args.some((argument) => argument === '--decision' || argument.startsWith('--decision='));

/** `signalbox policy check|test|explain|diff|fmt|schema`. Throws UsageError, or an Error of one clear sentence. */
export async function runPolicy(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const [name, ...rest] = args;
  const run = await commandIn('policy', COMMANDS, name)(rest);
  return run(rest, command);
}
