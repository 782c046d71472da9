import { PLUGIN_KIND_NAMES } from '../../contract/kinds.ts';
import { ALERT_OPERATIONS } from '../alerts.ts';
import { showCache } from '../cache.ts';
import { listRecords, showRecord } from '../decisions.ts';
import { runChecks } from '../doctor.ts';
import { listGuards } from '../guards.ts';
import { KEY_COMMANDS } from '../keys.ts';
import { showLearning } from '../learning.ts';
import { LOGIN_OPERATIONS } from '../logins.ts';
import { listEndpoints, showCluster } from '../status.ts';
import { SUBJECT_OPERATIONS } from '../subjects.ts';
import { TEAM_OPERATIONS } from '../teams.ts';
import { showTraffic } from '../traffic.ts';
import { eraseEntries, listEntries } from '../trail.ts';
import { LEDGER_COMMANDS } from '../usage.ts';
import { USER_OPERATIONS } from '../users.ts';
import { WALLET_OPERATIONS } from '../wallets.ts';
import { type CommandHelp, DATA } from './command-help.ts';
import { helpOf } from './operation-flags.ts';
import { POLICY_HELP } from './policy/help-texts.ts';
import { SERVE_HELP } from './serve-help.ts';

/** The form of the argument T. */
const MOMENT = 'T is a month (2026-11), a day (2026-11-20) or a time (2026-11-20T08:00Z).';
const DATABASE = `If DATABASE_URL names a PostgreSQL database, the command uses it instead of the database in the data folder.`;

/** Adds the flag --policies to the help of a command whose answer depends on a policy. */
const onPolicy = ({ usage, details, ...help }: CommandHelp): CommandHelp => ({
  ...help,
  usage: `${usage} [--policies DIR]`,
  details: `${details}
A running server answers with its own policy and environment variables. With --policies, or if no server
runs, the command uses the named policy and the variables of this shell.`,
});

/**
 * The help of all commands, in the order of the overview. This module loads every operation, so commands read `help.json` instead.
 * `UPDATE=1 bun test test/docs/generated.test.ts` writes that file from this table.
 */
