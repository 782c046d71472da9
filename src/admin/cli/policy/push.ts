import { isStoreLocked, openStore, requireStore } from '../../../store/open.ts';
import { UNFOLLOWED } from '../../policy.ts';
import type { PolicyDifference } from '../../use-cases/policy/diff.ts';
import { type PushDesk, type PushedRevision, pushRevision } from '../../use-cases/policy/push-folder.ts';
import { onlyOne, parseArguments, SWITCH, TEXT } from '../arguments.ts';
import { jsonText } from '../text.ts';
import { operator } from '../user.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { differenceText } from './diff-text.ts';

/** Runs `signalbox policy push [DIR] [--from REVISION]`. */
export async function runPush(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { from: TEXT, json: SWITCH });
  const { from = null, json } = values;
  return await pushed({ ...command, folder: folderIn(positionals, 'push', command) }, json, { from });
}

/** Runs `signalbox policy rollback REVISION`. */
export async function runRollback(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const revision = onlyOne(
    positionals,
    'policy rollback needs one revision or its number. To list the revisions, run policy history.',
  );
  return await pushed(command, values.json, { revision });
}

async function pushed(
  command: PolicyCommand,
  json: boolean,
  what: Parameters<typeof pushRevision>[3],
): Promise<string> {
  const { folder, judge, terminal, write } = command;
  return await atStore(command, async (target) => {
    const show = async (difference: PolicyDifference) => {
      if (!json) await write(`${differenceText(difference, terminal)}\n`);
    };
    const revision = await pushRevision(operator(), { ...target, judge, show }, folder, what);
    return json ? jsonText(revision) : pushText(revision);
  });
}

/** The store, and the servers that follow pushes. */
export type StoreTarget = Omit<PushDesk, 'judge' | 'show'>;

/** The command works on the database, whether servers are running or not. Throws UsageError if there is no database. */
export async function atStore<Result>(
  { database, judge }: Pick<PolicyCommand, 'database' | 'judge'>,
  work: (target: StoreTarget) => Promise<Result>,
): Promise<Result> {
  await requireStore(database);
  const store = await openStore(database, { mode: 'beside', rooms: ['access', 'instances', 'policies', 'records'] });
  try {
    return await work({ store, isServed: () => isStoreLocked(database), now: judge.now });
  } finally {
    await store.close();
  }
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
