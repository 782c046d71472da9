import { type Window, windowAt } from '../core/accounting/window.ts';
import type { Budget, BudgetScope } from '../core/budget.ts';
import { type BudgetUse, HOLDER_KINDS, type HolderKind, type KeyBudget, type KeyBudgets } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import { type BudgetHolder, type HolderBudgets, type KeyLines, NO_LINES } from '../core/holder.ts';
import type { LedgerBooks } from '../store/books.ts';
import { forecastOf } from './forecast.ts';

/** The word that begins the definitions of the budgets of a level. Those of the policy begin with a condition. */
const WORDS: Readonly<Record<HolderKind, string>> = {
  organization: 'organization',
  team: 'teams',
  user: 'users',
  key: 'keys',
};
const BEGINNINGS = HOLDER_KINDS.map((kind) => [kind, `["${WORDS[kind]}",`] as const);

/** The level whose budget a definition is; null for one of the policy. */
export const levelOf = (definition: string): HolderKind | null =>
  BEGINNINGS.find(([, beginning]) => definition.startsWith(beginning))?.[0] ?? null;

/** Holders state no place in a file. */
const NO_PLACE = { file: '', line: 0, column: 0 };

/** The budgets of holders of one kind with the same kind of window; of keys, of those with as many ancestors. */
interface Alike {
  readonly kind: HolderKind;
  readonly depth: number;
  readonly from: KeyBudget;
  readonly limits: Map<string, Microcredits>;
}

/**
 * Turns the budgets of holders into budgets of the ledger. Holders of a level with the same kind of window share one budget, with a
 * limit for each, so that thousands of users cost a request no more than one. If a holder states the same window twice, the lower
 * limit counts.
 *
 * A request draws on one fund of each budget. So the keys of a line have budgets apart, by the number of their ancestors: a key
 * draws on its own, and on that of each key above it.
 */
export function holderBudgets(holders: Iterable<HolderBudgets>, lines: KeyLines = NO_LINES): Budget[] {
  const alike = new Map<string, Alike>();
  for (const { kind, id, budgets } of holders) {
    if (budgets.length === 0) continue;
    const depth = kind === 'key' ? lines.lineOf(id).length : 0;
    for (const from of budgets) {
      const { limits } = alike.getOrInsertComputed(`${depth} ${nameOf(kind, from)}`, () => {
        return { kind, depth, from, limits: new Map() };
      });
      limits.set(id, Math.min(from.limit, limits.get(id) ?? Number.POSITIVE_INFINITY));
    }
  }
  return [...alike.values()].map((one) => budgetOf(one, lines));
}

/** Keys as holders of budgets. */
export const holdersOf = (keys: readonly KeyBudgets[]): HolderBudgets[] =>
  keys.map(({ keyId: id, budgets }) => ({ kind: 'key', id, budgets }));

function budgetOf({ kind, depth, from, limits }: Alike, lines: KeyLines): Budget {
  const { window, timeZone, onExhausted } = from;
  const holderIn = holderFinder(kind, depth, lines);
  // Without the holders: servers that know of different ones have the same budget.
  const definition = [WORDS[kind], window, timeZone, ...(depth === 0 ? [] : [depth])];
  return {
    name: nameOf(kind, from),
    place: NO_PLACE,
    match: (scope) => limits.has(holderIn(scope) ?? NOBODY),
    each: (scope) => holderIn(scope) ?? NOBODY,
    window,
    timeZone,
    definition: JSON.stringify(definition),
    limit: 0,
    limits,
    entriesOf: entriesFinder(kind, lines),
    onExhausted,
    alertAt: [],
  };
}

/** The ID of no holder. */
const NOBODY = ' ';

/** Finds the holder of a level that a request belongs to; null for none. */
function holderFinder(kind: HolderKind, depth: number, { lineOf }: KeyLines): (scope: BudgetScope) => string | null {
  if (kind === 'organization') return () => '';
  if (kind === 'team') return ({ team }) => team.id || null;
  if (kind === 'user') return ({ user }) => user.id || null;
  return ({ key: { id, line = lineOf(id) } }) => (depth === line.length ? id : line[line.length - 1 - depth]) ?? null;
}

/** Finds where the entries are that a holder's budget counts. */
function entriesFinder(kind: HolderKind, { descendantsOf }: KeyLines): NonNullable<Budget['entriesOf']> {
  if (kind === 'organization') return async () => [{}];
  if (kind === 'team') return async (team) => [{ team }];
  if (kind === 'user') return async (user) => [{ user }];
  return async (key, limit) => [key, ...(await descendantsOf(key, limit))].map((keyId) => ({ keyId }));
}

/** The name of a shared budget, such as `team-month`. It states the zone unless UTC, and the action unless `reject`. */
function nameOf(kind: HolderKind, { window, timeZone, onExhausted }: KeyBudget): string {
  const zone = timeZone === 'UTC' ? '' : `@${timeZone}`;
  return `${kind}-${window}${zone}${onExhausted === 'reject' ? '' : `:${onExhausted}`}`;
}

/**
 * Returns how much of each budget of a holder is spent in the windows of `now`, and how much is expected by their ends.
 *
 * @param spentIn microcredits that were charged in a window
 * @param now milliseconds since 1970
 */
export function holderBudgetUses(
  spentIn: (window: Window, budget: KeyBudget) => Promise<Microcredits>,
  budgets: readonly KeyBudget[],
  now: number,
): Promise<BudgetUse[]> {
  return Promise.all(
    budgets.map(async (budget) => {
      const window = windowAt(budget.window, budget.timeZone, now);
      const spent = await spentIn(window, budget);
      return { budget, spent, forecast: forecastOf(spent, window, now), renewsAt: window.ends };
    }),
  );
}

/** The charges of a budget that is not in force, as that of a revoked key, which counts the key alone, or one that is new. */
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
