import { iso } from '../../core/clock.ts';
import { type Microcredits, toCredits } from '../../core/credits.ts';
import { usdWriter } from '../../core/usd.ts';
import type { FundGroup } from '../../ledger/audit/funds.ts';
import { foldJournal } from '../../ledger/audit/run.ts';
import { balanceFund } from '../../ledger/drawn-fund.ts';
import { forecastOf, runsOutAt } from '../../ledger/forecast.ts';
import { levelOf } from '../../ledger/holder-budgets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { holdAge, OpenHolds } from '../../ledger/open-holds.ts';
import { unusedFunds } from '../../ledger/unused.ts';
import type { StoreReader } from '../../store/driver.ts';
import type { Principal } from '../principal.ts';
import { checkAction } from '../roles.ts';
import type { Sight } from '../sight.ts';
import type { HolderNames } from '../usage.ts';
import { FUNDS_MAX, type FundPage, type FundUse, pageOfFunds } from './fund-pages.ts';

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

/**
 * The status as the admin API and `signalbox ledger status --json` show it.
 * @param name only funds of this name; undefined for all
 * @param now ms since 1970
 */
export function overviewBody(overview: LedgerOverview, name: string | undefined, now: number, page = FIRST_PAGE) {
  const { charged, held, open, funds: all, usdPerCredit } = overviewNamed(overview, name);
  const usd = usdWriter(usdPerCredit);
  const { funds, hasMore, nextAfter } = pageOfFunds(all, page, now, (use) => fundBody(use, now, usd));
  return {
    charged_credits: toCredits(charged),
    charged_usd: usd(charged),
    held_credits: toCredits(held),
    held_usd: usd(held),
    open_reservations: open,
    funds,
    funds_total: all.length,
    has_more: hasMore,
    next_after: nextAfter,
  };
}

const FIRST_PAGE: FundPage = { limit: FUNDS_MAX, after: null };

/** Returns the funds of a name with their own sums, or all. A request draws on one fund of a name. */
export function overviewNamed(all: LedgerOverview, name: string | undefined): LedgerOverview {
  if (name === undefined) return all;
  const funds = all.funds.filter(({ title }) => title.name === name);
  const sum = (of: (use: FundUse) => number) => funds.reduce((total, use) => total + of(use), 0);
  return {
    usdPerCredit: all.usdPerCredit,
    charged: sum(({ spent }) => spent),
    held: sum(({ held }) => held),
    open: sum(({ holds }) => holds.open),
    funds,
  };
}

/** The first funds of a list, up to a bound, as every answer shows them. */
export function fundBodies(funds: readonly FundUse[], now: number, usdPerCredit: string | null) {
  const usd = usdWriter(usdPerCredit);
  return funds.slice(0, FUNDS_MAX).map((use) => fundBody(use, now, usd));
}

function fundBody(
  { title, limit, spent, held, holds, subjectName }: FundUse,
  now: number,
  usd: ReturnType<typeof usdWriter>,
) {
  const left = limit - spent - held;
  const { expected, knownFrom } = forecastOf(spent, title, now);
  const spentAt = runsOutAt(spent, limit, title, now);
  return {
    kind: title.kind,
    name: title.name,
    subject: title.subject,
    subject_name: subjectName ?? null,
    holder: title.kind === 'budget' ? levelOf(title.definition) : null,
    limit_credits: toCredits(limit),
    limit_usd: usd(limit),
    spent_credits: toCredits(spent),
    spent_usd: usd(spent),
    held_credits: toCredits(held),
    held_usd: usd(held),
    left_credits: toCredits(left),
    left_usd: usd(left),
    forecast_credits: expected === null ? null : toCredits(expected),
    forecast_usd: expected === null ? null : usd(expected),
    forecast_from: knownFrom === null ? null : iso(knownFrom),
    runs_out_at: spentAt === null ? null : iso(spentAt),
    open_reservations: holds.open,
    oldest_reservation_seconds: holds.open === 0 ? null : holdAge(holds, now) / 1_000,
    starts: title.starts === 0 ? null : iso(title.starts),
    renews_at: Number.isFinite(title.ends) ? iso(title.ends) : null,
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
