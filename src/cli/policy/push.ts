import type { PolicyDifference } from '../../operate/policy/diff.ts';
import { differenceBody } from '../../operate/policy/diff-body.ts';
import { followers } from '../../operate/policy/push.ts';
import { type PushDesk, type PushedRevision, pushFolder, rollBackTo } from '../../operate/policy/push-folder.ts';
import { listPushes, PUSHES_LIMIT, PUSHES_LIMIT_MAX } from '../../operate/policy/pushed.ts';
import { atOnce } from '../../policy/steps.ts';
import { isStoreLocked, openStore, requireStore } from '../../store/open.ts';
import { onlyOne, parseArguments, parseFlags, SWITCH, TEXT, wholeOf } from '../arguments.ts';
import { table } from '../terminal.ts';
import { jsonText } from '../text.ts';
import { operator } from '../user.ts';
import { folderIn, type PolicyCommand } from './command.ts';
import { differenceText } from './diff-text.ts';

const UNFOLLOWED = 'No server follows pushes now: those with --policies-from store do.\n';

/** `signalbox policy push [DIR] [--from REVISION]`. */
export async function runPush(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { from: TEXT, json: SWITCH });
  const folder = folderIn(positionals, 'push', command);
  const { from = null, json } = values;
  return await atStore({ ...command, json }, async (desk) =>
    pushText(await pushFolder(operator(), desk, folder, from), json),
  );
}

/** `signalbox policy rollback REVISION`. */
export async function runRollback(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const name = onlyOne(positionals, 'policy rollback takes one revision, or its number: policy history lists them.');
  const { json } = values;
  return await atStore({ ...command, json }, async (desk) =>
    pushText(await rollBackTo(operator(), desk, command.folder, name), json),
  );
}

/** `signalbox policy history`. */
export async function runHistory(args: readonly string[], command: PolicyCommand): Promise<string> {
  const { limit, json } = parseFlags(args, { limit: TEXT, json: SWITCH });
  const most = limit === undefined ? PUSHES_LIMIT : wholeOf('--limit', limit, 1, PUSHES_LIMIT_MAX);
  return await atStore({ ...command, json }, async ({ store, isServed }) => {
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

interface PushCommand extends PolicyCommand {
  /** Whether the difference is part of the output as data, and not written before as text. */
  readonly json: boolean;
}

async function atStore(command: PushCommand, work: (desk: PushDesk) => Promise<string>): Promise<string> {
  const { database, judge, terminal, json, write } = command;
  await requireStore(database);
  const store = await openStore(database, { mode: 'beside', rooms: ['access', 'instances', 'policies', 'records'] });
  const show = async (difference: PolicyDifference) => {
    if (!json) await write(`${differenceText(difference, terminal)}\n`);
  };
  try {
    return await work({ store, judge, show, isServed: () => isStoreLocked(database), now: judge.now });
  } finally {
    await store.close();
  }
}

function pushText(pushed: PushedRevision, json: boolean): string {
  const { push, previous, guarded, difference, lagging, followingFiles, isFollowed } = pushed;
  const { id, revision } = push;
  if (json) {
    const body = difference && atOnce(differenceBody(difference));
    return jsonText({ id, revision, previous, guarded, difference: body, lagging, following_files: followingFiles });
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
