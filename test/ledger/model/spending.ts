import type { Budget } from '../../../src/core/money/budget.ts';
import { type Adjustment, insertAdjustment } from '../../../src/store/sqlite/books/tables.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { held, line, NOON, type Opened, order, terms } from '../support.ts';

/** The name, subject, limit, spent and held amount of every fund that was drawn on. */
export async function fundsOf({ ledger }: Pick<Opened, 'ledger'>) {
  const { funds } = await ledger.status();
  return funds.map(({ title, limit, spent, held }) => [title.name, title.subject, limit, spent, held]);
}

/** Spends an amount as a key. */
export async function spent(
  { ledger }: Pick<Opened, 'ledger'>,
  amount: number,
  over: Parameters<typeof order>[1] = {},
) {
  const hold = await held(ledger, order(amount, over));
  hold.settle(line(amount), () => []);
  return hold.id;
}

/** Requests an adjustment as an operator's command does; the ledger books it later. */
export async function adjust(
  file: string,
  what: Pick<Adjustment, 'kind' | 'amount'> & Partial<Adjustment>,
): Promise<void> {
  const store = await openSqlite(file, []);
  const { account = null } = await accountOf(store, what.reservation ?? null);
  await store.commit([
    insertAdjustment({
      keyId: 'key',
      reservation: null,
      note: '',
      time: NOON,
      ...what,
      account: what.account ?? account,
    }),
  ]);
  await store.close();
}

async function accountOf(store: SqlStore, reservation: number | null): Promise<{ account?: number }> {
  const sql = `SELECT account FROM journal WHERE reservation = ? AND kind = 'reserve'`;
  return (await store.query<{ account: number }>({ sql }, [reservation]))[0] ?? {};
}

export async function reload({ ledger }: Pick<Opened, 'ledger'>, ...budgets: Budget[]): Promise<void> {
  (await ledger.prepare(terms(...budgets)))();
}
