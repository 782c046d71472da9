import { checkDeposit, type Deposit } from '../../../core/accounting/entry.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { checkedHolder } from '../../../core/money/holder-address.ts';
import type { Write } from '../../store.ts';
import type { Journal } from './journal.ts';

/** A deposit that is being written to the disk. */
export interface PendingDeposit {
  readonly holder: string;
  /** Microcredits that the deposit adds to the balance. */
  readonly adds: Microcredits;
  readonly writes: readonly Write[];
  /** The numbers of the deposit's rows. */
  readonly rows: readonly number[];
}

/**
 * Deposits that are being written. Money counts only once it is on the disk: no request may spend money that the journal could still lose.
 * State: deposits.
 */
export class Deposits {
  readonly #journal: Journal;
  readonly #pending = new Set<PendingDeposit>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Numbers the rows of a deposit. The caller must hand these rows to the disk at once, and then call `ended`. */
  begin(holder: string, deposit: Deposit, at: number): PendingDeposit {
    checkDeposit(deposit);
    const { paid, fee, note } = deposit;
    const account = this.#journal.accounts.numberOfHolder(checkedHolder(holder));
    const rows: number[] = [];
    const writes: Write[] = [];
    const book = (kind: 'deposit' | 'fee', amount: Microcredits) => {
      if (amount === 0) return;
      writes.push(this.#journal.paid(kind, account, amount, at, note));
      rows.push(this.#journal.seq);
    };
    book('deposit', paid);
    book('fee', -fee);
    const pending = { holder, adds: paid - fee, writes, rows };
    this.#pending.add(pending);
    return pending;
  }

  /** Ends a deposit that is on the disk or that could not be written. */
  ended(pending: PendingDeposit): void {
    this.#pending.delete(pending);
  }

  /** Returns the row that refunds a fee; null for a fee of 0. */
  waive(holder: string, fee: Microcredits, note: string, at: number): Write | null {
    if (!(fee >= 0)) throw new RangeError(`cannot give back a fee of ${fee}`);
    if (fee === 0) return null;
    return this.#journal.paid('fee', this.#journal.accounts.numberOfHolder(checkedHolder(holder)), fee, at, note);
  }

  /** The rows that are being written, by holder. A write that is still in progress may fail. */
  get unwrittenRows(): ReadonlyMap<string, readonly number[]> {
    const byHolder = new Map<string, number[]>();
    for (const { holder, rows } of this.#pending) byHolder.getOrInsert(holder, []).push(...rows);
    return byHolder;
  }
}
