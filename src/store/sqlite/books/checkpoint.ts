import type { BalanceRow, OpenReservation, SpendRow } from '../../journal-reader.ts';
import { type SqlWrite, sql, write } from '../../sql/statement.ts';
import type { SqlStore } from '../statement.ts';
import type { Deposits } from './deposits.ts';
import type { BookedFund, FundStates } from './fund-states.ts';
import type { Journal } from './journal.ts';
import type { BookedReservation, Reservations } from './reservations.ts';
import type { StateRow } from './tables.ts';

const ADD_SPEND = sql(`INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET charges = charges + excluded.charges, microcredits = microcredits + excluded.microcredits,
      input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens`);
const PUT_BALANCE = sql(`INSERT INTO balances (key_id, granted, spent) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`);
/** Rows that were being written count if they have arrived: they were given to the disk before this. */
const PUT_COMING_BALANCE = sql(`INSERT INTO balances (key_id, granted, spent)
    VALUES (?1, ?2 + (SELECT coalesce(sum(amount), 0) FROM journal WHERE seq IN (SELECT value FROM json_each(?4))), ?3)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`);
const PUT_CHECKPOINT = sql('UPDATE checkpoint SET through = ?, open = ?, charged = charged + ?');

const addSpend = ({ quarter, account, tariff, charges, microcredits, input, output }: SpendRow): SqlWrite =>
  write(ADD_SPEND, quarter, account, tariff, charges, microcredits, input, output);

const putBalance = ({ keyId, granted, spent }: BalanceRow): SqlWrite => write(PUT_BALANCE, keyId, granted, spent);

/** A balance with rows of the journal that are being written, which add to its grants. */
const putComingBalance = ({ keyId, granted, spent }: BalanceRow, rows: readonly number[]): SqlWrite =>
  write(PUT_COMING_BALANCE, keyId, granted, spent, JSON.stringify(rows));

/** The parts of the books that decide and write. */
export interface BooksParts {
  readonly store: SqlStore;
  readonly journal: Journal;
  readonly funds: FundStates;
  readonly reservations: Reservations;
  readonly deposits: Deposits;
}

/**
 * Brings the sums in the store up to the journal, with what is open there, so that a start reads only what came after.
 * State: checkpoint.
 */
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
    const charged = sums.reduce((total, { microcredits }) => total + microcredits, 0);
    const { unwrittenRows } = this.#parts.deposits;
    const known = this.#parts.funds.balances.map(balanceRow);
    const balances = known.filter((row) => this.#written.get(row.keyId) !== balanceText(row));
    const late = [...unwrittenRows].map(([holder, rows]) =>
      putComingBalance(known.find(({ keyId }) => keyId === holder) ?? { keyId: holder, granted: 0, spent: 0 }, rows),
    );
    try {
      await store.commit([
        ...sums.map(addSpend),
        ...balances.map(putBalance),
        ...late,
        write(PUT_CHECKPOINT, through, open, charged),
      ]);
    } catch (cause) {
      journal.sums.putBack();
      throw cause;
    }
    journal.sums.written();
    this.#through = through;
    this.#open = open;
    for (const row of balances) this.#written.set(row.keyId, balanceText(row));
    // Only the disk knows which of these are written.
    for (const holder of unwrittenRows.keys()) this.#written.delete(holder);
  }
}

const openRow = ({ id, account, charged, held, fundIds, owner, expires }: BookedReservation): OpenReservation => ({
  reservation: id,
  account: account.id,
  keyId: account.dimensions.key ?? '',
  // A raise that is being written has its row already.
  amount: charged + held,
  charged,
  funds: fundIds,
  owner,
  expires,
});

const balanceRow = ({ title, limit, spent }: BookedFund): BalanceRow => ({ keyId: title.name, granted: limit, spent });
const balanceText = ({ granted, spent }: BalanceRow): string => `${granted} ${spent}`;
