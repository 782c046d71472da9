import { quarterOf, type Window } from '../../../accounting/window.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { timeOfId } from '../../../core/id.ts';
import type { CountOp, EnforceOp, UncountedCharges } from '../../books.ts';
import type { Cursor } from '../../cursor.ts';
import { type SqlStore, sql } from '../statement.ts';
import { dimensionsOf } from './accounts.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';
import type { Charge, Spender } from './sums.ts';
import type { AccountRow } from './tables.ts';

/** The sums spent from a quarter of an hour on, by account: those before another quarter, and the others. */
const SELECT_SPEND_BY_ACCOUNT =
  sql(`SELECT a.key_id AS keyId, a.labels, a.selector, a.session, a.agent, max(s.quarter) AS quarter,
      sum(s.microcredits) AS microcredits
    FROM spend AS s JOIN accounts AS a ON a.id = s.account WHERE s.quarter >= ?1 GROUP BY s.account, s.quarter < ?2`);
const SELECT_ACCOUNTS = sql(`SELECT id, key_id AS keyId, labels, selector, session, agent FROM accounts
    WHERE id IN (SELECT value FROM json_each(?))`);

type SpendByAccount = Omit<AccountRow, 'id' | 'payer'> &
  Pick<UncountedCharges['charges'][number], 'quarter' | 'microcredits'>;

/** A charge that some budget may have to count. */
interface LateCharge {
  /** The place of its row in the journal. */
  readonly at: Cursor;
  readonly account: Spender;
  readonly quarter: number;
  readonly microcredits: Microcredits;
}

interface BudgetCount {
  /** Null while nothing is counted. */
  counted: Cursor | null;
  /** Holds draw on it: only charges of holds that an earlier run left open have yet to be counted. */
  isInForce: boolean;
}

const NONE: UncountedCharges['charges'] = [];

/**
 * How far budgets are counted, by their generation. In memory, as their funds are: a start counts anew. A budget reads the sums of
 * its window once; charges since then are listed until it is in force. State: budget counts.
 */
export class BudgetCounts {
  readonly #store: SqlStore;
  readonly #journal: Journal;
  readonly #checkpoints: Pick<Checkpoints, 'write' | 'settled'>;
  readonly #counts = new Map<number, BudgetCount>();
  #late: LateCharge[] = [];
  /** Whether a budget is being counted that is not in force. */
  #isCounting = false;

  constructor(store: SqlStore, journal: Journal, checkpoints: Pick<Checkpoints, 'write' | 'settled'>) {
    this.#store = store;
    this.#journal = journal;
    this.#checkpoints = checkpoints;
    journal.sums.onAdd = (account, charge) => this.#note(account, charge);
  }

  uncounted(budget: number, window: Window): UncountedCharges | Promise<UncountedCharges> {
    const { counted: from, isInForce } = this.#counts.getOrInsertComputed(budget, notCounted);
    if (from === null) return this.#all(window);
    const to = this.#journal.seq;
    if (this.#late.length === 0) return { from, to, charges: NONE };
    const late = this.#late.filter(({ at, account }) => at > from && (!isInForce || account.isOrphan));
    // Of the accounts of holds that an earlier run left open, only the numbers are known.
    if (late.some(({ account }) => account.isOrphan)) return this.#looked(from, to, late);
    return { from, to, charges: late.map((one) => ({ ...one, dimensions: one.account.dimensions })) };
  }

  /** @returns whether the budget was counted up to the place where the operation begins */
  count({ budget, from, to }: CountOp): boolean {
    const known = this.#counts.getOrInsertComputed(budget, notCounted);
    if (known.counted !== from) return false;
    known.counted = to;
    this.#forget();
    return true;
  }

  /** Gives up the counts of all other budgets. */
  enforce({ budgets }: EnforceOp): void {
    const inForce = new Set(budgets.map(({ budget }) => budget));
    for (const budget of this.#counts.keys()) if (!inForce.has(budget)) this.#counts.delete(budget);
    for (const budget of inForce) this.#counts.getOrInsertComputed(budget, notCounted).isInForce = true;
    this.#isCounting = false;
    this.#forget();
  }

  /** All of a window: what is written in one query, and what memory has in the same turn. */
  async #all({ starts, ends }: Window): Promise<UncountedCharges> {
    this.#isCounting = true;
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

  async #looked(from: Cursor, to: Cursor, late: readonly LateCharge[]): Promise<UncountedCharges> {
    const ids = JSON.stringify(late.map(({ account }) => account.id));
    const rows = await this.#store.query<Omit<AccountRow, 'payer'>>(SELECT_ACCOUNTS, [ids]);
    const known = new Map(rows.map(({ id, ...row }) => [id, dimensionsOf(row)]));
    const charges = late.map((one) => ({ ...one, dimensions: known.get(one.account.id) ?? one.account.dimensions }));
    return { from, to, charges };
  }

  #note(account: Spender, { reservation, microcredits }: Charge): void {
    if (!this.#isCounting && !account.isOrphan) return;
    // Its row is the next.
    const at = this.#journal.seq + 1;
    this.#late.push({ at, account, quarter: quarterOf(timeOfId(reservation)), microcredits });
  }

  /** Drops what no budget has yet to count. */
  #forget(): void {
    if (this.#late.length === 0) return;
    const counts = [...this.#counts.values()];
    this.#late = this.#late.filter(({ at, account }) =>
      counts.some(({ counted, isInForce }) => at > (counted ?? 0) && (account.isOrphan || !isInForce)),
    );
  }
}

const notCounted = (): BudgetCount => ({ counted: null, isInForce: false });
