import {
  acceptDatabase,
  copyDatabase,
  type DatabaseStatus,
  databaseStatus,
  migrateDatabase,
} from '../admin/use-cases/database.ts';
import { commandName } from '../core/command-name.ts';
import { creditsText, plural } from '../core/text/text.ts';
import { UsageError } from '../core/usage-error.ts';
import { parseArguments, parseFlags, SWITCH } from './arguments.ts';
import type { CommandContext, CommandDefinition } from './command.ts';
import type { CommandOutput } from './result.ts';
import { count, jsonText } from './text.ts';
import { operator } from './user.ts';

const DATABASE = `If DATABASE_URL names a PostgreSQL database, the command uses it instead of the database in the data folder.`;

/** `signalbox db status`. Throws UsageError; rejects with StoreError. */
export const dbStatus: CommandDefinition = {
  use: 'before an upgrade, or when a server does not start.',
  example: 'db status',
  usage: '[--json] [--data DIR]',
  summary: 'Show the database, and whether its tables have the version of this program.',
  details: `${DATABASE}
Exit code: 0 if the tables have the right version, else 2.`,
  run: status,
};

/** `signalbox db accept`. Throws UsageError; rejects with StoreError. */
export const dbAccept: CommandDefinition = {
  use: 'when servers refuse a database after a failover.',
  example: 'db accept',
  usage: '[--data DIR]',
  summary: 'Accept a PostgreSQL database that may have lost commits in a failover.',
  details: `After a failover to a standby that may lack confirmed commits, servers refuse to use the database.
First run signalbox ledger audit, which lists contradictions in the ledger. Then accept the database.
${DATABASE}`,
  run: accept,
};

/** `signalbox db migrate`. Throws UsageError; rejects with StoreError. */
export const dbMigrate: CommandDefinition = {
  use: 'during an upgrade, before you start the new servers.',
  example: 'db migrate',
  usage: '[--data DIR]',
  summary: 'Update the tables of the database, as a server does when it starts.',
  details: `The database user of your servers may lack the right to change tables. Then run this command with a
database user who has it.
${DATABASE}`,
  run: migrate,
};

/** `signalbox db copy`. Throws UsageError; rejects with StoreError. */
export const dbCopy: CommandDefinition = {
  use: 'to move from one server to several servers.',
  example: 'db copy ./.signalbox/signalbox.db postgres://signalbox@db.example.com:5432/signalbox',
  usage: 'FROM TO [--data DIR]',
  summary: 'Copy a database from SQLite to PostgreSQL or back, with audits before and after.',
  details: `FROM and TO are paths, such as /var/lib/signalbox/signalbox.db, or postgres:// URLs. Stop all servers first.
TO must be new or have no rows. The next start of a server counts the spend of all budgets again.
Exit code: 0 if both audits agree, 2 if they differ or find mistakes, 1 if nothing was copied.`,
  run: copy,
};

async function copy(
  args: readonly string[],
  { line: { data }, version: program }: CommandContext,
): Promise<CommandOutput> {
  const [from, to, ...more] = parseArguments(args, {}).positionals;
  if (from === undefined || to === undefined || more.length > 0)
    throw new UsageError(
      'Usage: signalbox db copy FROM TO. FROM and TO are each the path of a database or a postgres:// URL.',
    );
  const { before, after, isSame } = await copyDatabase(operator(), { from, to, data, program });
  const { entries, charged } = after.totals;
  const mistakes = after.findings.length + after.more;
  const text = `Copied ${count(entries, 'entry', 'entries')}, with charges of ${creditsText(charged)} in total and ${count(after.open.size, 'open hold')}.\n`;
  if (isSame && mistakes === 0) return { text: `${text}The audits of the copy and of the original agree.\n`, code: 0 };
  const was = before.findings.length + before.more;
  const why = isSame
    ? `${plural(was, 'mistake')}, the same as in the original`
    : `${plural(mistakes, 'mistake')}, of ${was} before, or other sums`;
  return {
    text: `${text}The audit of the copy found ${why}. To list them, set DATABASE_URL to the copy and run \`${commandName()} ledger audit\`.\n`,
    code: 2,
  };
}

async function accept(args: readonly string[], { line: { database: url } }: CommandContext): Promise<CommandOutput> {
  parseFlags(args, {});
  const isAccepted = await acceptDatabase(operator(), url);
  if (isAccepted === null)
    return 'There is nothing to accept: SQLite has no failover. For a PostgreSQL database, set DATABASE_URL.\n';
  if (!isAccepted) return 'The database was already accepted. Nothing has changed.\n';
  return 'The database is accepted as it is. Restart all servers: running servers may remember rows that the database has lost.\n';
}

async function migrate(
  args: readonly string[],
  { line: { database: url }, version: program }: CommandContext,
): Promise<CommandOutput> {
  parseFlags(args, {});
  const applied = await migrateDatabase(operator(), url, program);
  const { place, version } = await databaseStatus(operator(), url);
  if (applied === 0) return `The tables of ${place} are up to date: version ${version}.\n`;
  return `Updated the tables of ${place} to version ${version}.\n`;
}

async function status(args: readonly string[], { line: { database: url } }: CommandContext): Promise<CommandOutput> {
  const { json } = parseFlags(args, { json: SWITCH });
  const found = await databaseStatus(operator(), url);
  const { place, version, known, serves, program, servesProgram, isServed, isCurrent } = found;
  const programs = { program, serves_program: servesProgram };
  const body = { database: place, version, known, serves, ...programs, is_served: isServed, is_current: isCurrent };
  return { text: json ? jsonText(body) : statusText(found), code: isCurrent ? 0 : 2 };
}

function statusText(status: DatabaseStatus): string {
  const { place, version, known, serves, program, servesProgram, isServed, isCurrent } = status;
  const made = program === null ? '' : `, by Signalbox ${program}`;
  const users = servesProgram === null ? `programs of version ${serves}` : `Signalbox ${servesProgram}`;
  const tables = version === 0 ? 'none yet' : `version ${version}${made}; for ${users} and later`;
  const after = isCurrent
    ? ''
    : version < known
      ? ` To update them, run \`${commandName()} db migrate\`.`
      : ' This program is too old for these tables.';
  return `Database  ${place}
Tables    ${tables}
Program   version ${known}.${after}
Servers   ${isServed ? 'running' : 'none'}
`;
}
