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

/** The sums spent from a quarter of an hour on, by account: those before another quarter, and the others. */
const SELECT_SPEND_BY_ACCOUNT =
  sql(`SELECT a.key_id AS keyId, a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user",
      max(s.quarter) AS quarter, sum(s.microcredits) AS microcredits
    FROM spend AS s JOIN accounts AS a ON a.id = s.account WHERE s.quarter >= ?1 GROUP BY s.account, s.quarter < ?2`);

type SpendByAccount = Omit<AccountRow, 'payer'> & Pick<UncountedCharges['charges'][number], 'quarter' | 'microcredits'>;

/** A charge behind the sums that a budget was counted from. */
interface LateCharge {
  /** The place of its row in the journal. */
  readonly at: Cursor;
  readonly account: Spender;
  readonly quarter: number;
  readonly microcredits: Microcredits;
}

const NONE: UncountedCharges['charges'] = [];

/**
 * How far budgets are counted, by their generation. In memory, as their funds are: a start counts anew. A budget reads the sums of
 * its window once; charges since then are listed until it is in force. From then on every hold of this one process draws on it,
 * because holds of an earlier run end before a budget is counted: then nothing is left to count. State: budget counts.
 */
export class BudgetCounts {
  readonly #store: SqlStore;
  readonly #journal: Journal;
  readonly #checkpoints: Pick<Checkpoints, 'write' | 'settled'>;
  /** The places up to which budgets are counted. */
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

  /** @returns whether the budget was counted up to the place where the operation begins */
  count({ budget, from, to }: CountOp): boolean {
    if ((this.#counted.get(budget) ?? null) !== from) return false;
    this.#counted.set(budget, to);
    return true;
  }

  /** Gives up the counts of all other budgets. */
  enforce({ budgets }: EnforceOp): void {
    this.#inForce = new Set(budgets.map(({ budget }) => budget));
    for (const budget of this.#counted.keys()) if (!this.#inForce.has(budget)) this.#counted.delete(budget);
    this.#journal.sums.onAdd = null;
    this.#late = [];
  }

  /** All of a window: what is written in one query, and what memory has in the same turn. */
  async #all({ starts, ends }: Window): Promise<UncountedCharges> {
    this.#journal.sums.onAdd = (account, charge) => this.#note(account, charge);
    // Memory knows the accounts of charges only from here on.
    await this.#checkpoints.write();
    const [first, end] = [quarterOf(starts), quarterOf(Math.min(ends, Number.MAX_SAFE_INTEGER))];
    for (;;) {
      await this.#checkpoints.settled();
      const { takes } = this.#journal.sums;
      const rows = await this.#store.query<SpendByAccount>(SELECT_SPEND_BY_ACCOUNT, [first, end]);
      // Where sums were handed over meanwhile, the rows may or may not have them.
      if (takes !== this.#journal.sums.takes) continue;
      const written = rows.map(({ quarter, microcredits, ...row }) => {
        return { dimensions: dimensionsOf(row), quarter, microcredits };
      });
      const fresh = [...this.#journal.sums].filter(({ quarter }) => quarter >= first);
      return { from: null, to: this.#journal.seq, charges: [...written, ...fresh] };
    }
  }

  #note(account: Spender, { reservation, microcredits }: Charge): void {
    // Its row is the next.
    const at = this.#journal.seq + 1;
    this.#late.push({ at, account, quarter: quarterOf(timeOfId(reservation)), microcredits });
  }
}
