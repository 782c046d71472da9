import { openKeys } from '../../access/keys.ts';
import { type LoginsOptions, openLogins } from '../../access/logins.ts';
import { openPeople } from '../../access/people.ts';
import { LOGIN_OPERATIONS, type LoginServices } from '../logins.ts';
import type { LoginDesk } from '../use-cases/logins.ts';
import { groupOf } from './arguments.ts';
import { commandsOf, NO_WORTH } from './operations.ts';
import type { CommandOutput } from './result.ts';

/** Runs `signalbox logins …`. Returns the text to print. Throws UsageError. */
export async function runLogins(
  args: readonly string[],
  source: LoginsOptions & Parameters<typeof openPeople>[0] & Parameters<typeof openKeys>[0],
): Promise<CommandOutput> {
  const [logins, people, keys] = await Promise.all([openLogins(source), openPeople(source), openKeys(source)]);
  try {
    return await run(args, { desk: { logins, people, keys }, now: source.now });
  } finally {
    keys.close();
    logins.close();
    people.close();
  }
}

const run = groupOf(
  'logins',
  commandsOf<LoginServices, { readonly desk: LoginDesk; now(): number }>(LOGIN_OPERATIONS, ({ desk }) => ({
    desk,
    ...NO_WORTH,
  })),
);
