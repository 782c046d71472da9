import { quarterOf, type Window } from '../../../core/accounting/window.ts';
import { timeOfId } from '../../../core/id.ts';
import type { EntryOwner } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { CountOp, EnforceOp, QuarterCharges, UncountedCharges } from '../../books.ts';
import type { Cursor } from '../../cursor.ts';
import { sql } from '../../sql/statement.ts';
import { ownersSearch } from '../../sql/usage.ts';
import type { SqlStore } from '../statement.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { BookedFund } from './fund-states.ts';
import type { Journal } from './journal.ts';
import type { Charge, Spender } from './sums.ts';

/** Selects the sums spent in a range of quarters of an hour, by account and quarter. */
const selectSpend = (
  tables: string,
  owned = '',
) => `SELECT a.key_id AS keyId, a.labels, a.selector, a.session, a.agent, a.team_id AS team,
      a.user_id AS "user", max(s.quarter) AS quarter, sum(s.microcredits) AS microcredits
    FROM ${tables} WHERE s.account = a.id AND s.quarter >= ?1${owned} GROUP BY s.account, s.quarter < ?2`;
const SELECT_SPEND = sql(selectSpend('spend AS s CROSS JOIN accounts AS a'));
/** Selects the same for some owners. The search begins with their accounts. */
const selectSpendOf = (column: string) =>
  sql(selectSpend('accounts AS a CROSS JOIN spend AS s', ` AND a.${column} IN (SELECT value FROM json_each(?3))`));

type SpendByAccount = Omit<AccountRow, 'payer'> & Pick<QuarterCharges[number], 'quarter' | 'microcredits'>;

/** A charge that was made after the sums from which a budget was counted. */
interface LateCharge {
  /** The position of the charge's row in the journal. */
  readonly at: Cursor;
  readonly account: Spender;
  readonly quarter: number;
  readonly microcredits: Microcredits;
  /** The funds that the charge drew on. */
  readonly funds: readonly BookedFund[];
}

const NONE: QuarterCharges = [];

/**
 * The positions up to which budgets are counted, by generation. These positions are kept in memory, like the funds of budgets, so every
 * start counts budgets again. The sums of a budget's window are read once, and a subject's sums when the budget begins to limit it. Later
 * charges are listed until the budget is active. Once the budget is active, no charge is left to count: every hold of this process, which
 * is the only process, draws on the budget, and holds of an earlier run have already ended. State: budget counts.
 */
export class BudgetCounts {
  readonly #store: SqlStore;
  readonly #journal: Journal;
  readonly #checkpoints: Pick<Checkpoints, 'write' | 'settled'>;
  /** The journal positions up to which budgets are counted. */
  readonly #counted = new Map<number, Cursor>();
  #late: LateCharge[] = [];

  constructor(store: SqlStore, journal: Journal, checkpoints: Pick<Checkpoints, 'write' | 'settled'>) {
    this.#store = store;
    this.#journal = journal;
    this.#checkpoints = checkpoints;
  }

  uncounted(
    budget: number,
    window: Window,
    owners: readonly EntryOwner[] = [],
  ): UncountedCharges | Promise<UncountedCharges> {
    if (this.#counted.has(budget) && owners.length === 0) return this.#since(budget, NONE);
    return this.#all(budget, window, owners);
  }

  /** @returns whether the budget was counted up to exactly the position where the operation begins */
  count({ budget, from, to }: CountOp): boolean {
    if (this.#counted.get(budget) !== from?.through) return false;
    this.#counted.set(budget, to);
    return true;
  }

  /** Removes from memory the counts of all budgets that are not given. */
  enforce({ budgets }: EnforceOp): void {
    const active = new Set(budgets.map(({ budget }) => budget));
    for (const budget of this.#counted.keys()) if (!active.has(budget)) this.#counted.delete(budget);
    this.#journal.sums.onAdd = null;
    this.#late = [];
  }

  /** Returns the charges since a count that did not draw on the budget. */
  #since(budget: number, ofOwners: QuarterCharges): UncountedCharges {
    const through = this.#counted.get(budget)!;
    const charges = this.#late
      .filter(({ at, funds }) => at > through && !funds.some((fund) => fund.budget === budget))
      .map(({ account, ...charge }) => ({ ...charge, dimensions: account.dimensions }));
    return { from: { through, subjects: 0 }, to: this.#journal.seq, charges, ofOwners };
  }

  /**
   * Reads all charges of a window, or the charges of some owners: the written charges with one query, and the charges in memory in the same turn
   * of the event loop.
   */
  async #all(budget: number, { starts, ends }: Window, owners: readonly EntryOwner[]): Promise<UncountedCharges> {
    this.#journal.sums.onAdd = (account, charge, funds) => this.#note(account, charge, funds);
    // Sums in memory are written first, because accounts of charges are in memory only from this moment on.
    await this.#checkpoints.write();
    const [first, end] = [quarterOf(starts), quarterOf(Math.min(ends, Number.MAX_SAFE_INTEGER))];
    const { column, ids, selects } = ownersSearch(this.#counted.has(budget) ? owners : []);
    for (;;) {
      await this.#checkpoints.settled();
      const { takes } = this.#journal.sums;
      const rows = await (column === null
        ? this.#store.query<SpendByAccount>(SELECT_SPEND, [first, end])
        : this.#store.query<SpendByAccount>(selectSpendOf(column), [first, end, JSON.stringify(ids)]));
      // If sums were handed over during the query, the rows of the query may or may not contain these sums, so the code reads again.
      if (takes !== this.#journal.sums.takes) continue;
      const written = rows.map(({ quarter, microcredits, ...row }) => {
        return { dimensions: dimensionsOf(row), quarter, microcredits };
      });
      const fresh = [...this.#journal.sums].filter((sum) => sum.quarter >= first && selects(sum.dimensions));
      const charges = [...written, ...fresh];
      if (this.#counted.has(budget)) return this.#since(budget, charges);
      return { from: null, to: this.#journal.seq, charges, ofOwners: NONE };
    }
  }

  #note(account: Spender, { reservation, microcredits }: Charge, funds: readonly BookedFund[]): void {
    // The row of the charge is the next row of the journal.
    const at = this.#journal.seq + 1;
    this.#late.push({ at, account, quarter: quarterOf(timeOfId(reservation)), microcredits, funds });
  }
}
