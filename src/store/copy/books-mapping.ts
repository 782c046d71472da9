import type { FundRow, OpenReservation } from '../journal-reader.ts';
import { balanceText, digestOf } from '../postgres/books/names.ts';
import { first, type SqlReader, sql } from '../sql/statement.ts';
import { sqliteJournal } from '../sqlite/books/journal-reader.ts';
import { type Balance, recover } from '../sqlite/books/recover.ts';
import { SELECT_STATE, type StateRow } from '../sqlite/books/tables.ts';
import { type CopiedRow, idsIn } from './tables.ts';

const SELECT_OPENED = sql('SELECT max(funds, 1) AS number FROM news');

/** A fund of the books. SQLite has several rows for a fund: a new row each time that the terms of the fund change. */
interface MappedFund {
  readonly id: number;
  last: FundRow;
  spent: number;
  held: number;
}

/** An open hold, with the values that its journal entries contain. */
interface MappedHold {
  readonly open: OpenReservation;
  readonly funds: readonly number[];
  first: number;
  note: string | null;
  overrun: number;
  readonly steps: number[];
}

/**
 * Derives from SQLite's journal the tables that PostgreSQL keeps in addition to its journal: figures of funds, and open holds. Budget
 * windows keep the names that the journal entries use. The next server counts all budgets again, as it does at every start on SQLite.
 */
export class BooksMapping {
  readonly #funds = new Map<string, MappedFund>();
  readonly #rows: readonly FundRow[];
  readonly #byRow = new Map<number, MappedFund>();
  readonly #holds = new Map<number, MappedHold>();
  readonly #balances: ReadonlyMap<string, Balance>;
  /** The funds that each open reservation draws on. */
  readonly #drawing = new Map<number, readonly number[]>();
  readonly #opened: number;
  /** The funds by number; numbers of funds begin at 1. */
  readonly #numbered: readonly MappedFund[];

