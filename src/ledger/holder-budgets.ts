import { type Window, windowOf } from '../core/accounting/window.ts';
import type { Budget, BudgetScope, ExhaustedAction } from '../core/money/budget.ts';
import { lengthText } from '../core/money/budget-words.ts';
import type { Microcredits } from '../core/money/credits.ts';
import {
  type BudgetUse,
  HOLDER_KINDS,
  type HolderKind,
  type KeyBudget,
  type KeyBudgets,
  openingOf,
} from '../core/people/caller.ts';
import { type BudgetHolder, type HolderBudgets, type KeyLines, NO_LINES } from '../core/people/holder.ts';
import { iso } from '../core/time/clock.ts';
import type { LedgerBooks } from '../store/books.ts';
import { forecastOf, recentWindow } from './forecast.ts';

/** The word with which the definition of a level's budgets begins. The definition of a policy's budget begins with a condition. */
const WORDS: Readonly<Record<HolderKind, string>> = {
  organization: 'organization',
  team: 'teams',
  user: 'users',
  key: 'keys',
};
const BEGINNINGS = HOLDER_KINDS.map((kind) => [kind, `["${WORDS[kind]}",`] as const);

/** @returns the level that owns the budget with this definition, or null for a budget of the policy */
export const levelOf = (definition: string): HolderKind | null =>
  BEGINNINGS.find(([, beginning]) => definition.startsWith(beginning))?.[0] ?? null;

/** Budgets of holders are not written in a file, so they have no location. */
const NO_PLACE = { file: '', line: 0, column: 0 };

/** Budgets of the same level and the same kind of window. Budgets of keys must also have the same number of parent keys. */
interface Alike {
  readonly kind: HolderKind;
  readonly depth: number;
  readonly from: KeyBudget;
  readonly limits: Map<string, Microcredits>;
}

/**
 * Turns the budgets of holders into budgets of the ledger. All holders of a level with the same kind of window share a single budget, with
 * a limit for each holder. The budgets of thousands of users therefore take a request no more time than the budget of a single user. If a
 * holder states two budgets with the same window, the lower limit counts.
 *
 * A request draws on one fund of each budget, but on the funds of all keys of its line. Keys with a different number of parent keys
 * therefore get different budgets.
 */
export function holderBudgets(holders: Iterable<HolderBudgets>, lines: KeyLines = NO_LINES): Budget[] {
  const alike = new Map<string, Alike>();
  for (const { kind, id, budgets } of holders) {
    if (budgets.length === 0) continue;
    const depth = kind === 'key' ? lines.lineOf(id).length : 0;
    for (const from of budgets) {
      const { limits } = alike.getOrInsertComputed(`${depth} ${holderBudgetName(kind, from)}`, () => {
        return { kind, depth, from, limits: new Map() };
      });
      limits.set(id, Math.min(from.limit, limits.get(id) ?? Number.POSITIVE_INFINITY));
    }
  }
  return [...alike.values()].map((one) => budgetOf(one, lines));
}

/** Lists keys as holders of budgets. */
export const holdersOf = (keys: readonly KeyBudgets[]): HolderBudgets[] =>
  keys.map(({ keyId: id, budgets }) => ({ kind: 'key', id, budgets }));

function budgetOf({ kind, depth, from, limits }: Alike, lines: KeyLines): Budget {
  const { window, every, timeZone, onExhausted } = from;
  const holderIn = holderFinder(kind, depth, lines);
  // The definition leaves out the holders, so that servers with different holders use the same budget.
  const definition = [WORDS[kind], windowName(from), timeZone, ...(depth === 0 ? [] : [depth])];
  return {
    name: holderBudgetName(kind, from),
    place: NO_PLACE,
    match: (scope) => limits.has(holderIn(scope) ?? NOBODY),
    each: (scope) => holderIn(scope) ?? NOBODY,
    window,
    ...(every && { every }),
    timeZone,
    definition: JSON.stringify(definition),
    limit: 0,
    limits,
    entriesOf: entriesFinder(kind, lines),
    onExhausted,
    alertAt: [],
  };
}

/** An ID that no holder has. */
const NOBODY = ' ';

