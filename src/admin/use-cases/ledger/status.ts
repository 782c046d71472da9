import { SignalboxError } from '../../../core/errors.ts';
import type { ExhaustedAction } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import type { FundGroup } from '../../../ledger/audit/funds.ts';
import { foldJournal } from '../../../ledger/audit/run.ts';
import { balanceFund } from '../../../ledger/drawn-fund.ts';
import { forecastOf, runsOutAt } from '../../../ledger/forecast.ts';
import { titleText } from '../../../ledger/fund-words.ts';
import { actionOf, levelOf } from '../../../ledger/holder-budgets.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { holdAge, OpenHolds } from '../../../ledger/open-holds.ts';
import { unusedFunds } from '../../../ledger/unused.ts';
import { leastCost } from '../../../routing/least-cost.ts';
import type { StoreReader } from '../../../store/driver.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { Sight } from '../sight.ts';
import type { HolderNames } from '../usage.ts';
import type { FundUse } from './fund-pages.ts';

/** Adds the running requests to the funds of a running ledger. */
export const usesOf = (
  ledger: Pick<Ledger, 'openHolds' | 'recentSpend' | 'refusalOf'>,
  funds: readonly Omit<FundUse, 'holds' | 'recent' | 'refusal'>[],
): FundUse[] => {
  const holds = ledger.openHolds();
  return funds.map(({ title, limit, spent, held }) => {
    const refusal = ledger.refusalOf({ title, limit, spent });
    return { title, limit, spent, held, holds: holds.of(title), recent: ledger.recentSpend(title), refusal };
  });
};

/** Returns the overview of a running ledger, as far as a caller may see it. @param snapshot of the active policy */
export async function overviewOf(
  by: Principal,
  ledger: Pick<Ledger, 'status' | 'openHolds' | 'recentSpend' | 'readRecent' | 'refusalOf'>,
  snapshot: PolicySnapshot,
  sight: Sight,
  names: HolderNames,
): Promise<LedgerOverview> {
  checkAction(by.caller, 'ledger.read');
  await ledger.readRecent();
  const { funds, ...sums } = await ledger.status();
  // The subject of a budget for each session is the ID of a key followed by the session.
  await sight.learn(funds.flatMap(({ title: { name, subject } }) => [name, subject, subject.split('/', 1)[0]!]));
  const leastRequest = leastRequests(snapshot);
  const seen = usesOf(ledger, funds).map((use) => ({
    ...use,
    title: sight.titleOf(use.title),
    ...subjectOf(use.title, sight, names),
    leastRequest: leastRequest(use),
    ...(use.title.kind === 'balance' && { keyName: sight.nameOf(use.title.name) || null }),
  }));
  return { ...sums, usdPerCredit: snapshot.usdPerCredit, funds: seen };
}

/** The holder of a budget, or the key, team or user whose share of a policy's budget this is. */
export function subjectOf(
  { subject, definition }: FundUse['title'],
  { nameOf }: Pick<Sight, 'nameOf'>,
  names: HolderNames,
): Pick<FundUse, 'subjectName' | 'subjectKind'> {
  const level = levelOf(definition) ?? kindOfId(subject);
  if (subject === '' || level === 'organization') return { subjectName: null, subjectKind: null };
  if (level === 'team' || level === 'user') return { subjectName: names(level, subject), subjectKind: level };
  const subjectName = nameOf(subject) || null;
  // Other subjects of a policy's budget, such as labels of keys, have no name.
  return { subjectName, subjectKind: level ?? (subjectName === null ? null : 'key') };
}

/**
 * Returns a function that compares the limit of a budget with the cost of a short request. It returns what the request needs from the
 * budget if that is more than the limit, and null otherwise. The models that the senders may use are not considered.
 */
function leastRequests(snapshot: PolicySnapshot): (fund: Pick<FundUse, 'title' | 'limit'>) => Microcredits | null {
  const actions = new Map(snapshot.budgets.map(({ name, onExhausted }) => [name, onExhausted]));
  const known = new Map<ExhaustedAction, Microcredits | null>();
  return ({ title: { kind, name, definition }, limit }) => {
    // A budget of 0 is meant for free requests.
    if (kind !== 'budget' || limit === 0) return null;
    const action = levelOf(definition) === null ? actions.get(name) : actionOf(name);
    if (action === undefined) return null;
    const least = known.getOrInsertComputed(
      action,
      () => leastCost(snapshot, { models: null }, action)?.amount ?? null,
    );
    return least !== null && least > limit ? least : null;
  };
}

