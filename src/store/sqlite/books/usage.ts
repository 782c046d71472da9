import { QUARTER_MS, quarterOf } from '../../../accounting/window.ts';
import type { EndpointCharges, UsageFilter } from '../../books.ts';
import { type SqlReader, sql } from '../statement.ts';
import { dimensionsOf } from './accounts.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';
import type { AccountRow } from './tables.ts';

const COLUMNS = `a.key_id AS keyId, a.labels, a.selector, a.session, a.agent, t.model, t.provider, sum(s.charges) AS charges,
      sum(s.microcredits) AS microcredits, sum(s.input_tokens) AS input, sum(s.output_tokens) AS output`;
const GROUPS = 'GROUP BY a.key_id, a.labels, a.selector, a.session, a.agent, t.model, t.provider';

/** Begins with the accounts of the key, so that it costs what this key used and not what all did. */
const SELECT_OF_KEY = sql(`SELECT ${COLUMNS}
    FROM accounts AS a CROSS JOIN spend AS s ON s.account = a.id LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE s.quarter >= ?1 AND s.quarter < ?2 AND a.key_id = ?3 ${GROUPS}`);
const SELECT_OF_ALL = sql(`SELECT ${COLUMNS}
    FROM spend AS s CROSS JOIN accounts AS a ON a.id = s.account LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE s.quarter >= ?1 AND s.quarter < ?2 ${GROUPS}`);

type UsageRow = Omit<EndpointCharges, 'dimensions'> &
  Pick<AccountRow, 'keyId' | 'labels' | 'selector' | 'session' | 'agent'>;

/** Reads the charges of a period: those in the store, and those that are not written yet. Groups may repeat. */
export async function readUsage(
  store: SqlReader,
  journal: Journal,
  checkpoints: Checkpoints,
  { keyId, from, to }: UsageFilter,
): Promise<EndpointCharges[]> {
  const [first, end] = [quarterOf(from), quarterOf(to + QUARTER_MS - 1)];
  for (;;) {
    await checkpoints.settled();
    const { takes } = journal.sums;
    const rows =
      keyId === null
        ? await store.query<UsageRow>(SELECT_OF_ALL, [first, end])
        : await store.query<UsageRow>(SELECT_OF_KEY, [first, end, keyId]);
    // If sums were handed over during the query, its rows may or may not include them: read again.
    if (takes === journal.sums.takes) return [...rows.map(usageOf), ...unwritten(journal, keyId, first, end)];
  }
}

const usageOf = ({ keyId, labels, selector, session, agent, ...row }: UsageRow): EndpointCharges => ({
  dimensions: dimensionsOf({ keyId, labels, selector, session, agent }),
  ...row,
});

function unwritten(journal: Journal, keyId: string | null, first: number, end: number): EndpointCharges[] {
  const wanted = [...journal.sums].filter(
    ({ dimensions, quarter }) => (keyId === null || dimensions.key === keyId) && quarter >= first && quarter < end,
  );
  return wanted.map(({ dimensions, tariff, charges, microcredits, input, output }) => {
    const { model, provider } = journal.tariffOf(tariff) ?? { model: null, provider: null };
    return { dimensions, model, provider, charges, microcredits, input, output };
  });
}
