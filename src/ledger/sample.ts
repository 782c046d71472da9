import type { FundStanding } from '../core/accounting/fund.ts';
import type { Budget } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { Spread } from '../core/time/spread.ts';
import { OTHER } from '../host/telemetry/counts.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { BudgetWindows } from './funds.ts';
import { holdAge, type OpenHolds } from './open-holds.ts';

/** How many requests waited for money that others held, by the way in which the wait ended. */
export interface Waits {
  /** Requests that got the money. */
  served: number;
  /** Requests that timed out, whose client disconnected, or whose money was spent by others. */
  gave_up: number;
  /** Requests that were refused at once because too many requests waited. */
  crowded: number;
}

type FundFigures = Pick<FundStanding, 'limit' | 'spent' | 'held'>;

/** The number of open holds of all subjects or holders, and the age of the oldest open hold, ms; 0 if no hold is open. */
interface Holds {
  readonly open: number;
  readonly oldestMs: number;
}

/** The figures of a budget's fullest window: the window with the smallest share of its limit left. Amounts are microcredits. */
export interface BudgetSample extends FundFigures, Holds {
  readonly name: string;
  /** The number of active windows that were drawn on. */
  readonly subjects: number;
  /** The number of active windows that have almost no money left. */
  readonly exhausted: number;
  /** When the active windows end, ms since 1970; Infinity for never. */
  readonly ends: number;
}

/** The balances of all holders. Amounts are microcredits. */
export interface BalancesSample extends Holds {
  /** The number of holders with a balance (`holders`), and the number of holders with an empty balance (`exhausted`). */
  readonly holders: number;
  readonly exhausted: number;
  /** The sums over all balances. */
  readonly total: FundFigures;
  /** The balance with the smallest share left, among the balances that are not empty; null if there is no such balance. */
  readonly tightest: FundFigures | null;
}

/** The state of the ledger, read from memory. */
export interface LedgerSample {
  /** The number of holds that are not settled (`open`), and the sum that these holds may still be charged (`held`, microcredits). */
  readonly open: number;
  readonly held: Microcredits;
  /** A sample of figures for each name of an active budget. */
  readonly budgets: readonly BudgetSample[];
  /** How many requests each budget refused. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly balances: BalancesSample;
  readonly waits: Readonly<Waits>;
  /** How long requests waited that were served or gave up, in seconds. */
  readonly waited: Spread;
  /** The number of requests that currently wait for money. */
  readonly waiting: number;
}

/**
 * A fund with less than this share of its limit unspent counts as exhausted, because funds are hardly ever spent to the last microcredit.
 */
const SPENT_BELOW = 0.01;

/** How many budgets have figures of their own. All further budgets share the name `other`. */
export const BUDGETS_MAX = 500;

/** @returns the share of the limit that is neither spent nor held; negative if the limit was lowered */
export const ratioLeft = ({ limit, spent, held }: FundFigures): number =>
  limit === 0 ? 0 : (limit - spent - held) / limit;

/** Reads the figures of the windows of a budget, by its generation and the start of the windows. */
type WindowsReader = (budget: number, starts: number) => readonly FundStanding[];

/** The parts of a ledger that have figures. */
interface SampledParts {
  readonly books: Pick<LedgerBooks, 'open' | 'windowsOf' | 'balances'>;
  readonly contention: Pick<LedgerSample, 'waits' | 'waited' | 'waiting'>;
  readonly refusals: { of(budgets: readonly BudgetSample[]): LedgerSample['refusals'] };
}

/**
 * Samples a ledger.
 * @param timeMs ms since 1970; the time must not be earlier than at the last call
 */
export function sampleLedger(
  { books, contention: { waits, waited, waiting }, refusals }: SampledParts,
  budgetWindows: readonly BudgetWindows[],
  timeMs: number,
  holds: OpenHolds,
): LedgerSample {
  const { count, held } = books.open();
  const look: WindowsReader = (budget, starts) => books.windowsOf(budget, starts);
  const budgets = sampleBudgets(budgetWindows, timeMs, look, holds);
  return {
    open: count,
    held,
    budgets,
    refusals: refusals.of(budgets),
    balances: sampleBalances(books.balances(), timeMs, holds),
    waits,
    waited,
    waiting,
  };
}