/** Returns a function that finds the holder of a level for a request. It returns null if the request has no holder of this level. */
function holderFinder(kind: HolderKind, depth: number, { lineOf }: KeyLines): (scope: BudgetScope) => string | null {
  if (kind === 'organization') return () => '';
  if (kind === 'team') return ({ team }) => team.id || null;
  if (kind === 'user') return ({ user }) => user.id || null;
  return ({ key: { id, line = lineOf(id) } }) => (depth === line.length ? id : line[line.length - 1 - depth]) ?? null;
}

/** Returns a function that finds the owners of the entries that a holder's budget counts. */
function entriesFinder(kind: HolderKind, { descendantsOf }: KeyLines): NonNullable<Budget['entriesOf']> {
  if (kind === 'organization') return async () => [{}];
  if (kind === 'team') return async (team) => [{ team }];
  if (kind === 'user') return async (user) => [{ user }];
  return async (key, limit) => [key, ...(await descendantsOf(key, limit))].map((keyId) => ({ keyId }));
}

/**
 * The name of a shared budget, such as `team-month`. It contains the time zone unless the zone is UTC, and the action unless the action is
 * `reject`.
 */
export function holderBudgetName(kind: HolderKind, budget: KeyBudget): string {
  const { timeZone, onExhausted } = budget;
  const zone = timeZone === 'UTC' ? '' : `@${timeZone}`;
  return `${kind}-${windowName(budget)}${zone}${onExhausted === 'reject' ? '' : `:${onExhausted}`}`;
}

/**
 * Names the windows of a budget: `month`, or `every-30d-0112T0800` for windows of 30 days of which the first after 1970 begins on January 12.
 * Equal windows have equal names, whichever of them a key states.
 */
function windowName({ window, every }: Pick<KeyBudget, 'window' | 'every'>): string {
  if (!every) return window;
  const { seconds, from } = every;
  const lengthMs = seconds * 1_000;
  const first = ((from % lengthMs) + lengthMs) % lengthMs;
  return `every-${lengthText(seconds)}-${iso(first).slice(2, 16).replaceAll(/[-:]/g, '')}`;
}

const NAMED_ACTIONS: readonly ExhaustedAction[] = ['cap', 'downgrade'];

/** Returns what the budget of a holder with this name does when it is exhausted. */
export const actionOf = (name: string): ExhaustedAction =>
  NAMED_ACTIONS.find((action) => name.endsWith(`:${action}`)) ?? 'reject';

/**
 * Computes how much of each budget of a holder is spent in its current window, and how much will be spent by the end of the window.
 *
 * @param spentIn returns the microcredits that were charged in a window
 * @param now ms since 1970
 * @param recent returns the microcredits that were charged in the last 24 hours; null if they are not known
 */
export function holderBudgetUses(
  spentIn: (window: Window, budget: KeyBudget) => Promise<Microcredits>,
  budgets: readonly KeyBudget[],
  now: number,
  recent: (budget: KeyBudget, window: Window) => Promise<Microcredits | null> = (budget) =>
    spentIn(recentWindow(now), budget),
): Promise<BudgetUse[]> {
  return Promise.all(
    budgets.map(async (budget) => {
      const window = windowOf(budget, now);
      const [charged, lately] = await Promise.all([spentIn(window, budget), recent(budget, window)]);
      const spent = charged + openingOf(budget, now);
      return { budget, spent, forecast: forecastOf(spent, window, now, lately), renewsAt: window.ends };
    }),
  );
}

/**
 * Reads the charges of a budget that is not active, such as the budget of a revoked key or a new budget. For a key, the result has only the
 * charges of the key itself.
 */
export async function chargedTo(
  books: Pick<LedgerBooks, 'spentIn' | 'usage'>,
  { kind, id }: BudgetHolder,
  window: Window,
): Promise<Microcredits> {
  if (kind === 'key') return await books.spentIn(id, window);
  const to = Math.min(window.ends, Number.MAX_SAFE_INTEGER);
  const charges = await books.usage({ keyId: null, [kind]: id, from: window.starts, to });
  return charges.reduce((sum, { microcredits }) => sum + microcredits, 0);
}
