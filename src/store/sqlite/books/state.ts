import type { LedgerState } from '../../../core/budget.ts';
import { NO_LEDGER } from '../../../core/budget.ts';
import type { SqlReader, Statement } from '../statement.ts';

const SELECT_TERMS: Statement = {
  sql: `SELECT CASE WHEN EXISTS (SELECT 1 FROM journal) THEN usd_per_credit END AS usdPerCredit, budgets FROM checkpoint`,
};
const SELECT_TABLE: Statement = { sql: `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'journal'` };
/** The youngest column that readers name. */
const SELECT_COLUMN: Statement = { sql: `SELECT 1 FROM pragma_table_info('accounts') WHERE name = 'payer'` };

const SELECT_LAST: Statement = { sql: 'SELECT coalesce(max(seq), 0) AS seq FROM journal' };

/** The number of the journal's last entry that is written; 0 for none. Of a ledger of this version. */
export async function lastEntryOf(store: SqlReader): Promise<number> {
  const [row] = await store.query<{ seq: number }>(SELECT_LAST);
  return row?.seq ?? 0;
}

/** Whether there is a ledger of this version. */
export async function hasJournal(reader: SqlReader): Promise<boolean> {
  return (await reader.query(SELECT_COLUMN)).length > 0;
}

/** The ledger's state that a policy must fit, read from a store that this process does not serve. */
export async function ledgerStateOf(store: SqlReader): Promise<LedgerState> {
  // One of an older version states its terms likewise.
  if ((await store.query(SELECT_TABLE)).length === 0) return NO_LEDGER;
  const [terms] = await store.query<{ usdPerCredit: string | null; budgets: string }>(SELECT_TERMS);
  if (!terms) return NO_LEDGER;
  // Written by the ledger alone.
  return { usdPerCredit: terms.usdPerCredit, budgets: JSON.parse(terms.budgets) as string[] };
}
