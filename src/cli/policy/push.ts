import type { OfflineDatabase } from '../../admin/offline.ts';
import { UNFOLLOWED } from '../../admin/policy.ts';
import type { PolicyDifference } from '../../admin/use-cases/policy/diff.ts';
import { type PushedRevision, pushRevision } from '../../admin/use-cases/policy/push-folder.ts';
import { onlyOne, parseArguments, SWITCH, TEXT } from '../arguments.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { jsonText } from '../text.ts';
import { operator } from '../user.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { differenceText } from './diff-text.ts';

/** `signalbox policy push` */
export const policyPush: CommandDefinition = {
  usesPolicies: true,
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
  run: runPush,
};

async function runPush(args: readonly string[], { offline, policy }: CommandContext): Promise<string> {
  const command = await policy();
  const { values, positionals } = parseArguments(args, { from: TEXT, json: SWITCH });
  const { from = null, json } = values;
  const folder = folderIn(positionals, 'push', command);
  return await pushed({ ...command, folder }, offline, json, { from });
}

/** `signalbox policy rollback` */
export const policyRollback: CommandDefinition = {
  usesPolicies: true,
  use: 'to undo a push.',
  example: 'policy rollback 11',
  usage: 'REVISION | NUMBER [--json] [--policies DIR] [--data DIR]',
  summary: 'Activate the files of an earlier pushed revision again.',
  details: `Stores the earlier files as a new push. The folder --policies must contain the plugins of the policy.
policy history lists the revisions and their numbers.`,
  run: runRollback,
};

async function runRollback(args: readonly string[], { offline, policy }: CommandContext): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const revision = onlyOne(
    positionals,
    'policy rollback needs one revision or its number. To list the revisions, run policy history.',
  );
  return await pushed(await policy(), offline, values.json, { revision });
}

async function pushed(
  command: PolicyCommand,
  offline: OfflineDatabase,
  json: boolean,
  what: Parameters<typeof pushRevision>[3],
): Promise<string> {
  const { folder, judge, terminal, write } = command;
  const show = async (difference: PolicyDifference) => {
    if (!json) await write(`${differenceText(difference, terminal)}\n`);
  };
  // The command works on the database, whether servers are running or not.
  const target = { store: await offline.pushes(), isServed: offline.isServed, now: judge.now };
  const revision = await pushRevision(operator(), { ...target, judge, show }, folder, what);
  return json ? jsonText(revision) : pushText(revision);
}

function pushText({ id, revision, previous, guarded, lagging, following_files, is_followed }: PushedRevision): string {
  const places = guarded.map(({ section, name, key }) => [section, name, key].filter((one) => one !== null).join('.'));
  return [
    `${is_followed ? 'Active' : 'Stored'}: revision ${revision}, push ${id}${previous === null ? '' : `, replaces ${previous}`}.\n`,
    is_followed ? '' : UNFOLLOWED,
    places.length > 0 ? `The push changes where requests go or who may do what: ${places.join(', ')}.\n` : '',
    lagging.length > 0 ? `Not active yet on ${lagging.join(', ')}. To see why, run signalbox instances.\n` : '',
    following_files.length > 0
      ? `${following_files.join(', ')} follow policy files, so the push does not change their policy.\n`
      : '',
  ].join('');
}
