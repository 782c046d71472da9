import { quarterOf, type Window } from '../../../core/accounting/window.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { timeOfId } from '../../../core/id.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { CountOp, EnforceOp, UncountedCharges } from '../../books.ts';
import type { Cursor } from '../../cursor.ts';
import { sql } from '../../sql/statement.ts';
import type { SqlStore } from '../statement.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';
import type { Charge, Spender } from './sums.ts';

/** Selects the sums spent in a range of quarters of an hour, by account and quarter. */
const SELECT_SPEND_BY_ACCOUNT =
  sql(`SELECT a.key_id AS keyId, a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user",
      max(s.quarter) AS quarter, sum(s.microcredits) AS microcredits
    FROM spend AS s JOIN accounts AS a ON a.id = s.account WHERE s.quarter >= ?1 GROUP BY s.account, s.quarter < ?2`);

type SpendByAccount = Omit<AccountRow, 'payer'> & Pick<UncountedCharges['charges'][number], 'quarter' | 'microcredits'>;

/** A charge that was made after the sums from which a budget was counted. */
interface LateCharge {
  /** The position of the charge's row in the journal. */
  readonly at: Cursor;
  readonly account: Spender;
  readonly quarter: number;
  readonly microcredits: Microcredits;
}

const NONE: UncountedCharges['charges'] = [];

/**
 * The positions up to which budgets are counted, by generation. These positions are kept in memory, like the funds of budgets, so every
 * start counts budgets again. The sums of a budget's window are read once. Later charges are listed until the budget is active. Once the
 * budget is active, no charge is left to count: every hold of this process, which is the only process, draws on the budget, and holds of an
 * earlier run have already ended. State: budget counts.
 */
export class BudgetCounts {
  readonly #store: SqlStore;
  readonly #journal: Journal;
  readonly #checkpoints: Pick<Checkpoints, 'write' | 'settled'>;
  /** The journal positions up to which budgets are counted. */
  readonly #counted = new Map<number, Cursor>();
  #inForce: ReadonlySet<number> = new Set();
  #late: LateCharge[] = [];

  constructor(store: SqlStore, journal: Journal, checkpoints: Pick<Checkpoints, 'write' | 'settled'>) {
    this.#store = store;
    this.#journal = journal;
    this.#checkpoints = checkpoints;
  }

  uncounted(budget: number, window: Window): UncountedCharges | Promise<UncountedCharges> {
    const from = this.#counted.get(budget);
    if (from === undefined) return this.#all(window);
    const to = this.#journal.seq;
    if (this.#inForce.has(budget)) return { from, to, charges: NONE };
    const late = this.#late.filter(({ at }) => at > from);
    return { from, to, charges: late.map((one) => ({ ...one, dimensions: one.account.dimensions })) };
  }

  /** @returns whether the budget was counted up to exactly the position where the operation begins */
  count({ budget, from, to }: CountOp): boolean {
    if ((this.#counted.get(budget) ?? null) !== from) return false;
    this.#counted.set(budget, to);
    return true;
  }

  /** Removes from memory the counts of all budgets that are not given. */
  enforce({ budgets }: EnforceOp): void {
    this.#inForce = new Set(budgets.map(({ budget }) => budget));
    for (const budget of this.#counted.keys()) if (!this.#inForce.has(budget)) this.#counted.delete(budget);
    this.#journal.sums.onAdd = null;
    this.#late = [];
  }

  /** Reads all charges of a window: the written charges with one query, and the charges in memory in the same turn of the event loop. */
  async #all({ starts, ends }: Window): Promise<UncountedCharges> {
    this.#journal.sums.onAdd = (account, charge) => this.#note(account, charge);
    // Sums in memory are written first, because accounts of charges are in memory only from this moment on.
    await this.#checkpoints.write();
    const [first, end] = [quarterOf(starts), quarterOf(Math.min(ends, Number.MAX_SAFE_INTEGER))];
    for (;;) {
      await this.#checkpoints.settled();
      const { takes } = this.#journal.sums;
      const rows = await this.#store.query<SpendByAccount>(SELECT_SPEND_BY_ACCOUNT, [first, end]);
      // If sums were handed over during the query, the rows of the query may or may not contain these sums, so the code reads again.
      if (takes !== this.#journal.sums.takes) continue;
      const written = rows.map(({ quarter, microcredits, ...row }) => {
        return { dimensions: dimensionsOf(row), quarter, microcredits };
      });
      const fresh = [...this.#journal.sums].filter(({ quarter }) => quarter >= first);
      return { from: null, to: this.#journal.seq, charges: [...written, ...fresh] };
    }
  }

  #note(account: Spender, { reservation, microcredits }: Charge): void {
    // The row of the charge is the next row of the journal.
    const at = this.#journal.seq + 1;
    this.#late.push({ at, account, quarter: quarterOf(timeOfId(reservation)), microcredits });
  }
}
