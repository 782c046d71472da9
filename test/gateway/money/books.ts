import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { EntryKind } from '../../../src/store/journal-reader.ts';
import { waitFor } from '../../support/answers.ts';

/** A row of the journal, as the view `entries` shows it. */
export interface Entry {
  readonly seq: number;
  readonly kind: EntryKind;
  readonly reservation: number | null;
  readonly amount: number;
  readonly key_id: string;
  readonly funds: string | null;
  readonly model: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly estimated: number | null;
}

interface FundEntry {
  readonly id: number;
  readonly kind: 'budget' | 'balance';
  readonly name: string;
  readonly subject: string;
  readonly most: number;
  readonly opening: number;
}

/** A fund after the rows of the journal. */
export interface FundState {
  readonly kind: 'budget' | 'balance';
  readonly name: string;
  readonly subject: string;
  limit: number;
  spent: number;
  held: number;
  /** The highest sum of spent and held money after any row. */
  peak: number;
}

interface Reservation {
  amount: number;
  charged: number;
  readonly funds: readonly FundState[];
  /** The number of `settle` and `expire` rows. */
  closings: number;
}

export interface Books {
  readonly funds: readonly FundState[];
  readonly reservations: ReadonlyMap<number, Reservation>;
  readonly entries: readonly Entry[];
  /** Rows that break a rule; empty for correct books. */
  readonly faults: readonly string[];
}

/** Reads the journal of a data folder in its order, while the server may be writing it. */
export function entriesOf(data: string): Entry[] {
  return read(data, 'SELECT * FROM entries ORDER BY seq');
}

/** Reads from a data folder's database. The tables are STRICT, so their rows have the types of the schema. */
export function read<Row>(data: string, sql: string, ...params: (string | number)[]): Row[] {
  const db = new Database(join(data, 'signalbox.db'), { readonly: true });
  try {
    return db.query<Row, (string | number)[]>(sql).all(...params);
  } finally {
    db.close();
  }
}

/** Changes a data folder's database while the server runs, as an operator's command does. */
export function write(data: string, sql: string, ...params: (string | number)[]): void {
  const db = new Database(join(data, 'signalbox.db'), { readwrite: true });
  try {
    db.run('PRAGMA busy_timeout = 2000');
    db.run(sql, params);
  } finally {
    db.close();
  }
}

/** Grants microcredits to a key, as an operator's command does, and waits until the running server has applied the grant. */
export async function grant(data: string, keyId: string, amount: number): Promise<void> {
  write(
    data,
    "INSERT INTO adjustments (kind, key_id, amount, note, time) VALUES ('grant', ?, ?, 'test', ?)",
    keyId,
    amount,
    Date.now(),
  );
  await waitFor(() => read(data, 'SELECT id FROM adjustments WHERE adopted = 0').length === 0);
}

/** Returns the books once every hold is closed. Settlements are written some milliseconds after the answer. */
export function closedBooks(data: string): Promise<Books> {
  return waitFor(() => {
    const books = foldBooks(data);
    return [...books.reservations.values()].every(({ closings }) => closings > 0) ? books : null;
  });
}

/**
 * Adds up a journal of budgets that were not edited, row by row. After each row, every fund must have `spent + held ≤ limit`, and no hold
 * may have charged more than was set aside.
 */
export function foldBooks(data: string): Books {
  const entries = entriesOf(data);
  const rows = read<FundEntry>(data, 'SELECT id, kind, name, subject, most, opening FROM funds');
  return new Fold(rows).fold(entries);
}

class Fold {
  readonly #funds = new Map<string, FundState>();
  readonly #balances = new Map<string, number>();
  readonly #reservations = new Map<number, Reservation>();
  readonly #faults: string[] = [];

  constructor(rows: readonly FundEntry[]) {
    for (const { id, kind, name, subject, most, opening } of rows) {
      this.#funds.set(String(id), { kind, name, subject, limit: most, spent: opening, held: 0, peak: 0 });
    }
  }

  fold(entries: readonly Entry[]): Books {
    for (const entry of entries) {
      if (entry.reservation === null) this.#grant(entry);
      else this.#move(entry, entry.reservation);
    }
    return {
      funds: [...this.#funds.values()],
      reservations: this.#reservations,
      entries,
      faults: this.#faults,
    };
  }

  #grant({ key_id, amount }: Entry): void {
    const granted = (this.#balances.get(key_id) ?? 0) + amount;
    this.#balances.set(key_id, granted);
    for (const fund of this.#funds.values()) if (fund.kind === 'balance' && fund.name === key_id) fund.limit = granted;
  }

  #move(entry: Entry, id: number): void {
    if (entry.kind === 'reserve') {
      const drawn = (entry.funds ?? '').split(' ').flatMap((fund) => this.#funds.get(fund) ?? []);
      this.#reservations.set(id, { amount: 0, charged: 0, funds: drawn, closings: 0 });
    }
    const reservation = this.#reservations.get(id);
    if (!reservation) {
      this.#fault(entry, 'has no reservation');
      return;
    }
    if (reservation.closings > 0 && entry.kind !== 'overrun') this.#fault(entry, 'comes after the end');
    this.#book(entry, reservation);
    if (reservation.charged > reservation.amount) this.#fault(entry, 'charges more than was set aside');
    for (const fund of reservation.funds) {
      fund.peak = Math.max(fund.peak, fund.spent + fund.held);
      if (fund.spent + fund.held > fund.limit) {
        this.#fault(entry, `leaves ${fund.name} ${fund.subject} with ${fund.spent} + ${fund.held} of ${fund.limit}`);
      }
    }
  }

  #book(entry: Entry, reservation: Reservation): void {
    const { kind, amount } = entry;
    const { funds } = reservation;
    if (kind === 'reserve' || kind === 'raise') {
      reservation.amount += amount;
      for (const fund of funds) fund.held += amount;
    } else if (kind === 'post' || kind === 'settle' || kind === 'expire') {
      reservation.charged += amount;
      const rest = kind === 'post' ? 0 : reservation.amount - reservation.charged;
      if (kind !== 'post') reservation.closings++;
      for (const fund of funds) {
        fund.spent += amount;
        fund.held -= amount + rest;
      }
    } else if (kind !== 'overrun') this.#fault(entry, 'is not folded here');
  }

  #fault({ seq, kind, reservation }: Entry, what: string): void {
    this.#faults.push(`row ${seq}, ${kind} of ${reservation}: ${what}`);
  }
}
