import { bringInLine, holderOf, type KeyEntry, keyEntryOf, keyStateOf } from '../../../access/key-entry.ts';
import { callerLevels } from '../../../access/levels.ts';
import { isOut, levelsAbove } from '../../../access/people-copy.ts';
import { type FundStanding, fundName } from '../../../core/accounting/fund.ts';
import { windowOf } from '../../../core/accounting/window.ts';
import { SignalboxError } from '../../../core/errors.ts';
import type { Budget } from '../../../core/money/budget.ts';
import { budgetsAt } from '../../../core/people/caller.ts';
import { NO_LINES } from '../../../core/people/holder.ts';
import type { GroupTerms } from '../../../core/people/people.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { scopeOf } from '../../../ledger/accounts.ts';
import { AvailableFunds } from '../../../ledger/available-funds.ts';
import { BudgetFund, balanceFund, type DrawnFund } from '../../../ledger/drawn-fund.ts';
import { subjectOf } from '../../../ledger/funds.ts';
import { holderBudgets } from '../../../ledger/holder-budgets.ts';
import type { StoreReader } from '../../../store/driver.ts';
import type { KeyInfo, KeyRow, KeyTable, StoredKey } from '../../../store/keys.ts';
import { readStore, storeExists } from '../../../store/open.ts';
import type { Team, User, VersionedRow } from '../../../store/people.ts';
import type { FundUse } from '../ledger/fund-pages.ts';
import { storedOverview } from '../ledger/status.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';

/** The sender of a request: the ID of a key or user, or the ID or name of a team. Only one of them is stated. */
export interface StoredSender {
  readonly key?: string | undefined;
  readonly user?: string | undefined;
  readonly team?: string | undefined;
}

/** The terms that the policy states for people. */
export type PeopleOfPolicy = Pick<PolicySnapshot, 'organization' | 'teams'>;

/** The parts of a key that requests need. A team or user that sends without a key has a key without labels and models. */
type SenderKey = Pick<KeyInfo, 'id' | 'labels' | 'models' | 'notModels' | 'team' | 'user' | 'holder' | 'budgets'>;

/**
 * Finds a key, user or team in a database, with the terms of its levels, and its money at a moment. Reads the whole journal. A team that
 * the policy declares has the terms of the policy, and need not be in the database.
 * @param now ms since 1970
 * @param timeMs the moment for the money, ms since 1970
 * @throws SignalboxError `not_found` for a sender that may not send now, as a server answers; StoreError; both by rejecting
 */
export async function storedPayer(
  by: Principal,
  database: string,
  sender: StoredSender,
  { now, timeMs }: { readonly now: number; readonly timeMs: number },
  people: PeopleOfPolicy,
) {
  checkAction(by.caller, sender.key === undefined ? 'people.read' : 'keys.read');
  const declared = people.teams.find(({ name }) => name === sender.team);
  const undeclared = declared && ofTeam({ ...declared, id: declared.name });
  if (!(await storeExists(database))) {
    if (!undeclared) throw unknownSender(paramOf(sender));
    return payerOf(undeclared, [], people, timeMs);
  }
  using reader = await readStore(database, ['access', 'ledger', 'people']);
  const payer =
    sender.key === undefined ? ((await peopleOf(reader, sender)) ?? undeclared) : await keysOf(reader, sender.key, now);
  if (!payer) throw unknownSender(paramOf(sender));
  const known = (await reader.ledger.exists()) ? (await storedOverview(by, reader, timeMs)).funds : [];
  return payerOf(payer, known, people, timeMs);
}

const paramOf = ({ user, team }: StoredSender) => (user !== undefined ? 'user' : team !== undefined ? 'team' : 'key');

/** The key of a request with the keys above it, nearest first, and its owners. */
interface Payer {
  readonly line: readonly [SenderKey, ...SenderKey[]];
  readonly owners: { readonly team: TeamRow | null; readonly user: User | null };
}

/** A team. Conditions of a policy mean a team by its name until it has an ID. */
type TeamRow = GroupTerms & Pick<Team, 'id' | 'name'>;

/** The key of a sender without a key. */
const keyless = (owner: Partial<Pick<SenderKey, 'team' | 'user'>>): SenderKey => ({
  id: 'explain',
  labels: {},
  models: null,
  notModels: null,
  holder: null,
  budgets: [],
  team: null,
  user: null,
  ...owner,
});

const ofTeam = (team: TeamRow): Payer => ({ line: [keyless({ team: team.id })], owners: { team, user: null } });

