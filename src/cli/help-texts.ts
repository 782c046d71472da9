import { KEY_OPERATIONS } from '../admin/keys.ts';
import { showLedger } from '../admin/ledger.ts';
import { LOGIN_OPERATIONS } from '../admin/logins.ts';
import { showCluster } from '../admin/status.ts';
import { SUBJECT_OPERATIONS } from '../admin/subjects.ts';
import { reportUsage } from '../admin/usage.ts';
import { WALLET_OPERATIONS } from '../admin/wallets.ts';
import type { CommandHelp } from './command-help.ts';
import { helpOf } from './operation-flags.ts';
import { POLICY_HELP } from './policy/help-texts.ts';
import { DATA, SERVE_HELP } from './serve-help.ts';

const DATABASE = `DATABASE_URL names a database of PostgreSQL in place of that in the data folder.`;

/** By the words of each command, in the order of the overview. */
export const HELP: Readonly<Record<string, CommandHelp>> = {
  ...SERVE_HELP,
  ...POLICY_HELP,
  'catalog sync': {
    usage: 'PROVIDER [--out FILE] [--policies DIR] [--data DIR]',
    summary: "Propose the models of a provider's own list that a policy does not have.",
    details: `Asks the provider of the policy, at its address and with the key in its variable, for its models.
Prints YAML to review, or writes it to --out; no policy changes. Figures are those of the list,
else of a table of public models. An entry that lacks a price or a limit is a comment.
Exit code: 0, or 1 when there is no list.`,
  },
  ...Object.fromEntries(
    [
      ...[...KEY_OPERATIONS, showLedger, reportUsage],
      ...[...SUBJECT_OPERATIONS, ...LOGIN_OPERATIONS, ...WALLET_OPERATIONS],
    ].map((operation) => [operation.name, helpOf(operation)]),
  ),
  'keys log': {
    usage: '[--key ID] [--limit 100] [--before ID] [--json] [--data DIR]',
    summary: 'List changes to keys, newest first, with who made them.',
  },
  'teams create': {
    usage: `--name NAME [--model ID]... [--budget CREDITS/WINDOW[@ZONE][:ACTION]]... [--rpm N]
[--tpm N] [--streams N] [--member-model ID]... [--member-budget ...]... [--member-rpm N]
[--member-tpm N] [--member-streams N] [--json] [--data DIR]`,
    summary: 'Make a team.',
    details: `Models, budgets and limits hold for all keys and users of the team together, beside their own;
those with --member- for each member that states none. Budgets are written as for keys create.
A team can be declared in the policy instead, in its section teams.
${DATA}`,
  },
  'teams list': {
    usage: '[--origin api|policy|former] [--json] [--data DIR]',
    summary: 'List the teams, and where each comes from.',
  },
  'teams show': {
    usage: 'NAME|ID [--json] [--data DIR]',
    summary: "Show a team's terms, and those of its members.",
  },
  'teams change': {
    usage: `NAME|ID [--name NAME] [--origin api|policy] [--model ID|all]... [--budget ...|none]...
[--rpm N|none] [--tpm N|none] [--streams N|none] [--member-...] [--json] [--data DIR]`,
    summary: 'Change a team that was made through the API.',
    details: `Flags that are absent change nothing. --model and --budget replace the whole list.
--origin policy hands the team to the policy, whose next load sets its terms; --origin api takes
over a team that the policy no longer has.
${DATA}`,
  },
  'teams delete': {
    usage: 'NAME|ID [--data DIR]',
    summary: 'Delete a team that has no users and no keys.',
  },
  'users create': {
    usage: `[--name NAME] [--email ADDRESS] [--team NAME|ID]
[--role owner|admin|finance|auditor|lead|member] [--issuer URL --sub SUB]
[--model ID]... [--budget CREDITS/WINDOW[@ZONE][:ACTION]]... [--rpm N] [--tpm N]
[--streams N] [--json] [--data DIR]`,
    summary: 'Make a user.',
    details: `Users that sign in are made by that. Without terms a user has those that its team states for
members. --issuer and --sub name the person behind it at its sign-in; an address names nobody.
${DATA}`,
  },
  'users list': {
    usage: '[--team NAME|ID] [--role ROLE] [--search TEXT] [--suspended] [--json] [--data DIR]',
    summary: 'List the users.',
  },
  'users show': {
    usage: 'ID|ADDRESS [--json] [--data DIR]',
    summary: "Show a user's team, role and terms.",
  },
  'users change': {
    usage: `ID|ADDRESS [--name NAME] [--email ADDRESS] [--team NAME|ID|none] [--role ROLE]
[--issuer URL|none --sub SUB|none] [--model ID|all]... [--budget ...|none]... [--rpm N|none]
[--tpm N|none] [--streams N|none] [--json] [--data DIR]`,
    summary: 'Change a user. Its keys go along to its new team.',
    details: `Flags that are absent change nothing; none and all return to what the team states for members.
${DATA}`,
  },
  'users suspend': {
    usage: 'ID|ADDRESS [--data DIR]',
    summary: "Refuse a user's keys and logins until it is resumed.",
  },
  'users resume': {
    usage: 'ID|ADDRESS [--data DIR]',
    summary: 'End the suspension of a user.',
  },
  'users delete': {
    usage: 'ID|ADDRESS [--data DIR]',
    summary: "Revoke a user's keys and forget its name.",
    details: `An issuer that still signs the person in makes a new user: to keep somebody out, suspend.
${DATA}`,
  },
  'db status': {
    usage: '[--json] [--data DIR]',
    summary: 'Show the database, and whether its tables are of this version.',
    details: `${DATABASE}
Exit code: 0 where they are, else 2.`,
  },
  'db accept': {
    usage: '[--data DIR]',
    summary: 'Use a database behind a failover that may have lost commits.',
    details: `Servers refuse one whose standby took over and did not have to have all that was answered. Audit it first:
signalbox ledger audit names what does not add up.
${DATABASE}`,
  },
  'db migrate': {
    usage: '[--data DIR]',
    summary: 'Bring the tables of the database up to date, as a server does at its start.',
    details: `For a user of the database with more rights than servers have.
${DATABASE}`,
  },
  'db copy': {
    usage: 'FROM TO [--data DIR]',
    summary: 'Copy a database from SQLite to PostgreSQL or back, with audits before and after.',
    details: `FROM and TO are paths, such as /var/lib/signalbox/signalbox.db, or postgres:// URLs. No server may use them.
TO must be new, or have no rows. Records of version 0.1 are left out. Budgets are counted anew at the next start.
Exit code: 0 where both audits agree, 2 where not or where they find mistakes, 1 without a copy.`,
  },
  'traffic show': {
    usage: `[--by model|provider|key|team|user|task|status|label:NAME] [--step minute|hour|day|month]
[--from 2026-11-20] [--to T] [--time-zone UTC] [--limit 10] [--model ID] [--key ID] [--json]
[--data DIR]`,
    summary: 'Show requests, money, tokens and times of a period.',
    details: `A row for each series, the greatest spend first, of the last 24 hours unless it is said.
--json has the figures of each bucket, as GET /admin/traffic returns them.
--provider, --team, --user, --task, --status and --label NAME=VALUE are filters, too; one filter at a
time. --team and --user take IDs.`,
  },
  'traffic rebuild': {
    usage: '[--data DIR]',
    summary: 'Count traffic again, from the ledger and the records that still exist.',
    details: `Works beside a running server. Days whose records were deleted are kept as they are.`,
  },
  'trail list': {
    usage: `[--subject ID] [--by NAME] [--action ACTION] [--from T] [--to T] [--limit 100]
[--before ID] [--json] [--data DIR]`,
    summary: 'List changes to keys, people, wallets and the policy, newest first, with who made them from where.',
    details: `--by takes the name, ID or address of an actor, or a kind such as server. T is a month, day or
time in UTC: a month without --to is that month, anything else has no end.`,
  },
  'trail verify': {
    usage: '[--against FILE]... [--json] [--data DIR]',
    summary: 'Prove that no entry of the trail was changed, removed, added or cut off since it was noted.',
    details: `Compares with trail.head in the data folder, and with the lines of each FILE that have an id and a
hash: an export, or the server's log.
Exit code: 2 when something is wrong.`,
  },
  'trail export': {
    usage: '[--from T] [--to T] [--time-zone UTC] [--data DIR]',
    summary: 'Write the trail as JSON lines, with its head in the last one.',
    details: 'T is as for ledger export.',
  },
  'trail erase': {
    usage: '--by NAME | --subject ID, --yes [--data DIR]',
    summary: 'Erase personal words from the trail, and keep its chain whole.',
    details: `--by: the name of an actor and where it was. --subject: names, notes and labels in the changes of a
key or wallet. An entry says which words were erased. Exports, logs and backups keep theirs.`,
  },
  instances: helpOf(showCluster),
  'alerts list': {
    usage: '[--limit 20] [--json] [--policies DIR] [--data DIR]',
    summary: 'List the alerts that people were sent, newest first, and the webhooks that fail.',
    details: `GET /admin/alerts answers the same.
${DATA}`,
  },
  'alerts test': {
    usage: '[WEBHOOK] [--json] [--policies DIR]',
    summary: 'Send a test message to one webhook of the policy, or to all.',
    details: `Takes addresses and secrets from the variables of this shell; POST /admin/alerts/test takes
those of the server. Exit code: 2 when a webhook could not be reached.`,
  },
  'ledger export': {
    usage: `[--month last] [--from T] [--to T] [--time-zone UTC] [--key ID]
[--team ID] [--user ID] [--label K=V]... [--model ID]
[--by day,month,key,team,user,label:NAME,model,provider,selector,session,agent]
[--format csv|json] [--data DIR]`,
    summary: 'Write every charge, or sums of them, as CSV or JSON.',
    details: `--month is last, this or 2026-11. T is 2026-11, 2026-11-20 or 2026-11-20T08:00Z. --to is
exclusive; --from 2026-11 alone is that month.`,
  },
  'ledger audit': {
    usage: '[--idle] [--json] [--data DIR]',
    summary: 'Prove from the journal that no budget was overspent and every sum is right.',
    details: `Works beside a running server. --idle reports open holds as well.
Exit code: 2 when something is wrong.`,
  },
  'ledger refund': {
    usage: 'DECISION [CREDITS] [--note TEXT] [--data DIR]',
    summary: 'Give back what a request was charged, or a part of it.',
    details: `A running server has the refund in force when the command returns.
${DATA}`,
  },
  'ledger backup': {
    usage: 'FILE|- [--data DIR]',
    summary: 'Copy the database while it is used, and audit the copy.',
    details: `- writes the copy to the standard output, and the result of the audit to the standard error.
Exit code: 0 when the copied books are right, 2 when they are not, 1 without a copy.
${DATA}`,
  },
  'decisions list': {
    usage: `[--from T] [--to T] [--key ID] [--team ID] [--user ID] [--model ID] [--task T] [--status S]
[--operation chat] [--session NAME] [--label K=V]... [--after ID] [--newer-than ID]
[--limit 50] [--json] [--data DIR]`,
    summary: 'List records of decisions, newest first.',
    details: `T is 2026-11-20 or 2026-11-20T08:00Z. S is completed, failed, broken, abandoned or recommended.
GET /admin/decisions answers the same.`,
  },
  'learn status': {
    usage: '[--json] [--data DIR] [--policies DIR]',
    summary: 'Show what outcomes have taught, by model and task.',
    details: 'Lists the number of outcomes and their sources, and declared beside learned quality.',
  },
  'learn replay': {
    usage: '[--write] [--json] [--data DIR] [--policies DIR]',
    summary: 'Learn again from all kept outcomes, and show whether learning would help.',
    details: 'Estimates each answer before it is learned. --write keeps the result; stop the server first.',
  },
  'learn export': {
    usage: `[--from T] [--to T] [--time-zone UTC] [--key ID] [--model ID]
[--source caller|checks|retry] [--format jsonl|csv] [--data DIR] [--policies DIR]`,
    summary: 'Write every outcome.',
    details: 'T is as for ledger export.',
  },
  'learn reset': {
    usage: '[--model ID] --yes [--data DIR] [--policies DIR]',
    summary: 'Forget what was learned, of all models or of one.',
    details: 'A running server follows within a second.',
  },
  'plugin new': {
    usage: 'strategy|provider|estimator NAME [--dir DIR]',
    summary: 'Create a plugin package that works, with its test.',
    details: 'Writes the folder NAME in --dir or here, and never over existing files.',
  },
  'plugin test': {
    usage: 'FILE [--seed N] [--runs 200] [--json]',
    summary: 'Test the plugins of a file, a folder or a package against the contract.',
    details: `Runs every law with random cases, and a provider on the answers recorded in samples/ beside it.
Shows the smallest case that breaks a law, and the seed.
Exit code: 0 when all hold, 2 when one is broken, 1 when the file cannot be loaded.`,
  },
  'import litellm': {
    usage: 'FILE|- [--out DIR] [--prices FILE] [--force] [--json]',
    summary: 'Convert a LiteLLM proxy configuration into a policy, with a report.',
    details: `Writes ./policies-from-litellm, or --out. --prices is LiteLLM's
model_prices_and_context_window.json. Copies no secret.
Exit code: 2 when the configuration has mistakes (the rest is imported), 1 when it has nothing.`,
  },
  version: {
    usage: '',
    summary: 'Print the version and the commit.',
    details: '',
  },
};
