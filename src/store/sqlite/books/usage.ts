import { QUARTER_MS, quarterOf } from '../../../ledger/rules/quarter.ts';
import type { Usage } from '../../books.ts';
import type { Statement, Store } from '../../store.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';

/** Begins with the accounts of the key, so that it costs what this key used and not what all did. */
const SELECT_USAGE: Statement = {
  sql: `SELECT s.quarter, t.model, sum(s.charges) AS charges, sum(s.microcredits) AS microcredits,
      sum(s.input_tokens) AS input, sum(s.output_tokens) AS output
    FROM accounts AS a CROSS JOIN spend AS s ON s.account = a.id LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE a.key_id = ? AND s.quarter >= ? AND s.quarter < ?
    GROUP BY s.quarter, t.model`,
};

interface UsageRow extends Omit<Usage, 'time'> {
  readonly quarter: number;
}

export interface UsageSource {
  readonly store: Pick<Store, 'query'>;
  readonly journal: Pick<Journal, 'sums' | 'modelOf'>;
  readonly checkpoints: Pick<Checkpoints, 'settled'>;
}

/** Charges of a key from one moment to before another, ms since 1970: those in the store, and those that are not yet. */
export async function readUsage(source: UsageSource, keyId: string, from: number, to: number): Promise<Usage[]> {
  const [first, end] = [quarterOf(from), quarterOf(to + QUARTER_MS - 1)];
  const { store, journal, checkpoints } = source;
  for (;;) {
    await checkpoints.settled();
    const { takes } = journal.sums;
    const rows = await store.query<UsageRow>(SELECT_USAGE, [keyId, first, end]);
    // Sums that set out for the store meanwhile may be in the rows or not: then all is read anew.
    if (takes === journal.sums.takes) return [...rows.map(usageOf), ...unwritten(journal, keyId, first, end)];
  }
}

const usageOf = ({ quarter, ...row }: UsageRow): Usage => ({ time: quarter * QUARTER_MS, ...row });

function unwritten(journal: UsageSource['journal'], keyId: string, first: number, end: number): Usage[] {
  const mine = [...journal.sums].filter(
    ({ dimensions, quarter }) => dimensions.key === keyId && quarter >= first && quarter < end,
  );
  return mine.map(({ quarter, tariff, charges, microcredits, input, output }) => ({
    time: quarter * QUARTER_MS,
    model: journal.modelOf(tariff),
    charges,
    microcredits,
    input,
    output,
  }));
}
