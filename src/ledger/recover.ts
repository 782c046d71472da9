import type { Microcredits } from '../core/credits.ts';
import type { Statement, Store } from '../store/store.ts';
import type { Spender, Sums } from './sums.ts';
import { type BalanceRow, type JournalRow, SELECT_BALANCES, SELECT_JOURNAL } from './tables.ts';

/** A reservation that is not closed, as a checkpoint keeps it. */
export interface OpenReservation {
  readonly reservation: number;
  readonly account: number;
  readonly keyId: string;
  readonly amount: Microcredits;
  readonly charged: Microcredits;
  /** IDs of the funds that it draws on, as in the journal. */
  readonly funds: string | null;
}

export interface Balance {
  granted: Microcredits;
  spent: Microcredits;
}

/** What the journal says at its end. */
export interface Recovered {
  readonly open: ReadonlyMap<number, OpenReservation>;
  readonly balances: ReadonlyMap<string, Balance>;
  /** Takes in one more row. */
  add(row: JournalRow): void;
}

const PAGE_ROWS = 10_000;
const SELECT_BALANCE_FUNDS: Statement = { sql: `SELECT id FROM funds WHERE kind = 'balance'` };

/** Reads the journal from a checkpoint on: what is open at its end, what balances hold, and what was spent, into `sums`. */
export async function recover(
  store: Pick<Store, 'query'>,
  from: { readonly through: number; readonly open: readonly OpenReservation[] },
  sums: Sums,
): Promise<Recovered> {
  const balanceFunds = await store.query<{ id: number }>(SELECT_BALANCE_FUNDS);
  const balances = await store.query<BalanceRow>(SELECT_BALANCES);
  const fold = new Fold(
    from.open,
    new Set(balanceFunds.map(({ id }) => String(id))),
    new Map(balances.map(({ keyId, granted, spent }) => [keyId, { granted, spent }])),
    sums,
  );
  for (let after = from.through; ; ) {
    const rows = await store.query<JournalRow>(SELECT_JOURNAL, [after, PAGE_ROWS]);
    for (const row of rows) fold.add(row);
    const last = rows.at(-1);
    if (!last) return fold;
    after = last.seq;
  }
}

/** Budgets are counted from the sums only after these were written, so nothing looks at this. */
const NO_SCOPE = { request: { model: '' }, key: { id: '', labels: new Map<string, string>() } };

class Fold implements Recovered {
  readonly open: Map<number, OpenReservation>;
  readonly balances: Map<string, Balance>;
  readonly #balanceFunds: ReadonlySet<string>;
  readonly #sums: Sums;
  readonly #spenders = new Map<number, Spender>();

  constructor(
    open: readonly OpenReservation[],
    balanceFunds: ReadonlySet<string>,
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
    if (kind === 'grant') {
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
      if (this.#drawsOnBalance(funds)) this.#balanceOf(keyId).spent += amount;
      return;
    }
    const open = this.open.get(reservation);
    if (kind === 'overrun' || !open) return;
    if (kind === 'raise') this.open.set(reservation, { ...open, amount: open.amount + amount });
    else if (kind === 'attach') this.open.set(reservation, { ...open, funds });
    else {
      if (amount > 0 || row.tariff !== null) this.#charge(row, reservation);
      if (this.#drawsOnBalance(open.funds)) this.#balanceOf(keyId).spent += amount;
      if (kind === 'post') this.open.set(reservation, { ...open, charged: open.charged + amount });
      else this.open.delete(reservation);
    }
  }

  #charge({ account, tariff, amount, input, output }: JournalRow, reservation: number): void {
    let spender = this.#spenders.get(account);
    if (!spender) {
      spender = { id: account, scope: NO_SCOPE, sum: null };
      this.#spenders.set(account, spender);
    }
    this.#sums.add(spender, {
      reservation,
      tariff: tariff ?? 0,
      microcredits: amount,
      input: input ?? 0,
      output: output ?? 0,
    });
  }

  #drawsOnBalance(funds: string | null): boolean {
    return funds?.split(' ').some((id) => this.#balanceFunds.has(id)) ?? false;
  }

  #balanceOf(keyId: string): Balance {
    let balance = this.balances.get(keyId);
    if (!balance) {
      balance = { granted: 0, spent: 0 };
      this.balances.set(keyId, balance);
    }
    return balance;
  }
}
