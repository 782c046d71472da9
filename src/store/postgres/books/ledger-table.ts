import { idAt } from '../../../core/id.ts';
import { NO_LEDGER, type StoredBudget } from '../../../core/money/budget.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isAddress } from '../../../core/money/holder-address.ts';
import type { LedgerTable, StoredReservation } from '../../ledger-table.ts';
import { batchDeletion } from '../../sql/delete-batches.ts';
import { first, type SqlTables, sql, write } from '../../sql/statement.ts';
import { spentIn } from './charges.ts';

const SELECT_NAME = sql('SELECT ledger FROM identity');
const SELECT_TERMS = sql(
  'SELECT CASE WHEN EXISTS (SELECT 1 FROM journal) THEN usd_per_credit END AS usdPerCredit, budgets FROM terms',
);
/** Counts grants that a command has requested and no instance has booked yet. */
const SELECT_BALANCE = sql(`SELECT coalesce(f.is_opened, false) OR EXISTS (
        SELECT 1 FROM adjustments AS g WHERE g.kind = 'grant' AND g.key_id = who.holder) AS isPrepaid,
      coalesce(f.spent, 0) AS spent, coalesce(f.most, 0) + coalesce((SELECT sum(g.amount) FROM adjustments AS g
        WHERE g.kind = 'grant' AND g.adopted = 0 AND g.key_id = who.holder), 0) AS granted
    FROM (SELECT ?::text AS holder) AS who LEFT JOIN funds AS f ON f.budget = 0 AND f.name = who.holder`);
const SELECT_BALANCES = sql(`SELECT holder, sum(granted)::bigint AS granted, sum(spent)::bigint AS spent FROM (
      SELECT name AS holder, most AS granted, spent FROM funds WHERE budget = 0 AND is_opened
      UNION ALL SELECT key_id, amount, 0 FROM adjustments WHERE kind = 'grant' AND adopted = 0
    ) AS parts GROUP BY holder`);
/** Adds up the entries of the journal, because the row of an ended hold is deleted after a few days. */
const SELECT_RESERVATION = sql(`SELECT j.account, a.key_id AS keyId, a.payer,
      NOT bool_or(j.kind IN ('settle', 'expire')) AS isOpen,
      bool_or(EXISTS (SELECT 1 FROM fund_rows AS r JOIN funds AS f ON f.id = r.fund
        WHERE j.kind = 'reserve' AND r.id = ANY (j.funds) AND f.kind = 'balance')) AS onBalance,
      coalesce(sum(j.amount) FILTER (WHERE j.kind IN ('post', 'settle', 'expire')), 0) AS charged,
      coalesce(sum(j.amount) FILTER (WHERE j.kind = 'overrun'), 0) AS overrun,
      -coalesce(sum(j.amount) FILTER (WHERE j.kind = 'correct'), 0) AS booked,
      (SELECT -coalesce(sum(q.amount), 0) FROM adjustments AS q WHERE q.reservation = ?1 AND q.adopted = 0) AS requested,
      (SELECT coalesce(max(q.id), 0) FROM adjustments AS q WHERE q.reservation = ?1) AS lastAdjustment
    FROM journal AS j JOIN accounts AS a ON a.id = j.account WHERE j.reservation = ?1 GROUP BY j.account, a.id`);
/** A refund for the hold that no instance has booked yet. */
const SELECT_PENDING = sql('SELECT 1 FROM adjustments WHERE adopted = 0 AND reservation = ? LIMIT 1');
const INSERT_GRANT = sql(`INSERT INTO adjustments (kind, key_id, amount, note, time) VALUES ('grant', ?, ?, ?, ?)`);
const INSERT_REFUND = sql(
  `INSERT INTO adjustments (kind, key_id, reservation, amount, note, time)
    SELECT 'correct', $keyId, $reservation::bigint, $amount::bigint, $note, $time::bigint
      WHERE (SELECT coalesce(max(id), 0) FROM adjustments WHERE reservation = $reservation) = $lastAdjustment`,
  { mustChange: true, takesTurns: true },
);

const deleteHolds = batchDeletion({
  table: 'holds',
  key: 'id',
  by: 'id',
  comparison: '<',
  batch: 5_000,
  only: `state IN ('closed', 'void')`,
});

interface BalanceRow {
  readonly isPrepaid: number;
  readonly granted: Microcredits;
  readonly spent: Microcredits;
}

interface ReservationRow
  extends Pick<StoredReservation, 'account' | 'keyId' | 'payer' | 'charged' | 'overrun' | 'lastAdjustment'> {
  readonly isOpen: number;
  readonly onBalance: number;
  readonly booked: Microcredits;
  readonly requested: Microcredits;
}

/**
 * The ledger in the form in which commands read it: current figures of funds, and sums that include charges that are not yet added to the
 * stored sums.
 */
export const postgresLedger = (db: SqlTables): LedgerTable => ({
  exists: async () => true,
  identity: async () => (await first<{ ledger: string }>(db, SELECT_NAME))?.ledger ?? null,
  async state() {
    const terms = await first<{ usdPerCredit: string | null; budgets: string }>(db, SELECT_TERMS);
    if (!terms) return NO_LEDGER;
    return { usdPerCredit: terms.usdPerCredit, budgets: budgetsOf(terms).map(({ name }) => name) };
  },
  async budgets() {
    const terms = await first<{ budgets: string }>(db, SELECT_TERMS);
    return terms ? budgetsOf(terms) : [];
  },
  spentIn: (keyId, window) => spentIn((text, values) => db.query(sql(text), values), keyId, window),
  async balance(holder) {
    const row = await first<BalanceRow>(db, SELECT_BALANCE, holder);
    return row && (row.isPrepaid === 1 || isAddress(holder)) ? { granted: row.granted, spent: row.spent } : null;
  },
  async balances() {
    const rows = await db.query<Omit<BalanceRow, 'isPrepaid'> & { holder: string }>(SELECT_BALANCES);
    return new Map(rows.map(({ holder, granted, spent }) => [holder, { granted, spent }]));
  },
  granted: async (holder) => (await first<BalanceRow>(db, SELECT_BALANCE, holder))?.granted ?? 0,
  async reservation(id) {
    const row = await first<ReservationRow>(db, SELECT_RESERVATION, id);
    if (!row) return null;
    const { isOpen, onBalance, booked, requested, ...figures } = row;
    const givenBack = 0 + booked + requested;
    return { reservation: id, ...figures, isOpen: isOpen === 1, onBalance: onBalance === 1, givenBack };
  },
  isAdopted: async (id) => (await first(db, SELECT_PENDING, id)) === null,
  prune: (before) => deleteHolds(db, idAt(before)),
  grant: (holder, amount, note, time) => write(INSERT_GRANT, holder, amount, note, time),
  refund: ({ reservation, keyId, lastAdjustment }, amount, note, time) =>
    write(INSERT_REFUND, { reservation, keyId, lastAdjustment, amount: -amount, note, time }),
});

/** Parses the column `budgets` without a check, because only the books write it. */
const budgetsOf = ({ budgets }: { readonly budgets: string }): readonly StoredBudget[] => JSON.parse(budgets);
