import { quarterOf, type Window } from '../../../core/accounting/window.ts';
import { idAt } from '../../../core/id.ts';
import { NO_LEDGER, type StoredBudget } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isAddress } from '../../../core/money/holder-address.ts';
import type { LedgerTable, StoredBalance } from '../../ledger-table.ts';
import { first, type SqlReader, type SqlWrite, sql } from '../../sql/statement.ts';
import { findReservation, refundWrite } from './adjust.ts';
import { recover } from './recover.ts';
import { insertAdjustment, SELECT_STATE, type StateRow } from './tables.ts';

const SELECT_TABLE = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
const SELECT_NAME = sql('SELECT ledger FROM identity');
const SELECT_TERMS = sql(
  `SELECT CASE WHEN EXISTS (SELECT 1 FROM journal) THEN usd_per_credit END AS usdPerCredit, budgets FROM checkpoint`,
);

const hasTable = async (db: SqlReader, name: string): Promise<boolean> =>
  (await first(db, SELECT_TABLE, name)) !== null;

export const sqliteLedger = (db: SqlReader): LedgerTable => ({
  exists: () => hasTable(db, 'journal'),
  identity: async () =>
    (await hasTable(db, 'identity')) ? ((await first<{ ledger: string }>(db, SELECT_NAME))?.ledger ?? null) : null,
  async state() {
    const terms = (await hasTable(db, 'journal')) ? await first<Terms>(db, SELECT_TERMS) : null;
    if (!terms) return NO_LEDGER;
    return { usdPerCredit: terms.usdPerCredit, budgets: budgetsOf(terms).map(({ name }) => name) };
  },
  async budgets() {
    const terms = await first<Terms>(db, SELECT_TERMS);
    return terms ? budgetsOf(terms) : [];
  },
  spentIn: (keyId, window) => spentIn(db, keyId, window),
  balance: (holder) => balanceOf(db, holder),
  async balances() {
    const balances = new Map<string, StoredBalance>(await balancesOf(db));
    for (const { holder, amount } of await db.query<RequestedGrant>(SELECT_REQUESTED)) {
      const { granted, spent } = balances.get(holder) ?? { granted: 0, spent: 0 };
      balances.set(holder, { granted: granted + amount, spent });
    }
    return balances;
  },
  granted: (holder) => grantedTo(db, holder),
  reservation: (id) => findReservation(db, id),
  isAdopted: async (id) => (await first(db, SELECT_PENDING, id)) === null,
  // SQLite has no stored results of holds to delete, because these results are in memory.
  prune: async () => 0,
  grant: (holder, amount, note, time) => grantWrite(holder, amount, note, time),
  refund: (reservation, amount, note, time) => refundWrite(reservation, amount, note, time),
});

interface Terms {
  readonly usdPerCredit: string | null;
  /** JSON of `StoredBudget[]`. */
  readonly budgets: string;
}

/** Parses the column `budgets` without a check, because only the books write it. */
const budgetsOf = ({ budgets }: Terms): readonly StoredBudget[] => JSON.parse(budgets);

/** Finds a refund that no process with open books has applied. */
const SELECT_PENDING = sql('SELECT 1 FROM adjustments WHERE adopted = 0 AND reservation = ? LIMIT 1');

/** Adds the sums up to the checkpoint and the journal rows after it, in one statement, so that both figures are from one moment. */
const SELECT_SPENT = sql(
  `SELECT coalesce((SELECT sum(s.microcredits) FROM spend AS s JOIN accounts AS a ON a.id = s.account
        WHERE s.quarter >= ?2 AND s.quarter < ?3 AND a.key_id = ?1), 0)
      + coalesce((SELECT sum(j.amount) FROM journal AS j JOIN accounts AS a ON a.id = j.account
        WHERE j.seq > (SELECT through FROM checkpoint) AND j.kind IN ('post', 'settle', 'expire', 'correct')
          AND j.reservation >= ?4 AND j.reservation < ?5 AND a.key_id = ?1), 0) AS spent`,
);

/** Returns the amount that a key was charged for its reservations in a window, less refunds. */
export async function spentIn(db: SqlReader, keyId: string, { starts, ends }: Window): Promise<Microcredits> {
  const to = Math.min(ends, Number.MAX_SAFE_INTEGER);
  const ids = [idAt(starts), Number.isFinite(ends) ? idAt(to) : Number.MAX_SAFE_INTEGER];
  const row = await first<{ spent: number }>(db, SELECT_SPENT, keyId, quarterOf(starts), quarterOf(to), ...ids);
  return row?.spent ?? 0;
}

/** Sums the grants that no process with open books has applied. */
const SELECT_REQUESTED = sql(
  `SELECT key_id AS holder, sum(amount) AS amount FROM adjustments WHERE kind = 'grant' AND adopted = 0 GROUP BY key_id`,
);

interface RequestedGrant {
  readonly holder: string;
  readonly amount: Microcredits;
}

const SELECT_IS_PREPAID = sql(`SELECT 1 FROM adjustments WHERE kind = 'grant' AND key_id = ? LIMIT 1`);

async function balanceOf(db: SqlReader, holder: string): Promise<StoredBalance | null> {
  if (!isAddress(holder) && (await first(db, SELECT_IS_PREPAID, holder)) === null) return null;
  const balances = await balancesOf(db);
  return balances && { granted: await grantedTo(db, holder), spent: balances.get(holder)?.spent ?? 0 };
}

/** Returns all balances at the end of the journal; null without a ledger. */
async function balancesOf(db: SqlReader): Promise<ReadonlyMap<string, StoredBalance> | null> {
  const state = await first<StateRow>(db, SELECT_STATE);
  return state && (await recover(db, state)).balances;
}

const SELECT_GRANTED = sql(
  `SELECT coalesce((SELECT granted FROM balances WHERE key_id = ?1), 0)
      + coalesce((SELECT sum(j.amount) FROM journal AS j JOIN accounts AS a ON a.id = j.account
        WHERE j.seq > (SELECT through FROM checkpoint) AND j.kind IN ('grant', 'deposit', 'fee') AND a.key_id = ?1), 0)
      + coalesce((SELECT sum(amount) FROM adjustments WHERE kind = 'grant' AND adopted = 0 AND key_id = ?1), 0) AS granted`,
);

const grantedTo = async (db: SqlReader, holder: string): Promise<Microcredits> =>
  (await first<{ granted: number }>(db, SELECT_GRANTED, holder))?.granted ?? 0;

/**
 * Requests a grant to a holder.
 * @param id the number of the adjustment; the next number by default
 */
export const grantWrite = (keyId: string, amount: Microcredits, note: string, time: number, id?: number): SqlWrite =>
  insertAdjustment({ kind: 'grant', keyId, reservation: null, account: null, amount, note, time }, id);
