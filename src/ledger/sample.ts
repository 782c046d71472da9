import type { FundStanding } from '../core/accounting/fund.ts';
import type { Budget } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Spread } from '../core/spread.ts';
import { OTHER } from '../host/telemetry/counts.ts';
import type { LedgerBooks } from '../store/books.ts';
import type { BudgetWindows } from './funds.ts';
import { holdAge, type OpenHolds } from './open-holds.ts';

/** Requests that waited for money held by others, by the end of their wait. */
export interface Waits {
  /** They got it. */
  served: number;
  /** Timed out, or the caller disconnected, or the money was spent. */
  gave_up: number;
  /** Refused at once, because too many requests waited. */
  crowded: number;
}

type FundFigures = Pick<FundStanding, 'limit' | 'spent' | 'held'>;

/** Open holds, of all subjects or holders, and the age of the oldest, ms; 0 for none. */
interface Holds {
  readonly open: number;
  readonly oldestMs: number;
}

/** The figures of a budget's fullest window, the one with the least of its limit left. Amounts are microcredits. */
export interface BudgetSample extends FundFigures, Holds {
  readonly name: string;
  /** Windows in force that were drawn on. */
  readonly subjects: number;
  /** Those of them with almost nothing left. */
  readonly exhausted: number;
  /** When the windows in force end, ms since 1970; Infinity for never. */
  readonly ends: number;
}

/** The balances of all holders. Amounts are microcredits. */
export interface BalancesSample extends Holds {
  /** Holders of a balance, and those of them that have nothing left. */
  readonly holders: number;
  readonly exhausted: number;
  /** Of all balances together. */
  readonly total: FundFigures;
  /** Of those with something left, the one with the smallest part left; null for none. */
  readonly tightest: FundFigures | null;
}

/** The state of the ledger, from memory. */
export interface LedgerSample {
  /** Holds that are not settled, and what they may still charge. */
  readonly open: number;
  readonly held: Microcredits;
  /** One for each name of a budget in force. */
  readonly budgets: readonly BudgetSample[];
  /** The number of requests that each budget refused. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly balances: BalancesSample;
  readonly waits: Readonly<Waits>;
  /** Durations of waits, of requests that were served or gave up, in seconds. */
  readonly waited: Spread;
  /** Requests that wait now. */
  readonly waiting: number;
}

/** A fund with less than this share of its limit unspent counts as exhausted: funds are hardly ever spent to the last. */
const SPENT_BELOW = 0.01;

/** The most budgets with figures of their own; the others share the name `other`. */
export const BUDGETS_MAX = 500;

/** Returns the rest of a limit as a share of it, less holds. Negative if the limit was lowered. */
export const ratioLeft = ({ limit, spent, held }: FundFigures): number =>
  limit === 0 ? 0 : (limit - spent - held) / limit;

/** The figures of the windows of a budget, by its generation and their beginning. */
type WindowsReader = (budget: number, starts: number) => readonly FundStanding[];

/** The parts of a ledger that have figures. */
interface SampledParts {
  readonly books: Pick<LedgerBooks, 'open' | 'windowsOf' | 'balances'>;
  readonly contention: Pick<LedgerSample, 'waits' | 'waited' | 'waiting'>;
  readonly refusals: { of(budgets: readonly BudgetSample[]): LedgerSample['refusals'] };
}

/** Samples a ledger at a time, ms since 1970, which must not be earlier than the last time used. */
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

/** Samples the windows of `timeMs`, ms since 1970, which must not be earlier than the last time used. */
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
    // The ledger names the budgets of keys, and a policy may use the same name.
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
  // Other funds exist only because they were read.
  const drawnOn = look(windows.generation, starts).filter((fund) => fund.spent !== 0 || fund.held !== 0);
  const exhausted = drawnOn.filter(({ unspent, limit }) => unspent <= limit * SPENT_BELOW).length;
  const { limit, spent, held } = tightestOf(drawnOn) ?? { limit: leastLimit(windows.budget), spent: 0, held: 0 };
  return { limit, spent, held, subjects: drawnOn.length, exhausted, ...holdsOn(drawnOn, timeMs, holds), ends };
}

/** The fund with the smallest part of its limit left; null for none. */
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

/** The limit shown for a budget without spend. */
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

/** Samples balances. There may be one for each holder that ever paid, so they are summed in one pass. */
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
