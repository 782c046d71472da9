import { acceptDatabase, type DatabaseStatus, databaseStatus, migrateDatabase } from '../operate/database.ts';
import { groupOf, parseFlags, SWITCH } from './arguments.ts';
import type { CommandOutput } from './result.ts';
import { jsonText } from './text.ts';
import { operator } from './user.ts';

interface DatabaseCommand {
  readonly url: string;
  /** The version of Signalbox. */
  readonly program: string;
}

/** `signalbox db accept|migrate|status`. Throws UsageError; rejects with StoreError. */
export const runDatabase = groupOf<DatabaseCommand, CommandOutput>('db', { accept, migrate, status });

async function accept(args: readonly string[], { url }: DatabaseCommand): Promise<CommandOutput> {
  parseFlags(args, {});
  await acceptDatabase(operator(), url);
  return 'The database is accepted as it is. Servers use it within seconds.\n';
}

async function migrate(args: readonly string[], { url, program }: DatabaseCommand): Promise<CommandOutput> {
  parseFlags(args, {});
  const applied = await migrateDatabase(operator(), url, program);
  const { place, version } = await databaseStatus(operator(), url);
  if (applied === 0) return `The tables of ${place} are up to date: version ${version}.\n`;
  return `Brought the tables of ${place} to version ${version}.\n`;
}

async function status(args: readonly string[], { url }: DatabaseCommand): Promise<CommandOutput> {
  const { json } = parseFlags(args, { json: SWITCH });
  const found = await databaseStatus(operator(), url);
  const { place, version, known, serves, program, isServed, isCurrent } = found;
  const body = { database: place, version, known, serves, program, is_served: isServed, is_current: isCurrent };
  return { text: json ? jsonText(body) : statusText(found), code: isCurrent ? 0 : 2 };
}

function statusText({ place, version, known, serves, program, isServed, isCurrent }: DatabaseStatus): string {
  const made = program === null ? '' : `, by Signalbox ${program}`;
  const tables = version === 0 ? 'none yet' : `version ${version}${made}; for programs of version ${serves} and later`;
  const after = isCurrent
    ? ''
    : version < known
      ? ' `signalbox db migrate` brings them up to date.'
      : ' This program is too old for them.';
  return `Database  ${place}
Tables    ${tables}
Program   of version ${known}.${after}
Servers   ${isServed ? 'running' : 'none'}
`;
}
