import type { Microcredits } from '../../../core/money/credits.ts';
import type { BalanceRow, JournalRow, OpenReservation } from '../../journal-reader.ts';
import { pages, seqOf, withTokens } from '../../sql/journal.ts';
import { type SqlReader, sql } from '../../sql/statement.ts';
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
  /** Returns the holder of the balance among funds, given by IDs in the format of the journal; null for none. */
  holderOf(funds: string | null): string | null;
}

type RecoveredRow = JournalRow & Pick<OpenReservation, 'owner' | 'expires'>;
/** A row whose tokens are still in the text of its bill. */
type StoredRow = Omit<RecoveredRow, 'input' | 'output'> & { readonly bill: string | null };

/** Selects rows after a number, in order. The parameters are the number, and the length of a page. */
const SELECT_JOURNAL = sql(`SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.bill,
      a.key_id AS keyId, j.owner, j.expires
    FROM journal AS j JOIN accounts AS a ON a.id = j.account WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
const SELECT_BALANCE_FUNDS = sql(`SELECT id, name FROM funds WHERE kind = 'balance'`);

/**
 * Reads the journal after a checkpoint. Returns the open reservations and the balances at the end of the journal, and adds charges to
 * `sums`.
 */
export async function recover(
  store: SqlReader,
  { through, open: atCheckpoint }: Pick<StateRow, 'through' | 'open'>,
  sums = new Sums(),
): Promise<JournalState> {
  const balanceFunds = await store.query<{ id: number; name: string }>(SELECT_BALANCE_FUNDS);
  const holders = new Map(balanceFunds.map(({ id, name }) => [String(id), name]));
  const holderOf = (funds: string | null) =>
    funds
      ?.split(' ')
      .map((id) => holders.get(id))
      .find(isKnown) ?? null;
  const balances = await store.query<BalanceRow>(SELECT_BALANCES);
  // The list is parsed without a check, because only these books write it.
  const opened: readonly OpenReservation[] = JSON.parse(atCheckpoint);
  const state = {
    open: new Map(opened.map((one) => [one.reservation, one])),
    balances: new Map(balances.map(({ keyId, granted, spent }) => [keyId, { granted, spent }])),
    holderOf,
  };
  const add = folding(state, sums);
  for await (const rows of pages<StoredRow>(store, SELECT_JOURNAL, [through], seqOf))
    for (const row of rows) add(withTokens(row));
  return state;
}

const isKnown = (holder: string | undefined): boolean => holder !== undefined;

/** The accounts get empty dimensions, which are enough, because budgets are counted from these sums only after the sums were written. */
const unknownSpender = (id: number): Spender => ({ id, dimensions: {}, sum: null });

interface FoldedState extends JournalState {
  readonly open: Map<number, OpenReservation>;
  readonly balances: Map<string, Balance>;
}

/** Returns a function that applies the next row of the journal to a state and to sums. */
function folding({ open, balances, holderOf }: FoldedState, sums: Sums): (row: RecoveredRow) => void {
  const spenders = new Map<number, Spender>();
  const balanceOf = (holder: string) => balances.getOrInsertComputed(holder, () => ({ granted: 0, spent: 0 }));
  const charge = ({ account, tariff, amount, input, output, stated }: JournalRow, reservation: number) => {
    const figures = { tariff: tariff ?? 0, microcredits: amount, input: input ?? 0, output: output ?? 0 };
    const spender = spenders.getOrInsertComputed(account, unknownSpender);
    sums.add(spender, { reservation, ...figures }, []);
    if (stated) sums.addStated(spender, stated);
  };
  /** The charge spends from the balance that the reservation drew on, regardless of the account that made the request. */
  const draw = (funds: string | null, amount: Microcredits) => {
    const holder = amount === 0 ? null : holderOf(funds);
    if (holder !== null) balanceOf(holder).spent += amount;
  };
  return (row) => {
    const { kind, reservation, account, keyId, amount, funds, owner, expires } = row;
    if (kind === 'grant' || kind === 'deposit' || kind === 'fee') {
      balanceOf(keyId).granted += amount;
      return;
    }
    if (reservation === null) return;
    const made = open.get(reservation);
    if (kind === 'reserve')
      open.set(reservation, { reservation, account, keyId, amount, charged: 0, funds, owner, expires });
    else if (kind === 'correct') {
      charge(row, reservation);
      draw(funds, amount);
    } else if (!made || kind === 'overrun') return;
    else if (kind === 'raise') open.set(reservation, { ...made, amount: made.amount + amount });
    else if (kind === 'attach') open.set(reservation, { ...made, funds });
    else {
      if (amount > 0 || row.tariff !== null) charge(row, reservation);
      draw(made.funds, amount);
      if (kind === 'post') open.set(reservation, { ...made, charged: made.charged + amount });
      else open.delete(reservation);
    }
  };
}
