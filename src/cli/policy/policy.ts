import { UsageError } from '../options.ts';
import type { CommandResult } from '../result.ts';
import { checkPolicy } from './check.ts';
import type { PolicyCommand } from './command.ts';
import { diffPolicy } from './diff.ts';
import { explainDecision } from './explain-decision.ts';
import { explainRequest } from './explain-request.ts';
import { formatPolicy } from './fmt.ts';
import { policySchema } from './schema.ts';
import { testPolicy } from './test.ts';

type Run = (args: readonly string[], command: PolicyCommand) => Promise<CommandResult>;

const COMMANDS: Readonly<Record<string, Run>> = {
  check: checkPolicy,
  test: testPolicy,
  explain: (args, command) => (isRecorded(args) ? explainDecision : explainRequest)(args, command),
  diff: diffPolicy,
  fmt: formatPolicy,
  schema: policySchema,
};

const isRecorded = (args: readonly string[]): boolean =>
  args.some((argument) => argument === '--decision' || argument.startsWith('--decision='));

/** `signalbox policy check|test|explain|diff|fmt|schema`. Throws UsageError, or an Error of one clear sentence. */
export async function runPolicy(args: readonly string[], command: PolicyCommand): Promise<CommandResult> {
  const [name = '', ...rest] = args;
  const run = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!run) throw new UsageError('policy takes check, test, explain, diff, fmt or schema. See signalbox help.');
  return run(rest, command);
}
