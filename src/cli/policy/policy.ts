import { UsageError } from '../options.ts';
import { checkPolicy } from './check.ts';
import type { PolicyCommand, PolicyResult } from './command.ts';
import { explainDecision } from './explain-decision.ts';
import { explainRequest } from './explain-request.ts';

/** `signalbox policy check|explain`. Throws UsageError, or an Error of one clear sentence. */
export async function runPolicy(args: readonly string[], command: PolicyCommand): Promise<PolicyResult> {
  const [name, ...rest] = args;
  if (name === 'check') return checkPolicy(rest, command);
  if (name !== 'explain') throw new UsageError('policy takes check or explain. See signalbox help.');
  const isRecorded = rest.some((argument) => argument === '--decision' || argument.startsWith('--decision='));
  return isRecorded ? explainDecision(rest, command) : explainRequest(rest, command);
}