/**
 * Samples the windows of a time.
 * @param timeMs ms since 1970; the time must not be earlier than at the last call
 */
export function sampleBudgets(
  budgetWindows: readonly BudgetWindows[],
  timeMs: number,
  look: WindowsReader,
  holds: OpenHolds,
): BudgetSample[] {
  const byName = new Map<string, BudgetSample>();
  for (const windows of budgetWindows) {
    const known = byName.size < BUDGETS_MAX || byName.has(windows.budget.name);
    const sample = { ...sampleBudget(windows, timeMs, look, holds), name: known ? windows.budget.name : OTHER };
    // Two budgets may have the same name: the ledger names the budgets of keys, and a policy may use the same name. The figures of such
    // budgets are added up.
    const other = byName.get(sample.name);
    byName.set(sample.name, other ? joined(other, sample) : sample);
  }
  return [...byName.values()];
}

function sampleBudget(
  windows: BudgetWindows,
  timeMs: number,
  look: WindowsReader,
  holds: OpenHolds,
): Omit<BudgetSample, 'name'> {
  const { starts, ends } = windows.windowAt(timeMs);
  // A fund without spending or holds exists only because it was read, so the fund is ignored.
  const drawnOn = look(windows.generation, starts).filter((fund) => fund.spent !== 0 || fund.held !== 0);
  const exhausted = drawnOn.filter(({ unspent, limit }) => unspent <= limit * SPENT_BELOW).length;
  const { limit, spent, held } = tightestOf(drawnOn) ?? { limit: leastLimit(windows.budget), spent: 0, held: 0 };
  return { limit, spent, held, subjects: drawnOn.length, exhausted, ...holdsOn(drawnOn, timeMs, holds), ends };
}

/** @returns the fund with the smallest share of its limit left, or null if there is no fund */
function tightestOf(funds: readonly FundStanding[]): FundStanding | null {
  let tightest: FundStanding | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const fund of funds) {
    const left = ratioLeft(fund);
    if (left < least) [tightest, least] = [fund, left];
  }
  return tightest;
}

function holdsOn(funds: readonly FundStanding[], timeMs: number, holds: OpenHolds): Holds {
  let open = 0;
  let oldestMs = 0;
  for (const { title } of funds) {
    const own = holds.of(title);
    open += own.open;
    oldestMs = Math.max(oldestMs, holdAge(own, timeMs));
  }
  return { open, oldestMs };
}

/** The limit that is shown for a budget without spending. */
function leastLimit({ limit, limits }: Budget): Microcredits {
  if (limits === undefined) return limit;
  let least = Number.POSITIVE_INFINITY;
  for (const one of limits.values()) least = Math.min(least, one);
  return least;
}

function joined(one: BudgetSample, other: BudgetSample): BudgetSample {
  const tighter = ratioLeft(other) < ratioLeft(one) ? other : one;
  const [subjects, exhausted] = [one.subjects + other.subjects, one.exhausted + other.exhausted];
  const [open, oldestMs] = [one.open + other.open, Math.max(one.oldestMs, other.oldestMs)];
  return { ...tighter, subjects, exhausted, open, oldestMs };
}

/** Samples balances in one pass, because there may be a balance for each holder that ever paid. */
function sampleBalances(balances: readonly FundStanding[], timeMs: number, holds: OpenHolds): BalancesSample {
  const total = { limit: 0, spent: 0, held: 0 };
  const left: FundStanding[] = [];
  const held: FundStanding[] = [];
  for (const balance of balances) {
    total.limit += balance.limit;
    total.spent += balance.spent;
    total.held += balance.held;
    if (balance.unspent > 0) left.push(balance);
    if (balance.held !== 0) held.push(balance);
  }
  return {
    holders: balances.length,
    exhausted: balances.length - left.length,
    ...holdsOn(held, timeMs, holds),
    total,
    tightest: tightestOf(left),
  };
}
