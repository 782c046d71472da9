import { isObject, parseJson } from '../../../core/json/object.ts';
import type { BalanceRow, JournalCheckpoint, JournalReader, OpenReservation } from '../../journal-reader.ts';
import { FIRST, reservationEntries, sqlJournal } from '../../sql/journal.ts';
import { first, type SqlReader, sql } from '../../sql/statement.ts';
import { findSteps } from './adjust.ts';
import { SELECT_BALANCES } from './tables.ts';

const SELECT_LAST = sql('SELECT coalesce(max(seq), 0) AS seq FROM journal');
const SELECT_CHECKPOINT = sql('SELECT through, open, charged FROM checkpoint');
const SELECT_HAS_TABLE = sql(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
const CHECK_INTEGRITY = sql('PRAGMA integrity_check');
const CHECK_FOREIGN_KEYS = sql('PRAGMA foreign_key_check');

export function sqliteJournal(db: SqlReader): JournalReader {
  // The database of a ledger can lack the tables of payments and records.
  const hasTable = async (name: string) => (await db.query(SELECT_HAS_TABLE, [name])).length > 0;
  const journal = sqlJournal(
    db,
    {
      // Rows are written in the order of their numbers, so no row can appear below the last row.
      horizon: async () => (await first<{ seq: number }>(db, SELECT_LAST))?.seq ?? 0,
      checkpoint: () => checkpointOf(db),
      damages: () => damagesOf(db),
      balances: () => db.query<BalanceRow>(SELECT_BALANCES),
      async reservation(id) {
        // The journal has no index by reservation; `findSteps` describes the search. An overrun is the row after its charge.
        const steps = await findSteps(db, id);
        return steps ? reservationEntries(db, id, [steps[0].seq, (steps.at(-1) ?? steps[0]).seq + 1]) : [];
      },
    },
    FIRST,
    () => hasTable('record_index'),
  );
  return { ...journal, payments: async () => ((await hasTable('payments')) ? journal.payments() : null) };
}

async function damagesOf(db: SqlReader): Promise<readonly string[]> {
  const integrity = await db.query<{ integrity_check: string }>(CHECK_INTEGRITY);
  const foreign = await db.query<{ table: string; parent: string }>(CHECK_FOREIGN_KEYS);
  return [
    ...integrity.map((row) => row.integrity_check).filter((message) => message !== 'ok'),
    ...foreign.map(({ table, parent }) => `a row of ${table} refers to a row of ${parent} that does not exist`),
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
