import { followers } from '../../operate/policy/push.ts';
import { type PushDesk, type PushedRevision, pushFolder, rollBackTo } from '../../operate/policy/push-folder.ts';
import { listPushes, PUSHES_LIMIT, PUSHES_LIMIT_MAX } from '../../operate/policy/pushed.ts';
import { isStoreLocked, openStore, requireStore } from '../../store/open.ts';
import { onlyOne, parseArguments, parseFlags, SWITCH, TEXT, wholeOf } from '../arguments.ts';
import { table } from '../terminal.ts';
import { jsonText } from '../text.ts';
import { operator } from '../user.ts';
import { folderIn, type PolicyCommand } from './command.ts';

const UNFOLLOWED = 'No server follows pushes now: those with --policies-from store do.\n';

/** `signalbox policy push [DIR] [--from REVISION]`. */
export async function runPush(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { from: TEXT, json: SWITCH });
  const folder = folderIn(positionals, 'push', command);
  const { from = null, json } = values;
  return await atStore(command, async (desk) => pushText(await pushFolder(operator(), desk, folder, from), json));
}

/** `signalbox policy rollback REVISION`. */
export async function runRollback(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const name = onlyOne(positionals, 'policy rollback takes one revision, or its number: policy history lists them.');
  return await atStore(command, async (desk) =>
    pushText(await rollBackTo(operator(), desk, command.folder, name), values.json),
  );
}

/** `signalbox policy history`. */
export async function runHistory(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { limit, json } = parseFlags(args, { limit: TEXT, json: SWITCH });
  const most = limit === undefined ? PUSHES_LIMIT : wholeOf('--limit', limit, 1, PUSHES_LIMIT_MAX);
  return await atStore(command, async ({ store, isServed }) => {
    const { data } = await listPushes(operator(), store, { limit: most, after: null }, isServed);
    if (json) return jsonText(data);
    if (data.length === 0) return 'No revision was pushed.\n';
    const rows = data.map(({ id, revision, time, author, state, is_in_force, reason }) => [
      `${id}`,
      revision,
      time.slice(0, 16).replace('T', ' '),
      author?.name ?? author?.kind ?? '-',
      is_in_force ? 'in force' : state,
      reason ?? '-',
    ]);
    const lines = table([['PUSH', 'REVISION', 'PUSHED', 'BY', 'STATE', 'REASON'], ...rows]);
    return (await followers(store, isServed)).length > 0 ? lines : lines + UNFOLLOWED;
  });
}

async function atStore({ database, judge }: PolicyCommand, work: (desk: PushDesk) => Promise<string>): Promise<string> {
  await requireStore(database);
  const store = await openStore(database, { mode: 'beside', rooms: ['access', 'instances', 'policies'] });
  try {
    return await work({ store, judge, isServed: () => isStoreLocked(database), now: judge.now });
  } finally {
    await store.close();
  }
}

function pushText(pushed: PushedRevision, json: boolean): string {
  const { push, previous, guarded, lagging, followingFiles, isFollowed } = pushed;
  const { id, revision } = push;
  if (json) {
    return jsonText({ id, revision, previous, guarded, lagging, following_files: followingFiles });
  }
  const places = guarded.map(({ section, name, key }) => [section, name, key].filter((one) => one !== null).join('.'));
  return [
    `${isFollowed ? 'In force' : 'Stored'}: revision ${revision}, push ${id}${previous === null ? '' : `, in place of ${previous}`}.\n`,
    isFollowed ? '' : UNFOLLOWED,
    places.length > 0 ? `It changes where requests go or who may do what: ${places.join(', ')}.\n` : '',
    lagging.length > 0 ? `Not in force yet at ${lagging.join(', ')}: signalbox instances says why.\n` : '',
    followingFiles.length > 0 ? `${followingFiles.join(', ')} follow their files, and do not take it.\n` : '',
  ].join('');
}
