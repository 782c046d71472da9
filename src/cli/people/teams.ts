import { UsageError } from '../../core/usage-error.ts';
import { joinedPages } from '../../operate/pages.ts';
import { changeTeam, createTeam, listTeams, removeTeam } from '../../operate/people.ts';
import { type MoneyDesk, teamStatus, withStoredMoney } from '../../operate/people-money.ts';
import { TEAM_ORIGINS, type Team } from '../../store/people.ts';
import { choiceOf, groupOf, needed, parseArguments, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { table } from '../terminal.ts';
import { fieldLines, jsonText } from '../text.ts';
import { operator } from '../user.ts';
import {
  budgetsText,
  MEMBER_FLAGS,
  memberTermsOf,
  nameOf,
  type PeopleCommand,
  TERM_FLAGS,
  termLines,
  termsOf,
  useLines,
  withRefusals,
} from './command.ts';

/** `signalbox teams create|list|show|change|delete`. Returns what to print. Throws UsageError. */
export const runTeams = withRefusals(groupOf('teams', { create, list, show, change, delete: remove }));

type TeamBody = Omit<Awaited<ReturnType<typeof teamStatus>>, 'declared_at'>;

async function create(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { name, json, ...flags } = parseFlags(args, { name: TEXT, ...TERM_FLAGS, ...MEMBER_FLAGS, json: SWITCH });
  const patch = { name: needed(name, 'teams create takes --name.'), ...termsOf(flags), ...memberTermsOf(flags) };
  const team = await createTeam(operator(), desk, patch);
  return json ? jsonText(team) : `Made the team ${team.name}: ${team.id}.\n`;
}

async function list(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { origin: text, json } = parseFlags(args, { origin: TEXT, json: SWITCH });
  const origin = text === undefined ? null : choiceOf('--origin', text, TEAM_ORIGINS);
  const { data } = await joinedPages(Number.POSITIVE_INFINITY, async (last: Team | null, limit) =>
    listTeams(operator(), desk, { after: last?.id ?? null, limit, origin }),
  );
  if (json) return jsonText(data);
  const lines = data.map((team) => [
    team.id,
    team.name,
    team.origin,
    String(team.users),
    budgetsText(team.budgets) || '-',
    team.models?.join(', ') ?? 'all',
  ]);
  return table([['ID', 'NAME', 'FROM', 'USERS', 'BUDGETS', 'MODELS'], ...lines]);
}

async function show(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { values, positionals } = parseArguments(args, { json: SWITCH });
  const name = nameOf(positionals, 'teams show');
  const status = (money: MoneyDesk) => teamStatus(operator(), desk, money, name);
  const { declared_at: _, ...team } = await withStoredMoney(desk.file, desk.now(), status);
  return values.json ? jsonText(team) : showText(team);
}

const ORIGINS: Readonly<Record<TeamBody['origin'], string>> = {
  api: 'the API: changed by requests and commands',
  policy: 'the policy: changed in its section teams',
  former: 'a policy that no longer has it: declare it, or take it over with --origin api',
};

function showText(team: TeamBody): string {
  const lines: [string, string][] = [
    ['ID', team.id],
    ['name', team.name],
    ['from', ORIGINS[team.origin]],
    ['users', String(team.users)],
    ...termLines(team, ['all', 'none', 'none']),
    ...useLines(team.budgets),
    ...termLines(team.member_defaults, ['all', 'none', 'none'], 'member '),
  ];
  return fieldLines(lines, 16);
}

async function change(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const options = { name: TEXT, origin: TEXT, ...TERM_FLAGS, ...MEMBER_FLAGS, json: SWITCH };
  const { values, positionals } = parseArguments(args, options);
  const { name, origin, json, ...flags } = values;
  const patch = {
    ...(name !== undefined && { name }),
    ...(origin !== undefined && { origin: choiceOf('--origin', origin, ['api', 'policy']) }),
    ...termsOf(flags),
    ...memberTermsOf(flags),
  };
  if (Object.keys(patch).length === 0) throw new UsageError('teams change takes a name or ID, and what to change.');
  const team = await changeTeam(operator(), desk, nameOf(positionals, 'teams change'), patch);
  return json ? jsonText(team) : `Changed the team ${team.name}.\n`;
}

async function remove(args: readonly string[], desk: PeopleCommand): Promise<string> {
  const { positionals } = parseArguments(args, {});
  const team = await removeTeam(operator(), desk, nameOf(positionals, 'teams delete'));
  return `Deleted the team ${team.name}.\n`;
}
