import { listPushed } from '../../policy.ts';
import type { CommandHelp } from '../command-help.ts';
import { helpOf } from '../operation-flags.ts';

/** The help of commands on policies. */
export const POLICY_HELP: Readonly<Record<string, CommandHelp>> = {
  'policy check': {
    use: 'before you save or push a policy, and in continuous integration.',
    example: 'policy check ./policies --strict',
    usage: '[DIR] [--all] [--strict] [--choices [--here]] [--json] [--data DIR]',
    summary: 'List every mistake in a policy, with its location and fix.',
    details: `Without DIR, the command checks the policy folder of the last server that used --data.
The check needs no provider key. If --data has a ledger, the policy must also fit that ledger.
--choices also prints which model each selector chooses for each task and difficulty, as if every variable
were set; with --here, for the variables that are set.
Many similar warnings are counted; --all lists each of them. --strict treats warnings as mistakes.
Exit code: 0 if a server can use the policy, 2 if it cannot, 1 if there is no policy.`,
  },
  'policy test': {
    use: 'after every change of a policy, to see that requests still get the models that you expect.',
    example: 'policy test ./policies --coverage --min 80',
    usage: `[DIR] [--case TEXT] [--watch] [--coverage] [--min PERCENT] [--here] [--json]
[--data DIR]`,
    summary: "Run a policy's cases.",
    details: `Runs each case as if every variable were set, and again with the variables that are set;
--here does only the second. --case selects cases by a part of their name.
--watch runs the cases again after every edit. --coverage lists the rules and models that no case uses.
Exit code: 0 if all cases hold, 2 if a case fails or coverage is below --min, 1 if no case ran.`,
  },
  'policy explain': {
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
  },
  'policy diff': {
    use: 'before a change goes live, to see which requests would get another model and at what cost.',
    example: 'policy diff HEAD ./policies --requests requests.jsonl',
    usage: 'A [B] [--requests FILE.jsonl | -] [--strict] [--json] [--data DIR]',
    summary: 'Compare two policies: their declarations, and the models and costs that they choose.',
    details: `A and B are folders, revisions stored in --data, or Git commits (HEAD~1, main:path/to/folder).
Without B, the command compares A with the policy folder. It runs plugin code of both, even of a commit.
The command decides the cases of both policies, and the requests of a file.
Exit code: 2 if a case that held now fails or B cannot be loaded (with --strict: if any choice differs).`,
  },
  'policy schema': {
    use: 'to get completion and checks of policy files in your editor.',
    example: 'policy schema --write',
    usage: '[DIR] [--write]',
    summary: 'Print the JSON Schema of the policy language for editors.',
    details: `The schema includes the options of the strategies and adapters that come with Signalbox.
--write saves the schema as DIR/policy.schema.json. The command does not read the policy in DIR.`,
  },
  'policy push': {
    use: 'to change the policy of all servers that share a database at the same time.',
    example: 'policy push ./policies --from 12',
    usage: '[DIR] [--from REVISION] [--json] [--data DIR]',
    summary: 'Store a policy as a revision, and activate it on every server that follows pushes.',
    details: `Servers follow pushes if they run with --policies-from store. This command checks the policy and runs its
cases, and each of these servers does the same. If one refuses, the policy is activated on none.
A push does not contain plugin code: each server needs the same plugins in its policy folder.
First, the command shows how the policy differs from the active policy, as policy diff does.
--from is the revision, or its number, on which your edit is based. It must be the active revision.
The first push needs no --from. A later push without --from stores nothing and only shows the difference.`,
  },
  [listPushed.name]: helpOf(listPushed),
  'policy rollback': {
    use: 'to undo a push.',
    example: 'policy rollback 11',
    usage: 'REVISION | NUMBER [--json] [--policies DIR] [--data DIR]',
    summary: 'Activate the files of an earlier pushed revision again.',
    details: `Stores the earlier files as a new push. The folder --policies must contain the plugins of the policy.
policy history lists the revisions and their numbers.`,
  },
};
