import type { OpenReservation } from '../store/sqlite/books/recover.ts';
import {
  addSpend,
  type BalanceRow,
  putBalance,
  putCheckpoint,
  putComingBalance,
  type StateRow,
} from '../store/sqlite/books/tables.ts';
import type { Store } from '../store/store.ts';
import type { Deposits } from './deposits.ts';
import type { Desk } from './desk.ts';
import type { Funds } from './funds.ts';
import type { ReservationHold } from './hold.ts';
import type { OpenHolds } from './open-holds.ts';
import type { Fund } from './rules/fund.ts';

export interface CheckpointParts {
  readonly store: Store;
  readonly desk: Desk;
  readonly funds: Funds;
  readonly holds: OpenHolds;
  readonly deposits: Pick<Deposits, 'coming'>;
}

/** Brings the sums in the store up to the journal, with what is open there, so that a start reads only what came after. */
export class Checkpoints {
  readonly #store: Store;
  readonly #desk: Desk;
  readonly #funds: Funds;
  readonly #holds: OpenHolds;
  readonly #deposits: Pick<Deposits, 'coming'>;
  /** Balances as the last checkpoint has them. */
  readonly #written = new Map<string, string>();
  /** The row up to which the sums are written, and what was open there. */
  #through: number;
  #open: string;
  #writing: Promise<void> | null = null;

  constructor({ store, desk, funds, holds, deposits }: CheckpointParts, last: Pick<StateRow, 'through' | 'open'>) {
    this.#store = store;
    this.#desk = desk;
    this.#funds = funds;
    this.#holds = holds;
    this.#deposits = deposits;
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
    const through = this.#desk.seq;
    const open = JSON.stringify(this.#holds.all().map(openRow));
    // What was being written may have been refused since.
    if (through === this.#through && open === this.#open) return;
    const sums = this.#desk.sums.take();
    const { coming } = this.#deposits;
    const known = this.#funds.balances.map(balanceRow);
    const balances = known.filter((row) => !this.#isWritten(row));
    const late = [...coming].map(([wallet, rows]) =>
      putComingBalance(known.find(({ keyId }) => keyId === wallet) ?? { keyId: wallet, granted: 0, spent: 0 }, rows),
    );
    try {
      await this.#store.commit([
        ...sums.map(addSpend),
        ...balances.map(putBalance),
        ...late,
        putCheckpoint(through, open),
      ]);
    } catch (cause) {
      this.#desk.sums.putBack();
      throw cause;
    }
    this.#desk.sums.written();
    this.#through = through;
    this.#open = open;
    for (const row of balances) this.#written.set(row.keyId, balanceText(row));
    // What of these has been written, the disk alone knows.
    for (const wallet of coming.keys()) this.#written.delete(wallet);
  }

  #isWritten(row: BalanceRow): boolean {
    return this.#written.get(row.keyId) === balanceText(row);
  }
}

const openRow = ({ id, account, charged, held, fundIds }: ReservationHold): OpenReservation => ({
  reservation: id,
  account: account.id,
  keyId: account.keyId,
  // A raise that is being written has its row already.
  amount: charged + held,
  charged,
  funds: fundIds,
});

const balanceRow = ({ title, limit, spent }: Fund): BalanceRow => ({ keyId: title.name, granted: limit, spent });
const balanceText = ({ granted, spent }: BalanceRow): string => `${granted} ${spent}`;
