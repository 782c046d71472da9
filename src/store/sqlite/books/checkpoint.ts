import type { BalanceRow, OpenReservation } from '../../journal-reader.ts';
import type { SqlStore } from '../statement.ts';
import type { Deposits } from './deposits.ts';
import type { BookedFund, FundStates } from './fund-states.ts';
import type { Journal } from './journal.ts';
import type { BookedReservation, Reservations } from './reservations.ts';
import { addSpend, putBalance, putCheckpoint, putComingBalance, type StateRow } from './tables.ts';

/** The parts of the books that decide and write. */
export interface BooksParts {
  readonly store: SqlStore;
  readonly journal: Journal;
  readonly funds: FundStates;
  readonly reservations: Reservations;
  readonly deposits: Deposits;
}

/** Brings the sums in the store up to the journal, with what is open there, so that a start reads only what came after. */
export class Checkpoints {
  readonly #parts: BooksParts;
  /** Balances as the last checkpoint has them. */
  readonly #written = new Map<string, string>();
  /** The row up to which the sums are written, and what was open there. */
  #through: number;
  #open: string;
  #writing: Promise<void> | null = null;

  constructor(parts: BooksParts, last: Pick<StateRow, 'through' | 'open'>) {
    this.#parts = parts;
    this.#through = last.through;
    this.#open = last.open;
  }

  /** One at a time: a later one must not be written where an earlier one was not. Rejects with StoreError. */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Resolves while nothing is being written. Never rejects. */
  async settled(): Promise<void> {
    while (this.#writing !== null) await this.#writing.catch(() => {});
  }

  async #write(): Promise<void> {
    const { store, journal, reservations } = this.#parts;
    const through = journal.seq;
    const open = JSON.stringify(reservations.open().map(openRow));
    // The disk may have refused the latest writes since.
    if (through === this.#through && open === this.#open) return;
    const sums = journal.sums.take();
    const { unwrittenRows } = this.#parts.deposits;
    const known = this.#parts.funds.balances.map(balanceRow);
    const balances = known.filter((row) => this.#written.get(row.keyId) !== balanceText(row));
    const late = [...unwrittenRows].map(([wallet, rows]) =>
      putComingBalance(known.find(({ keyId }) => keyId === wallet) ?? { keyId: wallet, granted: 0, spent: 0 }, rows),
    );
    try {
      await store.commit([...sums.map(addSpend), ...balances.map(putBalance), ...late, putCheckpoint(through, open)]);
    } catch (cause) {
      journal.sums.putBack();
      throw cause;
    }
    journal.sums.written();
    this.#through = through;
    this.#open = open;
    for (const row of balances) this.#written.set(row.keyId, balanceText(row));
    // Only the disk knows which of these are written.
    for (const wallet of unwrittenRows.keys()) this.#written.delete(wallet);
  }
}

const openRow = ({ id, account, charged, held, fundIds }: BookedReservation): OpenReservation => ({
  reservation: id,
  account: account.id,
  keyId: account.dimensions.key ?? '',
  // A raise that is being written has its row already.
  amount: charged + held,
  charged,
  funds: fundIds,
});

const balanceRow = ({ title, limit, spent }: BookedFund): BalanceRow => ({ keyId: title.name, granted: limit, spent });
const balanceText = ({ granted, spent }: BalanceRow): string => `${granted} ${spent}`;
