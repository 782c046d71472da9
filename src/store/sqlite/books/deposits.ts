import { checkDeposit, type Deposit } from '../../../core/accounting/entry.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { checkedHolder } from '../../../core/holder-address.ts';
import type { Write } from '../../store.ts';
import type { Journal } from './journal.ts';

/** A deposit on its way to the disk. */
export interface PendingDeposit {
  readonly holder: string;
  /** Microcredits that it adds to the balance. */
  readonly adds: Microcredits;
  readonly writes: readonly Write[];
  /** Numbers of its rows. */
  readonly rows: readonly number[];
}

/**
 * Deposits that are being written. Money counts once it is on the disk and not before: no request may spend what the
 * journal could still lose. State: deposits.
 */
export class Deposits {
  readonly #journal: Journal;
  readonly #pending = new Set<PendingDeposit>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Numbers the rows of a deposit. Hand them to the disk at once; `ended` must follow. */
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

  /** Ends a deposit, which is on the disk or could not be written. */
  ended(pending: PendingDeposit): void {
    this.#pending.delete(pending);
  }

  /** The row that gives back a fee; null for none. */
  waive(holder: string, fee: Microcredits, note: string, at: number): Write | null {
    if (!(fee >= 0)) throw new RangeError(`cannot give back a fee of ${fee}`);
    if (fee === 0) return null;
    return this.#journal.paid('fee', this.#journal.accounts.numberOfHolder(checkedHolder(holder)), fee, at, note);
  }

  /** Rows that are being written, by holder. They may still fail. */
  get unwrittenRows(): ReadonlyMap<string, readonly number[]> {
    const byHolder = new Map<string, number[]>();
    for (const { holder, rows } of this.#pending) byHolder.getOrInsert(holder, []).push(...rows);
    return byHolder;
  }
}