export const HELP: Readonly<Record<string, CommandHelp>> = {
  ...SERVE_HELP,
  ...POLICY_HELP,
  'catalog sync': {
    use: 'when a provider offers new models.',
    example: 'catalog sync openai --out new-models.yaml',
    usage: 'PROVIDER [--out FILE] [--policies DIR] [--data DIR]',
    summary: "Propose models from a provider's own list that a policy does not have yet.",
    details: `Requests the list of models from a provider of the policy, with the provider's URL and API key.
Prints YAML for review, or writes it to --out. The command never changes the policy.
Prices and limits come from the provider's list, or else from a table of public models.
An entry without a price or a limit is written as a comment.
Exit code: 0, or 1 if the provider returned no list.`,
  },
  ...Object.fromEntries(
    [
      ...[...KEY_COMMANDS, ...LEDGER_COMMANDS],
      ...[...SUBJECT_OPERATIONS, ...LOGIN_OPERATIONS, ...WALLET_OPERATIONS],
    ].map((operation) => [operation.name, helpOf(operation)]),
  ),
  ...Object.fromEntries(
    [...TEAM_OPERATIONS, ...USER_OPERATIONS].map((operation) => [operation.name, helpOf(operation)]),
  ),
  'db status': {
    use: 'before an upgrade, or when a server does not start.',
    example: 'db status',
    usage: '[--json] [--data DIR]',
    summary: 'Show the database, and whether its tables have the version of this program.',
    details: `${DATABASE}
Exit code: 0 if the tables have the right version, else 2.`,
  },
  'db accept': {
    use: 'when servers refuse a database after a failover.',
    example: 'db accept',
    usage: '[--data DIR]',
    summary: 'Accept a PostgreSQL database that may have lost commits in a failover.',
    details: `After a failover to a standby that may lack confirmed commits, servers refuse to use the database.
First run signalbox ledger audit, which lists contradictions in the ledger. Then accept the database.
${DATABASE}`,
  },
  'db migrate': {
    use: 'during an upgrade, before you start the new servers.',
    example: 'db migrate',
    usage: '[--data DIR]',
    summary: 'Update the tables of the database, as a server does when it starts.',
    details: `The database user of your servers may lack the right to change tables. Then run this command with a
database user who has it.
${DATABASE}`,
  },
  'db copy': {
    use: 'to move from one server to several servers.',
    example: 'db copy ./.signalbox/signalbox.db postgres://signalbox@db.example.com:5432/signalbox',
    usage: 'FROM TO [--data DIR]',
    summary: 'Copy a database from SQLite to PostgreSQL or back, with audits before and after.',
    details: `FROM and TO are paths, such as /var/lib/signalbox/signalbox.db, or postgres:// URLs. Stop all servers first.
TO must be new or have no rows. The next start of a server counts the spend of all budgets again.
Exit code: 0 if both audits agree, 2 if they differ or find mistakes, 1 if nothing was copied.`,
  },
  [showTraffic.name]: helpOf(showTraffic),
  'traffic rebuild': {
    use: 'when figures of traffic seem wrong.',
    example: 'traffic rebuild',
    usage: '[--data DIR]',
    summary: 'Count traffic again from the ledger and the remaining decision records.',
    details: `You can run it while a server is running. Figures of days whose records were deleted stay unchanged.`,
  },
  [listEntries.name]: helpOf(listEntries),
  'trail verify': {
    use: 'to show an auditor that the record of changes is complete.',
    example: 'trail verify --against trail-october.jsonl',
    usage: '[--against FILE]... [--json] [--data DIR]',
    summary: 'Prove that no entry of the audit trail was changed, removed, added or cut off.',
    details: `Compares the trail with trail.head in the data folder, and with each FILE. A FILE has lines with the id
and the hash of an entry: an earlier export, or the server's log.
Exit code: 0 if the trail is unchanged, 2 if something is wrong.`,
  },
  'trail export': {
    use: 'to keep a copy of the audit trail outside the database.',
    example: 'trail export --from 2026-11 > trail.jsonl',
    usage: '[--from T] [--to T] [--time-zone UTC] [--data DIR]',
    summary: 'Write the audit trail as JSON lines. The last line is the head of its hash chain.',
    details: MOMENT,
  },
  [eraseEntries.name]: helpOf(eraseEntries),
  instances: helpOf(showCluster),
  [listEndpoints.name]: helpOf(listEndpoints),
  doctor: onPolicy(helpOf(runChecks)),
  ...Object.fromEntries(ALERT_OPERATIONS.map((operation) => [operation.name, onPolicy(helpOf(operation))])),
  'ledger export': {
    use: 'for invoices, and for spreadsheets.',
    example: 'ledger export --month last --by key,model --format csv > november.csv',
    usage: `[--month last] [--from T] [--to T] [--time-zone UTC] [--key ID]
[--team ID] [--user ID] [--label K=V]... [--model ID]
[--by day,month,key,team,user,label:NAME,model,provider,selector,session,agent]
[--format csv|json] [--data DIR]`,
    summary: 'Write every charge, or sums of charges, as CSV or JSON.',
    details: `--month is last, this or a month such as 2026-11.
${MOMENT}
The export ends before --to. If you give only --from 2026-11, it covers that month.
--by writes a sum for each group instead of a line for each charge.`,
  },
  'ledger audit': {
    use: 'after a crash or a failover, or regularly as a control.',
    example: 'ledger audit',
    usage: '[--idle] [--json] [--data DIR]',
    summary: 'Prove from the journal that no budget was overspent and that every sum is right.',
    details: `If a server runs on the data folder, it makes the audit and keeps the result for signalbox doctor.
With --offline, the command reads the database itself. --idle does the same, and also reports open
holds as findings: use it when no request is running.
Exit code: 0 if the ledger is right, 2 if something is wrong.`,
  },
  'ledger refund': {
    use: 'when a caller paid for a bad answer.',
    example: 'ledger refund dec_0a4x1wm3zk0 2.50 --note "cut off"',
    usage: 'DECISION [CREDITS] [--note TEXT] [--data DIR]',
    summary: 'Refund the charge of a request, or a part of it.',
    details: `Without CREDITS, the command refunds the whole charge. DECISION is the ID of the request's decision.
A running server has applied the refund when the command returns.
${DATA}`,
  },
  'ledger backup': {
    use: 'regularly, and before an upgrade.',
    example: 'ledger backup backup.db',
    usage: 'FILE|- [--data DIR]',
    summary: 'Copy the database while servers use it, and audit the copy.',
    details: `With - as FILE, the command writes the copy to the standard output and the result of the audit to the
standard error.
Exit code: 0 if the copied ledger is right, 2 if it is not, 1 if nothing was copied.
${DATA}`,
  },
  [listRecords.name]: helpOf(listRecords),
  [showRecord.name]: helpOf(showRecord),
  [listGuards.name]: helpOf(listGuards),
  [showCache.name]: helpOf(showCache),
  [showLearning.name]: helpOf(showLearning),
  'learn export': {
    use: 'to analyse scores with your own tools.',
    example: 'learn export --from 2026-11 --format csv > scores.csv',
    usage: `[--from T] [--to T] [--time-zone UTC] [--key ID] [--model ID]
[--format jsonl|csv] [--data DIR]`,
    summary: 'Write every score.',
    details: MOMENT,
  },
  'learn reset': {
    use: 'when a provider has replaced a model under the same name.',
    example: 'learn reset --model gpt-6-luna --yes',
    usage: '[--model ID] --yes [--data DIR]',
    summary: 'Exclude all scores so far from the means, for all models or for one.',
  },
  'plugin new': {
    use: 'to start a plugin of your own.',
    example: 'plugin new strategy cheapest',
    usage: `${PLUGIN_KIND_NAMES.join('|')} NAME [--dir DIR]`,
    summary: 'Create a plugin package that works, with its test.',
    details: 'Creates the folder NAME in --dir, by default in the current folder. Never overwrites existing files.',
  },
  'plugin test': {
    use: 'while you write a plugin, and in its continuous integration.',
    example: 'plugin test ./cheapest',
    usage: 'FILE [--seed N] [--runs 200] [--json]',
    summary: 'Test the plugins of a file, a folder or a package against the contract.',
    details: `Runs every law of the contract with random cases. A provider is also tested with the answers recorded
in the folder samples/ next to it. Shows the smallest case that breaks a law, and the seed to repeat it.
Exit code: 0 if all laws hold, 2 if a law is broken, 1 if FILE cannot be loaded.`,
  },
  'import litellm': {
    use: 'to move from a LiteLLM proxy to Signalbox.',
    example: 'import litellm config.yaml --out ./policies',
    usage: 'FILE|- [--out DIR] [--prices FILE] [--force] [--json]',
    summary: 'Convert a LiteLLM proxy configuration into a policy, with a report.',
    details: `Writes the policy to the new folder ./policies-from-litellm, or to --out. --prices is LiteLLM's file
model_prices_and_context_window.json. The command copies no secrets.
Exit code: 0, 2 if the configuration has mistakes (the rest is imported), 1 if nothing can be imported.`,
  },
  version: {
    use: 'to report a problem.',
    example: 'version',
    usage: '',
    summary: 'Print the version and the commit.',
    details: '',
  },
};