/** The kind of a subject of a policy's budget. Only the IDs of teams and users have these prefixes. */
const kindOfId = (subject: string) =>
  (['team', 'user'] as const).find((kind) => subject.startsWith(`${kind}_`)) ?? null;

/** The ledger as operators see it. */
export interface LedgerOverview {
  /** The value of a Credit; null if the ledger never had a policy. */
  readonly usdPerCredit: string | null;
  /** All charges minus refunds; for funds of one name, the charges that these funds still count. */
  readonly charged: Microcredits;
  readonly held: Microcredits;
  /** The number of open holds. */
  readonly open: number;
  readonly funds: readonly FundUse[];
}

/**
 * Returns the funds with a name and their own sums, or all funds. Each request uses only one fund of each name. @throws SignalboxError
 * `not_found` if no fund has the name
 */
export function overviewNamed(all: LedgerOverview, name: string | undefined): LedgerOverview {
  if (name === undefined) return all;
  const funds = all.funds.filter(({ title }) => title.name === name);
  if (funds.length === 0)
    throw new SignalboxError('not_found', 'No budget and no balance has this name.', { param: 'name' });
  const sum = (of: (use: FundUse) => number) => funds.reduce((total, use) => total + of(use), 0);
  return {
    usdPerCredit: all.usdPerCredit,
    charged: sum(({ spent }) => spent),
    held: sum(({ held }) => held),
    open: sum(({ holds }) => holds.open),
    funds,
  };
}

/** A fund as answers show it. @param now ms since 1970 */
export function fundStatus({ title, limit, spent, held, holds, recent, refusal, ...called }: FundUse, now: number) {
  const { subjectName = null, subjectKind = null, keyName = null, leastRequest = null } = called;
  const { kind, name, subject, starts, ends } = title;
  const { expected, knownFrom } = forecastOf(spent, title, now, recent);
  return {
    kind,
    name,
    subject,
    subjectName,
    subjectKind,
    limit,
    spent,
    held,
    title: titleText(title, subjectName ?? keyName),
    holder: kind === 'budget' ? levelOf(title.definition) : null,
    left: limit - spent - held,
    forecast: expected,
    forecastFrom: knownFrom,
    // A fund that pays for no request does not run out later.
    runsOutAt: refusal || leastRequest !== null ? null : runsOutAt(spent, limit, title, now, recent),
    refusesSince: refusal?.since ?? null,
    leastRequest,
    openReservations: holds.open,
    oldestReservationSeconds: holds.open === 0 ? null : holdAge(holds, now) / 1_000,
    starts: starts === 0 ? null : starts,
    renewsAt: Number.isFinite(ends) ? ends : null,
  };
}

/**
 * Reads the overview of a stored ledger, even while a server uses it. Reads the whole journal.
 * @param now ms since 1970
 */
export async function storedOverview(
  by: Principal,
  { journal, ledger }: StoreReader,
  now: number,
): Promise<LedgerOverview> {
  checkAction(by.caller, 'ledger.read');
  const audit = await foldJournal(journal);
  const budgets = await ledger.budgets();
  const isInForce = ({ kind, name, definition }: FundGroup) =>
    kind === 'budget' &&
    (levelOf(definition) !== null || budgets.some((one) => one.name === name && one.definition === definition));
  const groups = audit.fundsAt(now);
  const open = [...audit.open.values()];
  // A fund of the journal is a group with the same title as the fund.
  const holds = new OpenHolds(
    open.map(({ reservation, draws }) => ({ id: reservation, funds: draws.map(({ group: title }) => ({ title })) })),
  );
  const drawnOn = groups
    .filter((group) => isInForce(group) && (group.spent !== 0 || group.held !== 0))
    .map((group) => ({ ...group, title: group }));
  const balances = [...audit.balances()].map(([holder, { granted, spent }]) => {
    const held = groups.find(({ kind, name }) => kind === 'balance' && name === holder)?.held ?? 0;
    return { title: balanceFund(holder).title, limit: granted, spent, held };
  });
  return {
    usdPerCredit: await journal.usdPerCredit(),
    charged: audit.totals.charged,
    held: open.reduce((sum, { reserved, charged }) => sum + reserved - charged, 0),
    open: open.length,
    // Only a running server knows which charges of the last 24 hours count in which fund, and which requests were refused.
    funds: usesOf({ openHolds: () => holds, recentSpend: () => null, refusalOf: () => null }, [
      ...drawnOn,
      ...balances,
      ...unusedFunds(budgets, drawnOn, now),
    ]),
  };
}
