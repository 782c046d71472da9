import { listPushed } from '../../policy.ts';
import type { CommandHelp } from '../command-help.ts';
import { helpOf } from '../operation-flags.ts';

/** By the words of each command on policies. */
export const POLICY_HELP: Readonly<Record<string, CommandHelp>> = {
  'policy check': {
    usage: '[DIR] [--all] [--strict] [--json] [--data DIR]',
    summary: 'List every mistake in a policy, with its place and its mend.',
    details: `Needs no provider key. A ledger in --data must fit the policy.
--all lists each of many similar warnings; --strict treats warnings as mistakes.
Exit code: 0 when the policy may serve, 2 when it may not, 1 when there is none.`,
  },
  'policy test': {
    usage: `[DIR] [--case TEXT] [--watch] [--coverage] [--min PERCENT] [--here] [--json]
[--data DIR]`,
    summary: "Run a policy's cases.",
    details: `Runs each case as if every variable were set, and again with the variables that are set;
--here does only the second. --case picks cases by a part of their name.
--watch runs again after every edit. --coverage lists the rules and models that no case touches.
Exit code: 0 when all cases hold, 2 when one fails or coverage is below --min, 1 when none ran.`,
  },
  'policy explain': {
    usage: `[DIR] [REQUEST.json | -] [--model auto] [--task T] [--message TEXT]
[--input-tokens N] [--output-tokens N]
[--cost-weight N] [--quality-weight N] [--latency-weight N]
[--label K=V]... [--metadata K=V]... [--key ID] [--key-models ID,ID]
[--time 2026-11-20T08:00:00Z] [--case NAME] [--decision ID] [--here] [--json]
[--data DIR] [--url http://127.0.0.1:8787]`,
    summary: 'Show which model a request gets, and why.',
    details: `Lists every model with its estimates and utility, or the rule that rejects it.
REQUEST.json is a body for /v1/chat/completions, /v1/messages, /v1/responses or /v1/route; put flags before it.
--key takes the labels, models and money of a key in --data.
--case explains the request of a case. --decision decides a recorded decision again.
--url asks a running server, with the key in SIGNALBOX_KEY: its policy, its measurements, its keys.
Exit code: 0 for a decision, 2 for a refusal or a decision that differs, 1 when nothing was decided.`,
  },
  'policy diff': {
    usage: 'A [B] [--as-version 2] [--requests FILE.jsonl | -] [--strict] [--json] [--data DIR]',
    summary: 'Compare two policies: declarations, and what they choose at which cost.',
    details: `A and B are folders, revisions kept in --data, or commits (HEAD~1, main:path/to/folder).
Without B, A is compared with the policy folder. The plugins of a commit run.
--as-version compares one policy, by default the policy folder, with itself in that version of the language.
Decides the cases of both, and the requests of a file.
Exit code: 2 when a case that held fails or B cannot load (--strict: when any choice differs).`,
  },
  'policy schema': {
    usage: '[DIR] [--write]',
    summary: 'Print the JSON Schema of the policy language for editors.',
    details: `Includes the options of the strategies and adapters that come with Signalbox.
--write saves it as DIR/policy.schema.json. DIR is not read.`,
  },
  'policy push': {
    usage: '[DIR] [--from REVISION] [--json] [--data DIR]',
    summary: 'Store a policy as a revision, in force at every server that follows pushes.',
    details: `Such servers run with --policies-from store. The policy passes its check and its cases here and at
each of them; where one refuses, it is in force nowhere. The code of plugins is not pushed: every
server needs the same beside its policy folder.
Shows first how the policy differs from the active one, as policy diff does.
--from is the active revision, or its number, from which you began. The first push needs none.
Without it, a later push stores nothing and only shows the difference.`,
  },
  [listPushed.name]: helpOf(listPushed),
  'policy rollback': {
    usage: 'REVISION | NUMBER [--json] [--policies DIR] [--data DIR]',
    summary: 'Push the files of an earlier revision again.',
    details: `--policies has the plugins of the policy.`,
  },
};
