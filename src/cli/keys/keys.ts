import { keyBody } from '../../access/key-body.ts';
import { holderOf, KEY_STATES } from '../../access/key-entry.ts';
import type { IssuedKey } from '../../access/keys.ts';
import { pageOfKeys } from '../../operate/key-pages.ts';
import { createKey, findKey, grantToKey, revokeKey, rotateKey } from '../../operate/keys.ts';
import { joinedPages } from '../../operate/pages.ts';
import { membershipOf } from '../../operate/people.ts';
import type { KeyInfo } from '../../store/keys.ts';
import {
  choiceOf,
  groupOf,
  LIST,
  needed,
  pairsOf,
  parseArguments,
  parseFlags,
  parseGrant,
  SWITCH,
  TEXT,
} from '../arguments.ts';
import { userIdOf } from '../people/command.ts';
import { table } from '../terminal.ts';
import { day, grantText, jsonText, labelTexts, minute } from '../text.ts';
import { operator } from '../user.ts';
import { change, resume, suspend } from './change.ts';
import { idOf, type KeysCommand, memberTexts, noSuchKey, requireLedger, stateText, withTerms } from './command.ts';
import { log, show } from './show.ts';
import { overlapOf, parseTerms } from './terms.ts';

/** `signalbox keys create|list|show|change|grant|rotate|suspend|resume|revoke|log`. Returns what to print. Throws UsageError. */
export const runKeys = withTerms(
  groupOf('keys', { create, list, show, change, grant, rotate, suspend, resume, revoke, log }),
);

async function create(args: readonly string[], { keys, people, now }: KeysCommand): Promise<string> {
  const { grant: terms, team, user, json } = parseTerms(args, now());
  const member = membershipOf(people, { team, user: user === null ? null : userIdOf(people, user) });
  const made = await createKey(operator(), keys, { ...terms, ...member });
  return json ? asJson(made, now()) : shownOnce(made, `scopes ${made.info.scopes.join(', ')}`);
}

/** As `/admin/keys` answers: the key is shown this once, here too. */
const asJson = ({ key, info }: IssuedKey, now: number): string => jsonText({ key, ...keyBody(info, now) });

const shownOnce = ({ key, info }: IssuedKey, more: string): string =>
  `${key}\n\nCopy the key now: Signalbox stores only its hash and cannot show it again. ID ${info.id}, ${more}.\n`;

async function list(args: readonly string[], { keys, people, now }: KeysCommand): Promise<string> {
  const flags = { state: TEXT, name: TEXT, label: LIST, team: TEXT, user: TEXT, parent: TEXT };
  const { json, state, label, ...stated } = parseFlags(args, { ...flags, json: SWITCH });
  const { name = null, team = null, user = null, parent = null } = stated;
  const whose = { team: team && teamIdOf(people, team), user: user && userIdOf(people, user) };
  const query = {
    name,
    search: null,
    hasModels: null,
    ...whose,
    parent: parent && idOf([parent], 'list --parent'),
    limit: null,
  };
  const chosen = state === undefined ? null : choiceOf('--state', state, KEY_STATES);
  const time = now();
  const filters = { ...query, state: chosen, labels: pairsOf(label, 'A label') };
  const { rows: all, data } = await joinedPages<KeyInfo, object>(Number.POSITIVE_INFINITY, (last) =>
    pageOfKeys(operator(), keys, { ...filters, after: last?.id ?? null }, time),
  );
  if (json) return jsonText(data);
  const rows = all.map((info) => [
    info.id,
    info.name || '-',
    info.scopes.join(','),
    labelTexts(info.labels).join(',') || '-',
    day(info.createdAt),
    info.lastUsedAt === null ? '-' : minute(info.lastUsedAt),
    stateText(info, time),
    ...memberTexts(people, info),
    info.parent ?? '-',
    info.holder ?? '-',
  ]);
  const names = ['ID', 'NAME', 'SCOPES', 'LABELS', 'CREATED', 'LAST USED', 'STATE', 'TEAM', 'USER', 'PARENT', 'WALLET'];
  // A gateway without teams or child keys, or that no agent pays, has no use for a column of them.
  const unused = [
    ...(all.some(({ team }) => team !== null) ? [] : ['TEAM']),
    ...(all.some(({ user }) => user !== null) ? [] : ['USER']),
    ...(all.some((info) => info.parent !== null) ? [] : ['PARENT']),
    ...(all.some(({ holder }) => holder !== null) ? [] : ['WALLET']),
  ];
  return table([names, ...rows].map((row) => row.filter((_, at) => !unused.includes(names[at]!))));
}

/** The ID of a team that is given by its ID, also of a removed one, or its name. Throws UsageError. */
const teamIdOf = (people: KeysCommand['people'], text: string): string =>
  needed(people.team(text) ?? people.teamNamed(text), `There is no team with the ID or name "${text}".`).id;

async function revoke(args: readonly string[], { keys }: KeysCommand): Promise<string> {
  const { positionals } = parseArguments(args, {});
  const id = idOf(positionals, 'revoke');
  if (!(await revokeKey(operator(), keys, id))) throw noSuchKey(id);
  return `Revoked ${id}.\n`;
}

async function rotate(args: readonly string[], { keys, now }: KeysCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { overlap: TEXT, json: SWITCH });
  const id = idOf(positionals, 'rotate');
  const made = await rotateKey(operator(), keys, id, overlapOf(values.overlap));
  if (!made) throw noSuchKey(id);
  if (values.json) return asJson(made, now());
  const ends = made.info.overlapEndsAt ?? 0;
  const old = ends > now() ? `the old secret works until ${minute(ends)} UTC` : 'the old secret no longer works';
  return shownOnce(made, `as before; ${old}`);
}

const FIRST_GRANT =
  'From its first grant on, the key is prepaid. When the balance is used up, requests get 402 insufficient_quota until you grant more.';

async function grant(args: readonly string[], { keys, store, now }: KeysCommand): Promise<string> {
  const usage = 'keys grant takes the ID of a key and the Credits to add, such as 25 or -2.50.';
  const { holder, amount, note } = parseGrant(args, usage);
  const id = idOf([holder], 'grant');
  await requireLedger(store);
  const by = operator();
  const info = await findKey(by, keys, id);
  if (!info || !(await grantToKey(by, keys, store, id, { amount, note }, now()))) throw noSuchKey(id);
  const owner = info.holder === null ? id : `wallet ${info.holder}`;
  const effect = info.holder === null ? FIRST_GRANT : 'All keys of the wallet spend this one balance.';
  return `${grantText('Granted', amount, owner, await store.ledger.granted(holderOf(info)))}${effect}\n`;
}
