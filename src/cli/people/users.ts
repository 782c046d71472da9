import { USER_ROLES } from '../../core/people.ts';
import { UsageError } from '../../core/usage-error.ts';
import { joinedPages } from '../../operate/pages.ts';
import { changeUser, createUser, listUsers, removeUser, suspendUser, type UserPatch } from '../../operate/people.ts';
import { type MoneyDesk, userStatus, withStoredMoney } from '../../operate/people-money.ts';
import type { User } from '../../store/people.ts';
import { choiceOf, groupOf, parseArguments, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { table } from '../terminal.ts';
import { count, fieldLines, jsonText } from '../text.ts';
import { operator } from '../user.ts';
import {
  nameOf,
  type PeopleCommand,
  TERM_FLAGS,
  termLines,
  termsOf,
  useLines,
  userIdOf,
  withRefusals,
} from './command.ts';

/** `signalbox users create|list|show|change|suspend|resume|delete`. Returns what to print. Throws UsageError. */
export const runUsers = withRefusals(groupOf('users', { create, list, show, change, suspend, resume, delete: remove }));

const USER_FLAGS = {
  ...{ name: TEXT, email: TEXT, team: TEXT, role: TEXT, issuer: TEXT, sub: TEXT },
  ...TERM_FLAGS,
  json: SWITCH,
} as const;

type Texts = Readonly<Partial<Record<'name' | 'email' | 'team' | 'role' | 'issuer' | 'sub', string | undefined>>>;

/** What flags say of a user; `none` removes. Throws UsageError. */
function patchOf({ role, ...texts }: Texts): UserPatch {
  const stated = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text === 'none' ? null : text]],
  );
  return {
    ...Object.fromEntries(stated),
    ...(role !== undefined && { role: choiceOf('--role', role, USER_ROLES) }),
  };
}

async function create(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { json, name, email, team, role, issuer, sub, ...flags } = parseFlags(args, USER_FLAGS);
  const patch = { ...patchOf({ name, email, team, role, issuer, sub }), ...termsOf(flags) };
  const user = await createUser(operator(), desk, patch);
  return json ? jsonText(user) : `Made the user ${user.id}.\n`;
}

async function list(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const flags = { team: TEXT, role: TEXT, search: TEXT, suspended: SWITCH, json: SWITCH };
  const { team = null, role, search = null, suspended, json } = parseFlags(args, flags);
  const filters = {
    ...{ team, search },
    role: role === undefined ? null : choiceOf('--role', role, USER_ROLES),
    isSuspended: suspended || null,
  };
  const { data } = await joinedPages(Number.POSITIVE_INFINITY, async (last: User | null, limit) =>
    listUsers(operator(), desk, { ...filters, after: last?.id ?? null, limit }),
  );
  if (json) return jsonText(data);
  const lines = data.map((user) => [
    user.id,
    user.name || '-',
    user.email ?? '-',
    user.team_name ?? '-',
    user.role,
    user.state,
  ]);
  return table([['ID', 'NAME', 'ADDRESS', 'TEAM', 'ROLE', 'STATE'], ...lines]);
}

async function show(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const id = idOf(positionals, 'users show', desk);
  const status = (money: MoneyDesk) => userStatus(operator(), desk, money, id);
  const user = await withStoredMoney(desk.file, desk.now(), status);
  if (values.json) return jsonText(user);
  const asMember = 'as each member';
  const lines: [string, string][] = [
    ['ID', user.id],
    ['name', user.name || '-'],
    ['address', user.email ?? '-'],
    ['signs in as', user.issuer === null ? 'nobody' : `${user.sub} of ${user.issuer}`],
    ['team', user.team_name ?? '-'],
    ['role', user.role],
    ['state', user.state],
    ...termLines(user, [asMember, asMember, user.budgets ? 'none' : asMember]),
    ...useLines(user.in_force.budgets),
  ];
  return fieldLines(lines, 13);
}

async function change(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, USER_FLAGS);
  const { json, name, email, team, role, issuer, sub, ...flags } = values;
  const patch = { ...patchOf({ name, email, team, role, issuer, sub }), ...termsOf(flags) };
  if (Object.keys(patch).length === 0) throw new UsageError('users change takes an ID or address, and what to change.');
  const user = await changeUser(operator(), desk, idOf(positionals, 'users change', desk), patch);
  return json ? jsonText(user) : `Changed the user ${user.id}.\n`;
}

async function suspend(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const id = idOf(parseArguments(args, {}).positionals, 'users suspend', desk);
  await suspendUser(operator(), desk, id, true);
  return `Suspended ${id}: its keys and logins are refused.\n`;
}

async function resume(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const id = idOf(parseArguments(args, {}).positionals, 'users resume', desk);
  await suspendUser(operator(), desk, id, false);
  return `Resumed ${id}.\n`;
}

async function remove(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const id = idOf(parseArguments(args, {}).positionals, 'users delete', desk);
  const { revoked } = await removeUser(operator(), desk, id);
  return `Deleted ${id}, and revoked ${count(revoked, 'key')}.\n`;
}

const idOf = (positionals: readonly string[], command: string, { people }: PeopleCommand): string =>
  userIdOf(people, nameOf(positionals, command));
