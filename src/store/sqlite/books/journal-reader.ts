import { idAt } from '../../../core/id.ts';
import { isObject, parseJson } from '../../../core/object.ts';
import type {
  AuditRow,
  BalanceRow,
  FundRow,
  JournalCheckpoint,
  JournalReader,
  MoneyEntry,
  MoneyFilter,
  OpenReservation,
  PaymentRow,
  PricedRow,
  RowPages,
  SpendRow,
} from '../../journal-reader.ts';
import { first, type SqlReader, type SqlValue, type Statement, sql } from '../../sql/statement.ts';
import { reservationEntries } from './reservation-entries.ts';
import { SELECT_BALANCES } from './tables.ts';

const SELECT_LAST = sql('SELECT coalesce(max(seq), 0) AS seq FROM journal');
const SELECT_CHECKPOINT = sql('SELECT through, open, charged FROM checkpoint');
const SELECT_UNIT = sql('SELECT usd_per_credit AS usdPerCredit FROM checkpoint');
const SELECT_FUNDS =
  sql(`SELECT id, kind, name, subject, definition, starts, ends, most, opening, after_seq AS afterSeq FROM funds
    WHERE id > ? ORDER BY id LIMIT ?`);
const SELECT_ROWS =
  sql(`SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.input_tokens AS input,
      j.output_tokens AS output, CASE WHEN j.kind IN ('deposit', 'fee') THEN j.note END AS note, a.key_id AS keyId, a.payer, t.id AS knownTariff
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
const SELECT_PRICED =
  sql(`SELECT j.seq, j.kind, j.reservation, j.amount, j.input_tokens AS input, j.cached_input_tokens AS cached,
      j.cache_write_tokens AS written, j.output_tokens AS output, t.price,
      CASE WHEN j.kind IN ('post', 'settle') THEN j.note END AS addOns
    FROM journal AS j JOIN tariffs AS t ON t.id = j.tariff WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
const SELECT_SPEND =
  sql(`SELECT quarter, account, tariff, charges, microcredits, input_tokens AS input, output_tokens AS output
    FROM spend WHERE (quarter, account, tariff) > (?, ?, ?) ORDER BY quarter, account, tariff LIMIT ?`);
const SELECT_HAS_PAYMENTS = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'payments'`);
const SELECT_PAYMENTS = sql('SELECT id, state, payer, paid, fee FROM payments WHERE id > ? ORDER BY id LIMIT ?');
/** A settlement that charges nothing and names no tariff is no movement of money, nor is a reservation that expires so. */
const SELECT_MONEY = sql(`SELECT j.seq, j.kind, j.reservation, j.amount, coalesce(o.amount, 0) AS overrun, j.time,
      coalesce(a.key_id, '') AS keyId, coalesce(a.labels, '{}') AS labels, coalesce(a.selector, '') AS selector, coalesce(a.session, '') AS session,
      coalesce(a.agent, '') AS agent, coalesce(a.team_id, '') AS team, coalesce(a.user_id, '') AS "user",
      coalesce(t.model, '') AS model, coalesce(t.provider, '') AS provider, coalesce(t.upstream, '') AS upstream,
      coalesce(j.input_tokens, 0) AS input, coalesce(j.cached_input_tokens, 0) AS cached,
      coalesce(j.cache_write_tokens, 0) AS written, coalesce(j.output_tokens, 0) AS output,
      coalesce(j.reasoning_tokens, 0) AS reasoning, j.estimated, t.price, CASE WHEN j.kind IN ('post', 'settle') THEN j.note END AS addOns,
      CASE WHEN j.kind IN ('post', 'settle') THEN '' ELSE coalesce(j.note, '') END AS note
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
      LEFT JOIN journal AS o ON o.seq = j.seq + 1 AND o.kind = 'overrun' AND o.reservation = j.reservation
        AND j.kind IN ('post', 'settle')
    WHERE j.kind IN ('post', 'settle', 'expire', 'overrun', 'correct', 'grant', 'deposit', 'fee')
      AND (j.tariff IS NOT NULL OR j.amount <> 0)
      AND CASE WHEN j.reservation IS NULL THEN j.time >= ?1 AND j.time < ?2
        ELSE j.reservation >= ?3 AND j.reservation < ?4 END
      AND (?5 IS NULL OR a.key_id = ?5) AND (?6 IS NULL OR t.model = ?6)
      AND j.seq > ?7
    ORDER BY j.seq LIMIT ?8`);
const CHECK_INTEGRITY = sql('PRAGMA integrity_check');
const CHECK_FOREIGN_KEYS = sql('PRAGMA foreign_key_check');

/** Rows read at once. */
const PAGE_ROWS = 10_000;
const MONEY_PAGE_ROWS = 5_000;
const FIRST = Number.MIN_SAFE_INTEGER;

interface MoneyRow extends Omit<MoneyEntry, 'labels' | 'estimated'> {
  readonly seq: number;
  readonly labels: string;
  readonly estimated: number | null;
}

export const seqOf = ({ seq }: { readonly seq: number }): readonly number[] => [seq];
const rowIdOf = ({ id }: { readonly id: number }): readonly number[] => [id];

export const sqliteJournal = (db: SqlReader): JournalReader => ({
  // Rows are written in the order of their numbers.
  horizon: async () => (await first<{ seq: number }>(db, SELECT_LAST))?.seq ?? 0,
  checkpoint: () => checkpointOf(db),
  damages: () => damagesOf(db),
  funds: () => pages<FundRow>(db, SELECT_FUNDS, [FIRST], rowIdOf),
  rows: () => pages<AuditRow>(db, SELECT_ROWS, [FIRST], seqOf),
  priced: () => pages<PricedRow>(db, SELECT_PRICED, [FIRST], seqOf),
  spend: () =>
    pages<SpendRow>(db, SELECT_SPEND, [FIRST, FIRST, FIRST], ({ quarter, account, tariff }) => [
      quarter,
      account,
      tariff,
    ]),
  async payments() {
    // A ledger does without.
    if ((await db.query(SELECT_HAS_PAYMENTS)).length === 0) return null;
    return pages<PaymentRow>(db, SELECT_PAYMENTS, [FIRST], rowIdOf);
  },
  balances: () => db.query<BalanceRow>(SELECT_BALANCES),
  reservation: (id) => reservationEntries(db, id),
  money: (filter) => moneyPages(db, filter),
  usdPerCredit: async () => (await first<{ usdPerCredit: string | null }>(db, SELECT_UNIT))?.usdPerCredit ?? null,
});

/** Reads all rows of a statement whose last parameters are the place where a page begins, and its length. */
export async function* pages<Row>(
  db: SqlReader,
  statement: Statement,
  before: readonly number[],
  placeOf: (row: Row) => readonly number[],
  filter: readonly SqlValue[] = [],
  length = PAGE_ROWS,
): RowPages<Row> {
  for (let after = before; ; ) {
    const rows = await db.query<Row>(statement, [...filter, ...after, length]);
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    after = placeOf(last);
  }
}

async function* moneyPages(db: SqlReader, { from, to, keyId, model }: MoneyFilter): RowPages<MoneyEntry> {
  const end = Math.min(to, Number.MAX_SAFE_INTEGER);
  const lastId = Number.isFinite(to) ? idAt(to) : Number.MAX_SAFE_INTEGER;
  const filter = [from, end, idAt(from), lastId, keyId, model];
  for await (const rows of pages<MoneyRow>(db, SELECT_MONEY, [FIRST], seqOf, filter, MONEY_PAGE_ROWS)) {
    yield rows.map(entryOf);
  }
}

const entryOf = ({ seq: _, labels, estimated, ...row }: MoneyRow): MoneyEntry => ({
  ...row,
  labels: JSON.parse(labels) as Record<string, string>,
  estimated: estimated === 1,
});

async function damagesOf(db: SqlReader): Promise<readonly string[]> {
  const integrity = await db.query<{ integrity_check: string }>(CHECK_INTEGRITY);
  const foreign = await db.query<{ table: string; parent: string }>(CHECK_FOREIGN_KEYS);
  return [
    ...integrity.map((row) => row.integrity_check).filter((message) => message !== 'ok'),
    ...foreign.map(({ table, parent }) => `a row of ${table} names one of ${parent} that does not exist`),
  ];
}

async function checkpointOf(db: SqlReader): Promise<JournalCheckpoint | null> {
  const row = await first<Omit<JournalCheckpoint, 'open'> & { open: string }>(db, SELECT_CHECKPOINT);
  return row ? { ...row, open: openIn(row.open) } : null;
}

function openIn(text: string): readonly OpenReservation[] | null {
  const open = parseJson(text);
  return Array.isArray(open) && open.every(isOpenReservation) ? open : null;
}

function isOpenReservation(value: unknown): value is OpenReservation {
  if (!isObject(value)) return false;
  const { reservation, account, keyId, amount, charged, funds } = value;
  const isNumbers = [reservation, account, amount, charged].every(Number.isSafeInteger);
  return isNumbers && typeof keyId === 'string' && (funds === null || typeof funds === 'string');
}
