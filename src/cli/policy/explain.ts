import type { CommandDefinition } from '../command.ts';

/** `signalbox policy explain`. The module for a request, or for a record, is loaded only when the command needs it. */
export const policyExplain: CommandDefinition = {
  use: 'to find out why a request gets a certain model, or none.',
  example: 'policy explain --message "Prove that √2 is irrational." --url http://127.0.0.1:8787',
  usage: `[DIR] [REQUEST.json | -] [--model auto] [--task T] [--message TEXT]
[--input-tokens N] [--output-tokens N]
[--cost-weight N] [--quality-weight N] [--latency-weight N]
[--label K=V]... [--metadata K=V]... [--key ID | --team NAME | --user ID]
[--key-models ID,ID] [--time 2026-11-20T08:00:00Z] [--case NAME]
[--decision ID] [--here] [--json] [--data DIR] [--url http://127.0.0.1:8787]`,
  summary: 'Show which model a request gets, and why.',
  details: `Lists every model with its estimates and utility, or with the rule that rejects it.
REQUEST.json is a body for /v1/chat/completions, /v1/messages, /v1/responses or /v1/route; put flags before it.
--key uses the labels, models and money of a key in the database of --data. --team and --user do the
same for a team or a user without a key. --team can also name a team that only the policy declares.
--case explains the request of a case. --decision repeats a recorded decision.
--url sends the request to a running server, which uses its own policy, measurements and keys. Set the
variable SIGNALBOX_KEY to an API key for that server.
Exit code: 0 for a decision, 2 for a refusal or a decision that differs, 1 if nothing was decided.`,
  async run(args, { policy }) {
    const command = await policy();
    if (isRecorded(args)) return (await import('./explain-decision.ts')).runExplainDecision(args, command);
    return (await import('./explain-request.ts')).runExplain(args, command);
  },
};

const isRecorded = (args: readonly string[]): boolean =>
  args.some((argument) => argument === '--decision' || argument.startsWith('--decision='));