  private constructor(
    rows: readonly FundRow[],
    open: readonly OpenReservation[],
    balances: ReadonlyMap<string, Balance>,
    opened: number,
  ) {
    this.#rows = rows;
    this.#balances = balances;
    this.#opened = opened;
    for (const row of rows) {
      const key = keyOf(row);
      const fund = this.#funds.getOrInsertComputed(key, () => ({
        id: this.#funds.size + 1,
        last: row,
        spent: 0,
        held: 0,
      }));
      Object.assign(fund, { last: row, spent: row.opening });
      this.#byRow.set(row.id, fund);
    }
    for (const holder of balances.keys()) this.#addBalance(holder);
    this.#numbered = [...this.#funds.values()];
    for (const one of open) {
      const funds = this.#drawnBy(one.funds);
      for (const id of funds) this.#numbered[id - 1]!.held += one.amount - one.charged;
      this.#holds.set(one.reservation, { open: one, funds, first: one.amount, note: null, overrun: 0, steps: [] });
    }
  }

  static async of(from: SqlReader): Promise<BooksMapping> {
    const state = await first<StateRow>(from, SELECT_STATE);
    const found = await recover(from, state ?? { through: 0, open: '[]' });
    const opened = await first<{ number: number }>(from, SELECT_OPENED);
    const rows = (await Array.fromAsync(sqliteJournal(from).funds())).flat();
    return new BooksMapping(rows, [...found.open.values()], found.balances, opened?.number ?? 1);
  }

  /** Returns a journal entry with the funds that the entry counts in. The caller must pass the entries in the order of the journal. */
  entry(row: CopiedRow): CopiedRow {
    const { kind, seq, amount } = row as { kind: string; seq: number; amount: number };
    const id = typeof row.reservation === 'number' ? row.reservation : 0;
    const names = idsIn(row.funds);
    if (kind === 'reserve' || kind === 'attach') this.#drawing.set(id, this.#drawnBy(row.funds));
    const isCharge = kind === 'post' || kind === 'settle' || kind === 'expire';
    const drawn = kind === 'correct' ? this.#drawnBy(row.funds) : isCharge ? (this.#drawing.get(id) ?? []) : null;
    if (kind === 'settle' || kind === 'expire') this.#drawing.delete(id);
    if (drawn && amount !== 0)
      for (const fund of drawn) {
        const counted = this.#byId(fund);
        if (counted && seq > counted.last.afterSeq) counted.spent += amount;
      }
    this.#note(id, row);
    return { ...row, funds: names.length === 0 ? null : `{${names}}`, drawn: drawn && `{${drawn}}` };
  }

  /** Returns the rows of the other tables, by table. The caller must pass all entries of the journal to `entry` first. */
  rest(): readonly (readonly [table: string, rows: readonly CopiedRow[]])[] {
    const funds = [...this.#funds.values()];
    const fundRows = this.#rows.map(({ id, most, opening, afterSeq, counted }) => ({
      id,
      fund: this.#byRow.get(id)?.id ?? 0,
      most,
      opening,
      after_seq: afterSeq,
      counted,
    }));
    return [
      ['funds', funds.map((fund) => this.#fundOf(fund))],
      ['fund_rows', fundRows],
      ['holds', [...this.#holds.values()].map(holdOf)],
    ];
  }

  #addBalance(holder: string): void {
    const title = { kind: 'balance', name: holder, subject: '', definition: '', starts: 0, ends: null } as const;
    const none = { ...title, id: 0, most: 0, opening: 0, afterSeq: 0, counted: null };
    this.#funds.getOrInsertComputed(keyOf(none), () => ({ id: this.#funds.size + 1, last: none, spent: 0, held: 0 }));
  }

  #byId(id: number): MappedFund | undefined {
    return this.#numbered[id - 1];
  }

  #drawnBy(funds: unknown): readonly number[] {
    return idsIn(funds).flatMap((row) => this.#byRow.get(row)?.id ?? []);
  }

  #note(id: number, row: CopiedRow): void {
    const hold = this.#holds.get(id);
    if (!hold) return;
    const { kind, amount, step, note } = row as {
      kind: string;
      amount: number;
      step: number | null;
      note: string | null;
    };
    if (kind === 'reserve') Object.assign(hold, { first: amount, note });
    if (kind === 'overrun') {
      hold.overrun += amount;
      if (hold.steps.at(-3) === 1) hold.steps[hold.steps.length - 1] = amount;
    }
    if (step !== null && (kind === 'raise' || kind === 'post'))
      hold.steps.push(step, kind === 'post' ? 1 : 0, amount, 0);
  }

  #fundOf({ id, last, spent, held }: MappedFund): CopiedRow {
    const { kind, name, subject, definition, starts, ends, id: row } = last;
    const isBalance = kind === 'balance';
    const balance = isBalance ? this.#balances.get(name) : undefined;
    return {
      id,
      kind,
      name,
      subject,
      definition,
      starts,
      ends,
      held,
      // The digest of a past window may be any unique text, because the program looks up past windows only by their number.
      digest: Uint8Array.fromHex(digestOf(isBalance ? balanceText(name) : `copied ${keyOf(last)}`)),
      budget: isBalance ? 0 : -1,
      most: isBalance ? (balance?.granted ?? 0) : last.most,
      spent: isBalance ? (balance?.spent ?? 0) : spent,
      is_opened: balance ? 1 : 0,
      changed: balance ? this.#opened : 0,
      row_id: row === 0 ? null : row,
    };
  }
}

const keyOf = ({ kind, name, subject, definition, starts }: FundRow): string =>
  JSON.stringify([kind, name, subject, definition, starts]);

const holdOf = ({ open, funds, first, note, overrun, steps }: MappedHold): CopiedRow => ({
  ...{
    id: open.reservation,
    account: open.account,
    owner: open.owner ?? 0,
    expires: open.expires ?? null,
    state: 'open',
  },
  funds: `{${funds}}`,
  first,
  amount: open.amount,
  charged: open.charged,
  overrun,
  note,
  steps: `{${steps}}`,
});
