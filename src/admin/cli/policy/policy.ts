import { listPushed } from '../../policy.ts';
import { groupOf } from '../arguments.ts';
import { commandsOf, NO_WORTH } from '../operations.ts';
import type { CommandOutput } from '../result.ts';
import type { PolicyCommand } from './command.ts';
import { atStore, runPush, runRollback, type StoreTarget } from './push.ts';

/**
 * Runs `signalbox policy check|test|explain|diff|schema|push|history|rollback`. The module of a command is loaded only when the command
 * runs. Throws UsageError, or an Error of one sentence.
 */
export const runPolicy = groupOf<PolicyCommand, CommandOutput>('policy', {
  check: async (args, command) => (await import('./check.ts')).runCheck(args, command),
  test: async (args, command) => (await import('./test.ts')).runTest(args, command),
  explain: async (args, command) =>
    isRecorded(args)
      ? (await import('./explain-decision.ts')).runExplainDecision(args, command)
      : (await import('./explain-request.ts')).runExplain(args, command),
  diff: async (args, command) => (await import('./diff.ts')).runDiff(args, command),
  schema: async (args, command) => (await import('./schema.ts')).runSchema(args, command),
  push: async (args, command) => runPush(args, command),
  history: async (args, command) => atStore(command, (target) => onStore.history!(args, target)),
  rollback: async (args, command) => runRollback(args, command),
});

const onStore = commandsOf([listPushed], (desk: StoreTarget) => ({ desk, ...NO_WORTH }));

const isRecorded = (args: readonly string[]): boolean =>
  args.some((argument) => argument === '--decision' || argument.startsWith('--decision='));
