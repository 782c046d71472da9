import { type LoginsOptions, openLogins } from '../access/logins.ts';
import { openPeople } from '../access/people.ts';
import { commandName } from '../core/command-name.ts';
import { UsageError } from '../core/usage-error.ts';
import { endLogin, LOGINS_LIMIT_MAX, type LoginDesk, listLogins } from '../operate/logins.ts';
import { groupOf, onlyOne, parseArguments, parseFlags, SWITCH, TEXT } from './arguments.ts';
import { table } from './terminal.ts';
import { jsonText } from './text.ts';
import { operator } from './user.ts';

/** `signalbox logins list|end`. Returns what to print. Throws UsageError. */
export async function runLogins(
  args: readonly string[],
  source: LoginsOptions & Parameters<typeof openPeople>[0],
): Promise<string> {
  const [logins, people] = await Promise.all([openLogins(source), openPeople(source)]);
  try {
    return await run(args, { logins, people });
  } finally {
    logins.close();
    people.close();
  }
}

const run = groupOf<LoginDesk, string>('logins', { list, end });

async function list(args: readonly string[], desk: LoginDesk): Promise<string> {
  const { user = null, json } = parseFlags(args, { user: TEXT, json: SWITCH });
  const { data } = listLogins(operator(), desk, { user, after: null, limit: LOGINS_LIMIT_MAX });
  if (json) return jsonText(data);
  const minute = (time: string) => time.slice(0, 16).replace('T', ' ');
  const rows = data.map((one) => [
    one.id,
    one.user_name ?? one.user_id,
    minute(one.created_at),
    minute(one.last_used_at),
    minute(one.expires_at),
    one.from ?? '-',
    one.browser || '-',
  ]);
  return table([['ID', 'USER', 'SIGNED IN', 'LAST USED', 'ENDS', 'FROM', 'BROWSER'], ...rows]);
}

async function end(args: readonly string[], desk: LoginDesk): Promise<string> {
  const { positionals } = parseArguments(args, {});
  const id = onlyOne(
    positionals,
    `logins end takes the ID of one login. Run ${commandName()} logins list to see the IDs.`,
  );
  const ended = await endLogin(operator(), desk, id);
  if (!ended) throw new UsageError(`There is no login ${id}. It may have ended already.`);
  return `Ended the login of ${ended.user_name ?? ended.user_id}, ${id}.\n`;
}
