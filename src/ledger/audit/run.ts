import type { OpenReservation } from '../../store/sqlite/books/recover.ts';
import { type BalanceRow, type FundRow, SELECT_BALANCES, type SpendRow } from '../../store/sqlite/books/tables.ts';
import type { Statement, Store } from '../../store/store.ts';
import { Audit, type AuditCheckpoint, type AuditRow } from './audit.ts';
import type { PaymentRow } from './payments.ts';
import { auditPrices } from './prices.ts';

const SELECT_CHECKPOINT: Statement = { sql: 'SELECT through, open FROM checkpoint' };
const SELECT_FUNDS: Statement = {
  sql: `SELECT id, kind, name, subject, definition, starts, ends, most, opening, after_seq FROM funds
    WHERE id > ? ORDER BY id LIMIT ?`,
};
const SELECT_ROWS: Statement = {
  sql: `SELECT j.seq, j.kind, j.reservation, j.account, j.amount, j.time, j.funds, j.tariff, j.input_tokens AS input,
      j.output_tokens AS output, CASE WHEN j.kind IN ('deposit', 'fee') THEN j.note END AS note, a.key_id AS keyId, a.payer, t.id AS knownTariff
    FROM journal AS j LEFT JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.seq > ? ORDER BY j.seq LIMIT ?`,
};
const SELECT_SPEND: Statement = {
  sql: `SELECT quarter, account, tariff, charges, microcredits, input_tokens AS input, output_tokens AS output
    FROM spend WHERE (quarter, account, tariff) > (?, ?, ?) ORDER BY quarter, account, tariff LIMIT ?`,
};
/** A ledger without payments has no such table: it belongs to another room. */
const SELECT_HAS_PAYMENTS: Statement = {
  sql: `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'payments'`,
};
const SELECT_PAYMENTS: Statement = {
  sql: 'SELECT id, state, payer, paid, fee FROM payments WHERE id > ? ORDER BY id LIMIT ?',
};
const CHECK_INTEGRITY: Statement = { sql: 'PRAGMA integrity_check' };
const CHECK_FOREIGN_KEYS: Statement = { sql: 'PRAGMA foreign_key_check' };

const PAGE_ROWS = 10_000;
const FIRST = Number.MIN_SAFE_INTEGER;

/**
 * Audits a ledger page by page; it must not change meanwhile. Memory grows with the
 * reservations (three numbers each), funds and sums of a quarter of an hour, not with the rows.
 */
export async function auditLedger(reader: Pick<Store, 'query'>, { idle }: { idle: boolean }): Promise<Audit> {
  const { checkpoint, fault } = await readCheckpoint(reader);
  const audit = new Audit(checkpoint);
  const damaged = (message: string) => audit.report({ kind: 'damaged', seq: null, reservation: null, message });
  if (fault) damaged(fault);
  const integrity = await reader.query<{ integrity_check: string }>(CHECK_INTEGRITY);
  for (const { integrity_check: message } of integrity) if (message !== 'ok') damaged(message);
  const foreign = await reader.query<{ table: string; parent: string }>(CHECK_FOREIGN_KEYS);
  for (const { table, parent } of foreign) damaged(`a row of ${table} names one of ${parent} that does not exist`);
  const read = pages(reader);
  await read<FundRow>(
    SELECT_FUNDS,
    [FIRST],
    ({ id }) => [id],
    (row) => audit.fund(row),
  );
  await read<AuditRow>(
    SELECT_ROWS,
    [FIRST],
    ({ seq }) => [seq],
    (row) => audit.add(row),
  );
  const placeOf = ({ quarter, account, tariff }: SpendRow) => [quarter, account, tariff];
  await read<SpendRow>(SELECT_SPEND, [FIRST, FIRST, FIRST], placeOf, (row) => audit.spend(row));
  await auditPayments(reader, audit);
  audit.compareBalances(await reader.query<BalanceRow>(SELECT_BALANCES));
  audit.finish();
  const { unpriced } = await auditPrices(reader, (finding) => audit.report(finding));
  audit.unpriced = unpriced;
  if (idle) {
    for (const { seq, reservation } of audit.open.values()) {
      audit.report({ kind: 'left_open', seq, reservation, message: 'is open, and nothing is under way' });
    }
  }
  return audit;
}

async function auditPayments(reader: Pick<Store, 'query'>, audit: Audit): Promise<void> {
  if ((await reader.query(SELECT_HAS_PAYMENTS)).length === 0) return;
  await pages(reader)<PaymentRow>(
    SELECT_PAYMENTS,
    [FIRST],
    ({ id }) => [id],
    (row) => audit.payment(row),
  );
  audit.finishPayments();
}

/** Reads all rows of a statement. Its last parameter is the size of a page; those before it say where the page begins. */
const pages =
  (reader: Pick<Store, 'query'>) =>
  async <Row>(statement: Statement, before: number[], placeOf: (row: Row) => number[], take: (row: Row) => void) => {
    for (let after = before; ; ) {
      const rows = await reader.query<Row>(statement, [...after, PAGE_ROWS]);
      for (const row of rows) take(row);
      const last = rows.at(-1);
      if (!last) return;
      after = placeOf(last);
    }
  };

async function readCheckpoint(
  reader: Pick<Store, 'query'>,
): Promise<{ checkpoint: AuditCheckpoint; fault: string | null }> {
  const [row] = await reader.query<{ through: number; open: string }>(SELECT_CHECKPOINT);
  if (!row) return { checkpoint: { through: 0, open: [] }, fault: 'there is no checkpoint' };
  try {
    const open: unknown = JSON.parse(row.open);
    if (Array.isArray(open) && open.every(isOpenReservation)) {
      return { checkpoint: { through: row.through, open }, fault: null };
    }
  } catch {
    // Reported below.
  }
  const fault = 'the list of open reservations of the checkpoint cannot be read';
  return { checkpoint: { through: row.through, open: [] }, fault };
}

function isOpenReservation(value: unknown): value is OpenReservation {
  if (typeof value !== 'object' || value === null) return false;
  const { reservation, account, keyId, amount, charged, funds } = value as Record<string, unknown>;
  const isNumbers = [reservation, account, amount, charged].every(Number.isSafeInteger);
  return isNumbers && typeof keyId === 'string' && (funds === null || typeof funds === 'string');
}
