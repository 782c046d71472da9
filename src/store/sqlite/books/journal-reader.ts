import { isObject, parseJson } from '../../../core/object.ts';
import type {
  AuditRow,
  BalanceRow,
  FundRow,
  JournalCheckpoint,
  JournalReader,
  OpenReservation,
  SpendRow,
} from '../../journal-reader.ts';
import { FIRST, moneyPages, pages, paymentPages, pricedPages, seqOf } from '../../sql/journal.ts';
import { first, type SqlReader, sql } from '../../sql/statement.ts';
import { wrongCells } from '../../sql/traffic/wrong-cells.ts';
import { reservationEntries } from './reservation-entries.ts';
import { SELECT_BALANCES } from './tables.ts';

const SELECT_LAST = sql('SELECT coalesce(max(seq), 0) AS seq FROM journal');
const SELECT_CHECKPOINT = sql('SELECT through, open, charged FROM checkpoint');
const SELECT_UNIT = sql('SELECT usd_per_credit AS usdPerCredit FROM checkpoint');
const SELECT_FUNDS =
  sql(`SELECT id, kind, name, subject, definition, starts, ends, most, opening, after_seq AS afterSeq FROM funds
    WHERE (after_seq, id) > (?, ?) ORDER BY after_seq, id LIMIT ?`);
const SELECT_ROWS =
  sql(`SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.input_tokens AS input,
      j.output_tokens AS output, CASE WHEN j.kind IN ('deposit', 'fee') THEN j.note END AS note, a.key_id AS keyId, a.payer, t.id AS knownTariff
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.seq > ? ORDER BY j.seq LIMIT ?`);
const SELECT_SPEND =
  sql(`SELECT quarter, account, tariff, charges, microcredits, input_tokens AS input, output_tokens AS output
    FROM spend WHERE (quarter, account, tariff) > (?, ?, ?) ORDER BY quarter, account, tariff LIMIT ?`);
const SELECT_HAS_PAYMENTS = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'payments'`);
const CHECK_INTEGRITY = sql('PRAGMA integrity_check');
const CHECK_FOREIGN_KEYS = sql('PRAGMA foreign_key_check');

export const sqliteJournal = (db: SqlReader): JournalReader => ({
  lagMs: 0,
  // Rows are written in the order of their numbers.
  horizon: async () => (await first<{ seq: number }>(db, SELECT_LAST))?.seq ?? 0,
  checkpoint: () => checkpointOf(db),
  damages: () => damagesOf(db),
  funds: () => pages<FundRow>(db, SELECT_FUNDS, [FIRST, FIRST], ({ afterSeq, id }) => [afterSeq, id]),
  rows: () => pages<AuditRow>(db, SELECT_ROWS, [FIRST], seqOf),
  priced: () => pricedPages(db),
  spend: () =>
    pages<SpendRow>(db, SELECT_SPEND, [FIRST, FIRST, FIRST], ({ quarter, account, tariff }) => [
      quarter,
      account,
      tariff,
    ]),
  async payments() {
    // A ledger does without.
    if ((await db.query(SELECT_HAS_PAYMENTS)).length === 0) return null;
    return paymentPages(db);
  },
  balances: () => db.query<BalanceRow>(SELECT_BALANCES),
  wrongCells: (now) => wrongCells(db, now),
  reservation: (id) => reservationEntries(db, id),
  money: (filter) => moneyPages(db, filter),
  usdPerCredit: async () => (await first<{ usdPerCredit: string | null }>(db, SELECT_UNIT))?.usdPerCredit ?? null,
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
