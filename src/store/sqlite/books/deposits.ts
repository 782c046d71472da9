import { checkDeposit, type Deposit } from '../../../accounting/entry.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { checkedWallet } from '../../../core/wallet.ts';
import type { Write } from '../../store.ts';
import type { Journal } from './journal.ts';

/** A deposit on its way to the disk. */
export interface PendingDeposit {
  readonly wallet: string;
  /** Microcredits that it adds to the balance. */
  readonly adds: Microcredits;
  readonly writes: readonly Write[];
  /** Numbers of its rows. */
  readonly rows: readonly number[];
}

/**
 * Deposits that are being written. Money counts once it is on the disk and not before: no request may spend what the
 * journal could still lose.
 */
export class Deposits {
  readonly #journal: Journal;
  readonly #pending = new Set<PendingDeposit>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Numbers the rows of a deposit. Hand them to the disk at once; `ended` must follow. */
  begin(wallet: string, deposit: Deposit, at: number): PendingDeposit {
    checkDeposit(deposit);
    const { paid, fee, note } = deposit;
    const account = this.#journal.accounts.numberOfHolder(checkedWallet(wallet));
    const rows: number[] = [];
    const writes: Write[] = [];
    const book = (kind: 'deposit' | 'fee', amount: Microcredits) => {
      if (amount === 0) return;
      writes.push(this.#journal.paid(kind, account, amount, at, note));
      rows.push(this.#journal.seq);
    };
    book('deposit', paid);
    book('fee', -fee);
    const pending = { wallet, adds: paid - fee, writes, rows };
    this.#pending.add(pending);
    return pending;
  }

  /** Ends a deposit, which is on the disk or could not be written. */
  ended(pending: PendingDeposit): void {
    this.#pending.delete(pending);
  }

  /** The row that gives back a fee; null for none. */
  waive(wallet: string, fee: Microcredits, note: string, at: number): Write | null {
    if (!(fee >= 0)) throw new RangeError(`cannot give back a fee of ${fee}`);
    if (fee === 0) return null;
    return this.#journal.paid('fee', this.#journal.accounts.numberOfHolder(checkedWallet(wallet)), fee, at, note);
  }

  /** Rows that are being written, by wallet. They may still fail. */
  get unwrittenRows(): ReadonlyMap<string, readonly number[]> {
    const byWallet = new Map<string, number[]>();
    for (const { wallet, rows } of this.#pending) byWallet.getOrInsert(wallet, []).push(...rows);
    return byWallet;
  }
}
