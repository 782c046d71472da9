import type { BalanceRow, OpenReservation, SpendRow } from '../../journal-reader.ts';
import { type SqlWrite, sql, write } from '../../sql/statement.ts';
import type { SqlStore } from '../statement.ts';
import type { Deposits } from './deposits.ts';
import type { BookedFund, FundStates } from './fund-states.ts';
import type { Journal } from './journal.ts';
import type { BookedReservation, Reservations } from './reservations.ts';
import type { StateRow } from './tables.ts';

const ADD_SPEND =
  sql(`INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens, stated, matched)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET charges = charges + excluded.charges, microcredits = microcredits + excluded.microcredits,
      input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
      stated = stated + excluded.stated, matched = matched + excluded.matched`);
const PUT_BALANCE = sql(`INSERT INTO balances (key_id, granted, spent) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`);
/**
 * Adds rows that were being written if these rows are now in the journal. Rows that were being written were handed to the disk before this
 * statement.
 */
const PUT_COMING_BALANCE = sql(`INSERT INTO balances (key_id, granted, spent)
    VALUES (?1, ?2 + (SELECT coalesce(sum(amount), 0) FROM journal WHERE seq IN (SELECT value FROM json_each(?4))), ?3)
    ON CONFLICT DO UPDATE SET granted = excluded.granted, spent = excluded.spent`);
const PUT_CHECKPOINT = sql('UPDATE checkpoint SET through = ?, open = ?, charged = charged + ?');

const addSpend = ({
  quarter,
  account,
  tariff,
  charges,
  microcredits,
  input,
  output,
  stated,
  matched,
}: SpendRow): SqlWrite =>
  write(ADD_SPEND, quarter, account, tariff, charges, microcredits, input, output, stated, matched);

const putBalance = ({ keyId, granted, spent }: BalanceRow): SqlWrite => write(PUT_BALANCE, keyId, granted, spent);

/** Writes a balance together with journal rows that are still being written and add to its grants. */
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
 * Writes checkpoints: the sums up to the latest journal row, and the reservations that are open at that row. A starting server then reads
 * only later rows. State: checkpoint.
 */
export class Checkpoints {
  readonly #parts: BooksParts;
  /** The balances that the last checkpoint wrote. */
  readonly #written = new Map<string, string>();
  /** The journal row up to which the sums are written, and the reservations that were open at that row. */
  #through: number;
  #open: string;
  #writing: Promise<void> | null = null;

  constructor(parts: BooksParts, last: Pick<StateRow, 'through' | 'open'>) {
    this.#parts = parts;
    this.#through = last.through;
    this.#open = last.open;
  }

  /**
   * Writes a checkpoint. Concurrent calls share a single checkpoint, so that no later checkpoint is written if an earlier checkpoint
   * failed. Rejects with StoreError.
   */
  write(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** Resolves when no checkpoint is being written. Never rejects. */
  async settled(): Promise<void> {
    while (this.#writing !== null) await this.#writing.catch(() => {});
  }

  async #write(): Promise<void> {
    const { store, journal, reservations } = this.#parts;
    const through = journal.seq;
    const open = JSON.stringify(reservations.open().map(openRow));
    // If the disk refused recent writes, `through` can be unchanged although the open reservations have changed, so both are compared.
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
    // Only the disk knows whether these rows are written, so the next checkpoint writes these balances again.
    for (const holder of unwrittenRows.keys()) this.#written.delete(holder);
  }
}

const openRow = ({ id, account, charged, held, fundIds, owner, expires }: BookedReservation): OpenReservation => ({
  reservation: id,
  account: account.id,
  keyId: account.dimensions.key ?? '',
  // The row of a raise is already counted while the raise is being written.
  amount: charged + held,
  charged,
  funds: fundIds,
  owner,
  expires,
});

const balanceRow = ({ title, limit, spent }: BookedFund): BalanceRow => ({ keyId: title.name, granted: limit, spent });
const balanceText = ({ granted, spent }: BalanceRow): string => `${granted} ${spent}`;
