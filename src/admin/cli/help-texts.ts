import { ALERT_OPERATIONS } from '../alerts.ts';
import { listRecords } from '../decisions.ts';
import { KEY_COMMANDS } from '../keys.ts';
import { showLearning } from '../learning.ts';
import { LOGIN_OPERATIONS } from '../logins.ts';
import { showCluster } from '../status.ts';
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

const DATABASE = `DATABASE_URL names a database of PostgreSQL in place of that in the data folder.`;

/** The help of a command that a server answers with its policy. */
const onPolicy = ({ usage, summary, details }: CommandHelp): CommandHelp => ({
  usage: `${usage} [--policies DIR]`,
  summary,
  details: `${details}
A running server answers with its own policy and variables. With --policies, or if no server runs,
the command uses that policy and the variables of this shell.`,
});

/**
 * By the words of each command, in the order of the overview. It loads every operation, so commands read `help.json`, which
 * `UPDATE=1 bun test test/docs/generated.test.ts` writes from it.
 */
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
      ...[...KEY_COMMANDS, ...LEDGER_COMMANDS],
      ...[...SUBJECT_OPERATIONS, ...LOGIN_OPERATIONS, ...WALLET_OPERATIONS],
    ].map((operation) => [operation.name, helpOf(operation)]),
  ),
  ...Object.fromEntries(
    [...TEAM_OPERATIONS, ...USER_OPERATIONS].map((operation) => [operation.name, helpOf(operation)]),
  ),
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
  [showTraffic.name]: helpOf(showTraffic),
  'traffic rebuild': {
    usage: '[--data DIR]',
    summary: 'Count traffic again, from the ledger and the records that still exist.',
    details: `Works beside a running server. Days whose records were deleted are kept as they are.`,
  },
  [listEntries.name]: helpOf(listEntries),
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
  [eraseEntries.name]: helpOf(eraseEntries),
  instances: helpOf(showCluster),
  ...Object.fromEntries(ALERT_OPERATIONS.map((operation) => [operation.name, onPolicy(helpOf(operation))])),
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
  [listRecords.name]: helpOf(listRecords),
  [showLearning.name]: helpOf(showLearning),
  'learn export': {
    usage: `[--from T] [--to T] [--time-zone UTC] [--key ID] [--model ID]
[--source caller|checks|retry] [--format jsonl|csv] [--data DIR]`,
    summary: 'Write every score.',
    details: 'T is as for ledger export.',
  },
  'learn reset': {
    usage: '[--model ID] --yes [--data DIR]',
    summary: 'Leave the scores so far out of the means, of all models or of one.',
  },
  'plugin new': {
    usage: 'strategy|provider NAME [--dir DIR]',
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
