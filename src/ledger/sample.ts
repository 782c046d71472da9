import type { Budget } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Spread } from '../core/spread.ts';
import { OTHER } from '../telemetry/counts.ts';
import type { BudgetFund } from './drawn-fund.ts';
import type { BudgetWindows } from './funds.ts';
import type { FundStanding } from './rules/fund.ts';

/** Requests that waited for money held by others, by the end of their wait. */
export interface Waits {
  /** They got it. */
  served: number;
  /** Their time was over, their caller gone, or the money spent. */
  gave_up: number;
  /** Too many waited already, so that they were refused at once. */
  crowded: number;
}

/** How a budget stands: of all its windows the one that has the least of its limit left. Amounts are microcredits. */
export interface BudgetSample {
  readonly name: string;
  readonly limit: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
  /** Windows in force that were drawn on. */
  readonly subjects: number;
  /** Those of them that are as good as spent. */
  readonly exhausted: number;
  /** When the windows in force end, ms since 1970; Infinity for one that never does. */
  readonly ends: number;
}

/** How the ledger stands, from what it has in memory. */
export interface LedgerSample {
  /** Reservations that are not settled, and what they may still charge. */
  readonly open: number;
  readonly held: Microcredits;
  /** One for each name of a budget in force. */
  readonly budgets: readonly BudgetSample[];
  /** Requests that each of them had too little left for. */
  readonly refusals: ReadonlyMap<string, number>;
  /** Holders of a balance, and those of them that have nothing left. */
  readonly balances: number;
  readonly balancesExhausted: number;
  readonly waits: Readonly<Waits>;
  /** How long those waited that were served or gave up, seconds. */
  readonly waited: Spread;
  /** Requests that wait now. */
  readonly waiting: number;
}

/** A fund is hardly ever spent to the last: with less than this part of its limit unspent, it is as good as spent. */
const SPENT_BELOW = 0.01;

/** The most budgets with figures of their own; the others share the name `other`. */
export const BUDGETS_MAX = 500;

/** The rest of a limit as a part of it, less reservations. Below 0 where the limit was lowered. */
export const ratioLeft = ({ limit, spent, held }: Pick<FundStanding, 'limit' | 'spent' | 'held'>): number =>
  limit === 0 ? 0 : (limit - spent - held) / limit;

/** The figures of funds, in their order. */
type StandingsReader = (funds: readonly BudgetFund[]) => readonly FundStanding[];

/** In the windows of `timeMs`, ms since 1970, before which none of them may have ended. One pass over all funds that were ever drawn on. */
export function sampleBudgets(
  budgetWindows: readonly BudgetWindows[],
  timeMs: number,
  look: StandingsReader,
): BudgetSample[] {
  const byName = new Map<string, BudgetSample>();
  for (const windows of budgetWindows) {
    const known = byName.size < BUDGETS_MAX || byName.has(windows.budget.name);
    const sample = { ...sampleBudget(windows, timeMs, look), name: known ? windows.budget.name : OTHER };
    // Keys' budgets have names of the ledger's, which a policy may have given as well.
    const other = byName.get(sample.name);
    byName.set(sample.name, other ? joined(other, sample) : sample);
  }
  return [...byName.values()];
}

function sampleBudget(windows: BudgetWindows, timeMs: number, look: StandingsReader): Omit<BudgetSample, 'name'> {
  const { ends } = windows.windowAt(timeMs);
  let tightest: FundStanding | null = null;
  let least = Number.POSITIVE_INFINITY;
  let subjects = 0;
  let exhausted = 0;
  for (const fund of look([...windows.funds])) {
    // The fund exists because a reading asked for it.
    if (fund.spent === 0 && fund.held === 0) continue;
    subjects++;
    if (fund.unspent <= fund.limit * SPENT_BELOW) exhausted++;
    const left = ratioLeft(fund);
    if (left < least) {
      least = left;
      tightest = fund;
    }
  }
  const { limit, spent, held } = tightest ?? { limit: leastLimit(windows.budget), spent: 0, held: 0 };
  return { limit, spent, held, subjects, exhausted, ends };
}

/** An untouched budget is whole. */
function leastLimit({ limit, limits }: Budget): Microcredits {
  if (limits === undefined) return limit;
  let least = Number.POSITIVE_INFINITY;
  for (const one of limits.values()) least = Math.min(least, one);
  return least;
}

function joined(one: BudgetSample, other: BudgetSample): BudgetSample {
  const tighter = ratioLeft(other) < ratioLeft(one) ? other : one;
  const [subjects, exhausted] = [one.subjects + other.subjects, one.exhausted + other.exhausted];
  return { ...tighter, subjects, exhausted };
}
