import { openKeys } from '../access/keys.ts';
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
  source: LoginsOptions & Parameters<typeof openPeople>[0] & Parameters<typeof openKeys>[0],
): Promise<string> {
  const [logins, people, keys] = await Promise.all([openLogins(source), openPeople(source), openKeys(source)]);
  try {
    return await run(args, { logins, people, keys });
  } finally {
    keys.close();
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
    holderText(one),
    minute(one.created_at),
    minute(one.last_used_at),
    minute(one.expires_at),
    one.from ?? '-',
    one.browser || '-',
  ]);
  return table([['ID', 'OF', 'SIGNED IN', 'LAST USED', 'ENDS', 'FROM', 'BROWSER'], ...rows]);
}

async function end(args: readonly string[], desk: LoginDesk): Promise<string> {
  const { positionals } = parseArguments(args, {});
  const id = onlyOne(
    positionals,
    `logins end takes the ID of one login. Run ${commandName()} logins list to see the IDs.`,
  );
  const ended = await endLogin(operator(), desk, id);
  if (!ended) throw new UsageError(`There is no login ${id}. It may have ended already.`);
  return `Ended the login of ${holderText(ended)}, ${id}.\n`;
}

/** Whose a login is, as people read it. */
const holderText = (login: NonNullable<Awaited<ReturnType<typeof endLogin>>>): string =>
  login.key_id === null ? (login.user_name ?? login.user_id ?? '') : `key ${login.key_name ?? login.key_id}`;
