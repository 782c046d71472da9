import { expect } from 'bun:test';
import type { Deposit } from '../../src/core/accounting/entry.ts';
import { idText } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import { type Caller, holderCaller } from '../../src/core/people/caller.ts';
import { type FundShortage, isShortage } from '../../src/ledger/available-funds.ts';
import type { Earmark } from '../../src/ledger/hold.ts';
import type { HoldRequest } from '../../src/ledger/hold-request.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { findingsOf, tamper } from './audit-support.ts';
import type { TestFolder } from './books-test.ts';
import { GatedStore } from './model/gate.ts';
import { type Opened, terms } from './support.ts';

export const WALLET = `0x${'a1'.repeat(20)}`;
export const OTHER = `0x${'b2'.repeat(20)}`;
/** All tests share this caller object, because accounts are cached by the identity of the caller. */
export const AGENT: Caller = holderCaller(WALLET);

let payments = 0;
export function deposit(paid: number, fee = 0, note = idText('pay_', ++payments)): Deposit {
  return { paid, fee, note };
}

/** Earmarks money, and throws if there is a shortage. */
export async function earmarked(ledger: Ledger, order: HoldRequest, expected: number): Promise<Earmark> {
  const made = await ledger.earmark(order, expected);
  if (isShortage(made)) throw new Error(`there is no room: ${JSON.stringify(made)}`);
  return made;
}

/** Tries to earmark money, and throws if there is no shortage. */
export async function unearmarked(ledger: Ledger, order: HoldRequest, expected: number): Promise<FundShortage> {
  const made = await ledger.earmark(order, expected);
  if (!isShortage(made)) throw new Error('there was room');
  return made;
}

/** The balance of a wallet: granted, spent and held. */
export function balance(ledger: Ledger, wallet = WALLET): [limit: number, spent: number, held: number] | null {
  const fund = ledger.balanceOf(wallet);
  return fund && [fund.limit, fund.spent, fund.held];
}

/** The kind, amount and note of each row. */
export async function rows(store: SqlStore): Promise<[string, number, string | null][]> {
  await store.flush();
  const found = await store.query<{ kind: string; amount: number; note: string | null }>({
    sql: 'SELECT kind, amount, note FROM journal ORDER BY seq',
  });
  return found.map(({ kind, amount, note }) => [kind, amount, note]);
}

/** The table in which a server stores payments. */
export const PAYMENTS = `CREATE TABLE payments (id INTEGER PRIMARY KEY, state TEXT, purpose TEXT, network TEXT, asset TEXT,
  pay_to TEXT, payer TEXT, nonce TEXT, amount TEXT, paid INTEGER, fee INTEGER, bound INTEGER, charged INTEGER,
  decision INTEGER, key_id TEXT, request_hash TEXT, valid_before INTEGER, tx TEXT, error TEXT, payload TEXT,
  created INTEGER, updated INTEGER)`;

const INSERT = { sql: 'INSERT INTO payments (id, state, payer, paid, fee) VALUES (?, ?, ?, ?, ?)' };
/** The row of a payment that is written together with its deposit. */
export function payment(id: number, state: string, paid: number, fee: number, payer = WALLET): SqlWrite {
  return write(INSERT, id, state, payer, paid, fee);
}

/** A ledger with a table of payments, whose disk the test can block. The wallet of the test has paid in `paid` microcredits. */
export async function beside(folder: TestFolder, paid = 0, ...budgets: Budget[]) {
  let gate: GatedStore | null = null;
  const made = await folder.open({
    terms: terms(...budgets),
    wrap: (store) => {
      gate = new GatedStore(store);
      return gate;
    },
  });
  tamper(folder.file, PAYMENTS);
  if (paid > 0) await made.ledger.deposit(WALLET, ...paying(1, paid));
  return { ...made, gate: gate! as GatedStore };
}

/** A deposit, and the row of its payment. */
export function paying(id: number, paid: number, fee = 0): [ReturnType<typeof deposit>, SqlWrite[]] {
  return [deposit(paid, fee, `pay_0000000000${id}`), [payment(id, 'captured', paid, fee)]];
}

/** The writes of a settlement that refunds a fee. */
export const waiving = (ledger: Ledger, wallet: string, fee: number, note: string) => (): SqlWrite[] => {
  ledger.waiveFee(wallet, fee, note);
  return [];
};

/** Closes the ledger, and expects that the audit finds nothing wrong. */
export async function prove(file: string, { ledger, store }: Pick<Opened, 'ledger' | 'store'>) {
  await ledger.close();
  await store.close();
  expect(await findingsOf(file)).toEqual([]);
}
