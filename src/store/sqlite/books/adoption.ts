import type { FundRef } from '../../../core/accounting/fund.ts';
import { timeOfId } from '../../../core/id.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { dimensionsOf } from '../../account-row.ts';
import type { BooksWatcher, CorrectOp, GrantOp, LedgerOp, OpResult } from '../../books.ts';
import type { StoredReservation } from '../../ledger-table.ts';
import { first, sql, write } from '../../sql/statement.ts';
import type { Write } from '../../store.ts';
import { findReservation, refundWrite } from './adjust.ts';
import type { BooksParts } from './checkpoint.ts';
import { grantWrite } from './ledger-table.ts';
import { type Adjustment, type AdjustmentRow, type NumberedAccount, SELECT_ACCOUNT } from './tables.ts';

/** Selects adjustments that are not in the journal yet. */
const SELECT_ADJUSTMENTS =
  sql(`SELECT id, kind, key_id AS keyId, reservation, account, amount, note, time FROM adjustments
    WHERE adopted = 0 ORDER BY id`);
/** Selects an adjustment by its number or its name, whether the adjustment is applied or not. */
const SELECT_ADJUSTMENT = sql('SELECT amount FROM adjustments WHERE id = ?');
const SELECT_NAMED = sql('SELECT amount FROM adjustments WHERE name = ?');
const ADOPT_ADJUSTMENT = sql('UPDATE adjustments SET adopted = 1 WHERE id = ?');

/** The reservation that a correction refers to, and its account. */
interface CorrectedReservation {
  readonly booked: StoredReservation;
  readonly row: NumberedAccount;
}

interface AdoptionParts extends Pick<BooksParts, 'store' | 'journal' | 'funds'> {
  /** Returns ms since 1970. */
  readonly now: () => number;
  readonly watcher: () => BooksWatcher;
}

/** Applies each requested grant and correction once: to the journal, the sums and the funds. State: deposits. */
export class Adoption {
  readonly #parts: AdoptionParts;
  /** The adjustments that were applied, but that the store may not have marked as applied yet. */
  #adopted = new Set<number>();

  constructor(parts: AdoptionParts) {
    this.#parts = parts;
  }

  /** Applies all requested adjustments. Rejects with StoreError. */
  async run(): Promise<void> {
    const rows = await this.#parts.store.query<AdjustmentRow>(SELECT_ADJUSTMENTS);
    for (const row of rows) {
      const corrected = row.kind === 'correct' ? await this.#corrected(row) : null;
      if (!this.#adopted.has(row.id)) this.#adopt(row, corrected);
    }
    const unmarked = new Set(rows.map(({ id }) => id));
    this.#adopted = this.#adopted.intersection(unmarked);
  }

  /** Carries out a grant or a correction: stores the operation as a request, as other processes do, and then applies it. */
  async ask(ops: readonly LedgerOp[], op: GrantOp | CorrectOp, also: readonly Write[]): Promise<readonly OpResult[]> {
    if (ops.length > 1) throw new RangeError(`a ${op.kind} comes alone`);
    const known = await this.#known(op);
    if (known) return [known];
    if (op.kind === 'grant') {
      const { id, at, holder, amount, note } = op;
      await this.#parts.store.commit([grantWrite(holder, amount, note, at, id), ...also]);
      await this.run();
      return [{ kind: 'granted', amount }];
    }
    // The settlement of the reservation may not be written yet, so the code waits for it.
    await this.#parts.store.flush();
    const booked = await findReservation(this.#parts.store, op.reservation);
    if (booked?.isOpen) throw new RangeError(`reservation ${op.reservation} is open: what it costs is not known`);
    const amount = booked ? Math.min(booked.charged - booked.givenBack, op.amount) : 0;
    if (!booked || amount <= 0) return [{ kind: 'granted', amount: 0 }];
    try {
      await this.#parts.store.commit([refundWrite(booked, amount, op.note, op.at, op.id), ...also]);
    } catch (cause) {
      // If no row was added, another process requested the same adjustment first.
      const first = await this.#known(op);
      if (!first) throw cause;
      return [first];
    }
    await this.run();
    return [{ kind: 'granted', amount }];
  }

  /** Returns the first result of an adjustment; null for a new one. */
  async #known({ kind, id }: GrantOp | CorrectOp): Promise<OpResult | null> {
    const select = kind === 'correct' ? SELECT_NAMED : SELECT_ADJUSTMENT;
    const known = await first<Adjustment>(this.#parts.store, select, id);
    return known && { kind: 'granted', amount: Math.abs(known.amount) };
  }

  /** Reads the reservation of a correction from the journal; null if there is no such reservation. */
  async #corrected({ reservation, account }: AdjustmentRow): Promise<CorrectedReservation | null> {
    const booked = reservation === null ? null : await findReservation(this.#parts.store, reservation);
    const row = await first<NumberedAccount>(this.#parts.store, SELECT_ACCOUNT, account);
    if (row) await this.#parts.watcher().prepare?.(dimensionsOf(row));
    return booked && row && { booked, row };
  }

  #adopt(row: AdjustmentRow, corrected: CorrectedReservation | null): void {
    const { store, journal, funds, now, watcher } = this.#parts;
    const { id, kind, keyId, amount } = row;
    this.#adopted.add(id);
    if (kind === 'grant') {
      const entry = journal.adjusting(row, journal.accounts.numberOfHolder(keyId), now(), null);
      store.append([entry, write(ADOPT_ADJUSTMENT, id)]);
      if (funds.grant(keyId, amount).isNew) watcher().opened(keyId);
      watcher().adjusted();
    } else if (corrected !== null) {
      const fundIds = this.#giveBack(corrected, amount);
      store.append([journal.adjusting(row, corrected.row.id, now(), fundIds), write(ADOPT_ADJUSTMENT, id)]);
      watcher().adjusted();
    }
  }

  /**
   * Refunds a charge to the windows that count it and to the balance that paid for it. Returns the IDs of these funds in the format of the
   * journal.
   */
  #giveBack({ row, booked: { reservation, onBalance } }: CorrectedReservation, amount: Microcredits): string | null {
    const { journal, funds, watcher } = this.#parts;
    const dimensions = dimensionsOf(row);
    const refs: readonly FundRef[] = watcher().fundsOf(dimensions, timeOfId(reservation));
    const drawn = funds.drawnBy(refs).funds.filter((fund) => !fund.isBalance || onBalance);
    // The funds get their rows before the funds change, because the opening value of a row is the amount that was spent before.
    const fundIds = journal.idsOf(drawn);
    for (const fund of drawn) fund.spent += amount;
    const charge = { reservation, tariff: 0, microcredits: amount, input: 0, output: 0 };
    journal.sums.add({ id: row.id, dimensions, sum: null }, charge, drawn);
    return fundIds;
  }
}
