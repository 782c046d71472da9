import type { Microcredits } from '../../../core/credits.ts';
import type { BalanceRow, JournalRow, OpenReservation } from '../../journal-reader.ts';
import { type SqlReader, sql } from '../statement.ts';
import { pages, seqOf } from './journal-reader.ts';
import { type Spender, Sums } from './sums.ts';
import { SELECT_BALANCES, type StateRow } from './tables.ts';

export interface Balance {
  granted: Microcredits;
  spent: Microcredits;
}

/** The state at the end of the journal. */
export interface JournalState {
  readonly open: ReadonlyMap<number, OpenReservation>;
  readonly balances: ReadonlyMap<string, Balance>;
  /** Returns the holder of the balance among funds as the journal names them; null for none. */
  holderOf(funds: string | null): string | null;
}

/** Rows after a number, in order. Parameters: the number, and the length of a page. */
const SELECT_JOURNAL =
  sql(`SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.input_tokens AS input,
      j.output_tokens AS output, a.key_id AS keyId
    FROM journal AS j JOIN accounts AS a ON a.id = j.account WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
const SELECT_BALANCE_FUNDS = sql(`SELECT id, name FROM funds WHERE kind = 'balance'`);

/** Reads the journal from a checkpoint on: what is open at its end, what balances hold, and what was spent, into `sums`. */
export async function recover(
  store: SqlReader,
  { through, open }: Pick<StateRow, 'through' | 'open'>,
  sums = new Sums(),
): Promise<JournalState> {
  const balanceFunds = await store.query<{ id: number; name: string }>(SELECT_BALANCE_FUNDS);
  const balances = await store.query<BalanceRow>(SELECT_BALANCES);
  const fold = new Fold(
    // Written by these books alone.
    JSON.parse(open) as readonly OpenReservation[],
    new Map(balanceFunds.map(({ id, name }) => [String(id), name])),
    new Map(balances.map(({ keyId, granted, spent }) => [keyId, { granted, spent }])),
    sums,
  );
  for await (const rows of pages<JournalRow>(store, SELECT_JOURNAL, [through], seqOf)) {
    for (const row of rows) fold.add(row);
  }
  return fold;
}

/** Budgets are counted from the sums only after these were written, so nothing looks at this. */
const unknownSpender = (id: number): Spender => ({ id, dimensions: {}, sum: null });

class Fold implements JournalState {
  readonly open: Map<number, OpenReservation>;
  readonly balances: Map<string, Balance>;
  /** Holders of balances, by the numbers of their rows. */
  readonly #balanceFunds: ReadonlyMap<string, string>;
  readonly #sums: Sums;
  readonly #spenders = new Map<number, Spender>();

  constructor(
    open: readonly OpenReservation[],
    balanceFunds: ReadonlyMap<string, string>,
    balances: Map<string, Balance>,
    sums: Sums,
  ) {
    this.open = new Map(open.map((one) => [one.reservation, one]));
    this.balances = balances;
    this.#balanceFunds = balanceFunds;
    this.#sums = sums;
  }

  add(row: JournalRow): void {
    const { kind, reservation, account, keyId, amount, funds } = row;
    if (kind === 'grant' || kind === 'deposit' || kind === 'fee') {
      this.#balanceOf(keyId).granted += amount;
      return;
    }
    if (reservation === null) return;
    if (kind === 'reserve') {
      this.open.set(reservation, { reservation, account, keyId, amount, charged: 0, funds });
      return;
    }
    if (kind === 'correct') {
      this.#charge(row, reservation);
      this.#draw(funds, amount);
      return;
    }
    const open = this.open.get(reservation);
    if (kind === 'overrun' || !open) return;
    if (kind === 'raise') this.open.set(reservation, { ...open, amount: open.amount + amount });
    else if (kind === 'attach') this.open.set(reservation, { ...open, funds });
    else {
      if (amount > 0 || row.tariff !== null) this.#charge(row, reservation);
      this.#draw(open.funds, amount);
      if (kind === 'post') this.open.set(reservation, { ...open, charged: open.charged + amount });
      else this.open.delete(reservation);
    }
  }

  #charge({ account, tariff, amount, input, output }: JournalRow, reservation: number): void {
    const spender = this.#spenders.getOrInsertComputed(account, unknownSpender);
    this.#sums.add(spender, {
      reservation,
      tariff: tariff ?? 0,
      microcredits: amount,
      input: input ?? 0,
      output: output ?? 0,
    });
  }

  holderOf(funds: string | null): string | null {
    for (const id of funds?.split(' ') ?? []) {
      const holder = this.#balanceFunds.get(id);
      if (holder !== undefined) return holder;
    }
    return null;
  }

  /** Spends from the balance that was drawn on, whichever account made the request. */
  #draw(funds: string | null, amount: Microcredits): void {
    const holder = amount === 0 ? null : this.holderOf(funds);
    if (holder !== null) this.#balanceOf(holder).spent += amount;
  }

  #balanceOf(holder: string): Balance {
    return this.balances.getOrInsertComputed(holder, () => ({ granted: 0, spent: 0 }));
  }
}