function payerOf(
  { line, owners }: Payer,
  known: readonly FundUse[],
  { organization, teams }: PeopleOfPolicy,
  timeMs: number,
) {
  const [info] = line;
  const { team, user } = owners;
  const ofPolicy = teams.find(({ name }) => name === team?.name);
  const levels = levelsAbove({ user, team: team && { ...team, ...ofPolicy } }, organization);
  const lines = {
    ...NO_LINES,
    lineOf: (id: string) => line.slice(1 + line.findIndex((one) => one.id === id)).map((one) => one.id),
  };
  return {
    info,
    levels: callerLevels(levels),
    /**
     * Returns the money for requests of the sender; null if nothing limits it. A budget that the ledger does not know counts as unspent.
     * @param budgets of the policy
     * @param model the name that the request states
     */
    fundsUnder: (budgets: readonly Budget[], labels: KeyInfo['labels'], model: string) => {
      const scope = scopeOf({ keyId: info.id, labels, team: info.team, user: info.user }, model);
      const keys = line.map(({ id, budgets }) => ({ kind: 'key' as const, id, budgets: budgetsAt(budgets, timeMs) }));
      const own = holderBudgets([...levels, ...keys], lines);
      const drawn: DrawnFund[] = [...budgets, ...own].flatMap((budget) => {
        const subject = subjectOf(budget, scope);
        if (subject === null) return [];
        return [new BudgetFund({ budget, generation: 0, rank: 0, at: 0 }, windowOf(budget, timeMs), subject)];
      });
      const balance = known.find(({ title }) => title.kind === 'balance' && title.name === holderOf(info));
      if (balance) drawn.push(balanceFund(balance.title.name));
      return drawn.length === 0 ? null : new AvailableFunds(drawn, drawn.map(standingBy(known)), true);
    },
  };
}

/** Finds a key with the keys above it, and its owners. */
async function keysOf(reader: StoreReader, keyId: string, now: number): Promise<Payer> {
  const [info, ...above] = await lineOf(reader.keys, keyId);
  if (!info || keyStateOf(info, now) !== 'valid') throw unknownSender('key');
  const owners = await ownersOf(reader, info);
  if (info.user !== null && isOut(owners.user)) throw unknownSender('key');
  return { line: [info, ...above], owners };
}

/** Finds a user or a team that sends without a key; null for a team that is not in the database. */
async function peopleOf(reader: StoreReader, { user, team }: StoredSender): Promise<Payer | null> {
  const { teams, users } = await reader.people.changedAfter(-1);
  if (user === undefined) {
    const found = teams.find(({ row }) => row.removedAt === null && (row.id === team || row.name === team));
    return found ? ofTeam(found.row) : null;
  }
  const row = users.find((one) => one.row.id === user)?.row ?? null;
  if (row === null || isOut(row)) throw unknownSender('user');
  return { line: [keyless({ user, team: row.team })], owners: await ownersOf(reader, { user, team: row.team }) };
}

/** The team and the user of a key. Stores of early versions have no people. */
async function ownersOf({ people }: Pick<StoreReader, 'people'>, { team, user }: Pick<KeyInfo, 'team' | 'user'>) {
  if (team === null && user === null) return { team: null, user: null };
  const { teams, users } = await people.changedAfter(-1);
  const rowOf = <Row extends { readonly id: string }>(rows: readonly VersionedRow<Row>[], id: string | null) =>
    rows.find(({ row }) => row.id === id)?.row ?? null;
  return { team: rowOf(teams, team), user: rowOf(users, user) };
}

/** Returns a key and the keys that it descends from, nearest first, each with its effective terms; empty if there is no such key. */
async function lineOf(keys: Pick<KeyTable, 'find'>, keyId: string): Promise<readonly StoredKey['info'][]> {
  const rows: KeyRow[] = [];
  for (let at: string | null = keyId; at !== null; at = rows.at(-1)!.key.info.parent) {
    const row = await keys.find(at);
    if (!row) break;
    rows.push(row);
  }
  const line: KeyEntry[] = [];
  for (const row of rows.reverse()) {
    const entry = keyEntryOf(row, undefined, new Map());
    if (row.key.info.parent !== null) bringInLine(entry, line[0]);
    line.unshift(entry);
  }
  return line.map(({ inForce }) => inForce);
}

/** Returns a function that reads the figures of a fund from the ledger. */
const standingBy =
  (known: readonly FundUse[]) =>
  ({ title, limit: ofBudget }: DrawnFund): FundStanding => {
    const name = fundName(title);
    const use = known.find(({ title: one }) => fundName(one) === name);
    const limit = title.kind === 'balance' ? (use?.limit ?? 0) : ofBudget;
    const { spent, held } = use ?? { spent: 0, held: 0 };
    return { title, limit, spent, held, free: limit - spent - held, unspent: limit - spent, ageMs: 0 };
  };

/** The error for an unknown sender, or for a key that does not work. */
export function unknownSender(param: 'key' | 'user' | 'team'): SignalboxError {
  const what = { key: 'key that works and has this ID', team: 'team with this ID or name', user: 'user with this ID' }[
    param
  ];
  return new SignalboxError('not_found', `There is no ${what}, or you may not see it.`, { param });
}
