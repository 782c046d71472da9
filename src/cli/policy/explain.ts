import type { CommandDefinition } from '../command.ts';
import { usageOf } from '../operation-flags.ts';
import { EXPLAIN_DETAILS, EXPLAIN_USAGE, readExplainLine } from './explain-input.ts';

/** `signalbox policy explain`. The module for a request, or for a record, is loaded only when the command needs it. */
export const policyExplain: CommandDefinition = {
  usesPolicies: true,
  use: 'to find out why a request gets a certain model, or none.',
  example: 'policy explain --message "Prove that √2 is irrational." --url http://127.0.0.1:8787',
  usage: usageOf('policy explain', [
    ...['[DIR]', '[REQUEST.json | -]'],
    ...EXPLAIN_USAGE,
    ...['[--json]', '[--data DIR]'],
  ]),
  summary: 'Show which model a request gets, and why.',
  details: `Lists every model with its estimates and utility, or with the rule that rejects it.
REQUEST.json is a body for /v1/chat/completions, /v1/messages, /v1/responses or /v1/route; put flags before it.
--key uses the labels, models and money of a key in the database of --data. --team and --user do the
same for a team or a user without a key. --team can also name a team that only the policy declares.
${EXPLAIN_DETAILS.join('\n')}
Exit code: 0 for a decision, 2 for a refusal or a decision that differs, 1 if nothing was decided.`,
  async run(args, { policy }) {
    const line = readExplainLine(args);
    const command = await policy();
    if (line.input.decision !== undefined)
      return (await import('./explain-decision.ts')).runExplainDecision(line, command);
    return (await import('./explain-request.ts')).runExplain(line, command);
  },
};
