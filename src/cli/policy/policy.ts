import { groupOf } from '../arguments.ts';
import type { CommandResult } from '../result.ts';
import type { PolicyCommand } from './command.ts';

/**
 * `signalbox policy check|test|explain|diff|schema|push|history|rollback`. Each is loaded when it is asked for. Throws UsageError, or an Error of one
 * clear sentence.
 */
export const runPolicy = groupOf<PolicyCommand, CommandResult>('policy', {
  check: async (args, command) => (await import('./check.ts')).runCheck(args, command),
  test: async (args, command) => (await import('./test.ts')).runTest(args, command),
  explain: async (args, command) =>
    isRecorded(args)
      ? (await import('./explain-decision.ts')).runExplainDecision(args, command)
      : (await import('./explain-request.ts')).runExplain(args, command),
  diff: async (args, command) => (await import('./diff.ts')).runDiff(args, command),
  schema: async (args, command) => (await import('./schema.ts')).runSchema(args, command),
  push: async (args, command) => withCode(await (await import('./push.ts')).runPush(args, command)),
  history: async (args, command) => withCode(await (await import('./push.ts')).runHistory(args, command)),
  rollback: async (args, command) => withCode(await (await import('./push.ts')).runRollback(args, command)),
});

const withCode = (text: string): CommandResult => ({ text, code: 0 });

const isRecorded = (args: readonly string[]): boolean =>
  args.some((argument) => argument === '--decision' || argument.startsWith('--decision='));
