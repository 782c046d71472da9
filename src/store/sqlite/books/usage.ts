import type { EndpointCharges, UsageFilter } from '../../books.ts';
import { type SqlReader, sql } from '../../sql/statement.ts';
import { type UsageRow, usageIn, usageSearch } from '../../sql/usage.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Journal } from './journal.ts';

/** Reads the charges of a period from the store and from memory. The same group of charges may appear several times in the result. */
export async function readUsage(
  store: SqlReader,
  journal: Journal,
  checkpoints: Checkpoints,
  filter: UsageFilter,
): Promise<EndpointCharges[]> {
  const { text, first, end, owner } = usageSearch('spend', filter);
  for (;;) {
    await checkpoints.settled();
    const { takes } = journal.sums;
    const rows = await store.query<UsageRow>(sql(text), [first, end, ...owner]);
    // If sums were handed over during the query, the rows of the query may or may not include these sums, so the code reads again.
    if (takes === journal.sums.takes) return usageIn(filter, rows, unwritten(journal, first, end));
  }
}

function unwritten(journal: Journal, first: number, end: number): EndpointCharges[] {
  return [...journal.sums]
    .filter(({ quarter }) => quarter >= first && quarter < end)
    .map(({ dimensions, tariff, charges, microcredits, input, output, stated, matched }) => {
      const { model, provider } = journal.tariffOf(tariff) ?? { model: null, provider: null };
      return { dimensions, model, provider, charges, microcredits, input, output, stated, matched };
    });
}
