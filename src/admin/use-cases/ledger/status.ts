import type { Microcredits } from '../../../core/credits.ts';
import { SignalboxError } from '../../../core/errors.ts';
import type { FundGroup } from '../../../ledger/audit/funds.ts';
import { foldJournal } from '../../../ledger/audit/run.ts';
import { balanceFund } from '../../../ledger/drawn-fund.ts';
import { forecastOf, runsOutAt } from '../../../ledger/forecast.ts';
import { levelOf } from '../../../ledger/holder-budgets.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { holdAge, OpenHolds } from '../../../ledger/open-holds.ts';
import { unusedFunds } from '../../../ledger/unused.ts';
import type { StoreReader } from '../../../store/driver.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { Sight } from '../sight.ts';
import type { HolderNames } from '../usage.ts';
import type { FundUse } from './fund-pages.ts';

/** Puts the open requests to funds of a running ledger. */
export const usesOf = (ledger: Pick<Ledger, 'openHolds'>, funds: readonly Omit<FundUse, 'holds'>[]): FundUse[] => {
  const holds = ledger.openHolds();
  return funds.map(({ title, limit, spent, held }) => ({ title, limit, spent, held, holds: holds.of(title) }));
};

/** The overview of a running ledger, as far as an asker may see it. @param usdPerCredit of its policy */
export async function overviewOf(
  by: Principal,
  ledger: Pick<Ledger, 'status' | 'openHolds'>,
  usdPerCredit: string,
  sight: Sight,
  names: HolderNames,
): Promise<LedgerOverview> {
  checkAction(by.caller, 'ledger.read');
  const { funds, ...sums } = await ledger.status();
  // The subject of a budget of sessions is that of a key before its session.
  await sight.learn(funds.flatMap(({ title: { name, subject } }) => [name, subject, subject.split('/', 1)[0]!]));
  const seen = usesOf(ledger, funds).map((use) => ({
    ...use,
    title: sight.titleOf(use.title),
    subjectName: subjectNameOf(use.title, sight, names),
  }));
  return { ...sums, usdPerCredit, funds: seen };
}

/** The name of the holder of a budget, or of the key that a budget of the policy has a share for. */
function subjectNameOf(
  { subject, definition }: FundUse['title'],
  { nameOf }: Sight,
  names: HolderNames,
): string | null {
  if (subject === '') return null;
  const level = levelOf(definition);
  return level === 'team' || level === 'user' ? names(level, subject) : nameOf(subject) || null;
}

/** The books as operators see them. */
export interface LedgerOverview {
  /** The worth of a Credit; null in a ledger that never had a policy. */
  readonly usdPerCredit: string | null;
  /** All charges, less refunds; of a name, those that its funds still count. */
  readonly charged: Microcredits;
  readonly held: Microcredits;
  /** Holds that are open. */
  readonly open: number;
  readonly funds: readonly FundUse[];
}

/** Returns the funds of a name with their own sums, or all. A request draws on one fund of a name. @throws SignalboxError `not_found` for a name of none */
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
export function fundStatus({ title, limit, spent, held, holds, subjectName = null }: FundUse, now: number) {
  const { kind, name, subject, starts, ends } = title;
  const { expected, knownFrom } = forecastOf(spent, title, now);
  return {
    ...{ kind, name, subject, subjectName, limit, spent, held },
    holder: kind === 'budget' ? levelOf(title.definition) : null,
    left: limit - spent - held,
    forecast: expected,
    forecastFrom: knownFrom,
    runsOutAt: runsOutAt(spent, limit, title, now),
    openReservations: holds.open,
    oldestReservationSeconds: holds.open === 0 ? null : holdAge(holds, now) / 1_000,
    starts: starts === 0 ? null : starts,
    renewsAt: Number.isFinite(ends) ? ends : null,
  };
}

/**
 * Reads the overview of stored books, beside a server: the figures of its journal, which it reads whole.
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
  // A group has all of a fund's title.
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
    funds: usesOf({ openHolds: () => holds }, [...drawnOn, ...balances, ...unusedFunds(budgets, drawnOn, now)]),
  };
}
