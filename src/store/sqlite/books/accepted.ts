import type { AcceptedTerms, OfferedTerms } from '../../books.ts';
import { first, sql, write } from '../../sql/statement.ts';
import type { SqlStore } from '../statement.ts';

/** Stores the value of a Credit, which is set once for all entries, and the active budgets as JSON, with the rank of their policy. */
const PUT_TERMS = sql(
  `UPDATE checkpoint SET usd_per_credit = ?1, budgets = ?2, rank = ?3
    WHERE usd_per_credit IS NULL OR usd_per_credit = ?1 OR NOT EXISTS (SELECT 1 FROM journal)`,
  { mustChange: true },
);
const RETIRE = sql(`UPDATE budgets SET retired = 1 WHERE retired = 0
    AND (name, definition) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`);
const ADD = sql(`INSERT INTO budgets (name, definition) SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE true
    ON CONFLICT DO NOTHING`);
const SELECT_TERMS = sql('SELECT budgets, rank FROM checkpoint');
const SELECT_COUNTED = sql('SELECT generation, name, definition FROM budgets WHERE retired = 0');

/** Stores the terms of a policy. Only the process that has the books open may call this method. Rejects with StoreError. */
export async function acceptTerms(store: SqlStore, offered: OfferedTerms): Promise<AcceptedTerms> {
  const { usdPerCredit, counted } = offered;
  const budgets = JSON.stringify(offered.budgets);
  const last = await first<{ budgets: string; rank: number }>(store, SELECT_TERMS);
  const next = (last?.rank ?? 0) + 1;
  const rank = offered.rank ?? (last && last.rank > 0 && last.budgets === budgets ? last.rank : next);
  const names = JSON.stringify(counted.map(({ name, definition }) => [name, definition]));
  await store.commit([write(PUT_TERMS, usdPerCredit, budgets, rank), write(RETIRE, names), write(ADD, names)]);
  const rows = await store.query<{ generation: number; name: string; definition: string }>(SELECT_COUNTED);
  const generations = new Map(rows.map(({ generation, name, definition }) => [nameOf(name, definition), generation]));
  return { rank, generations: counted.map(({ name, definition }) => generations.get(nameOf(name, definition)) ?? 0) };
}

const nameOf = (name: string, definition: string): string => JSON.stringify([name, definition]);
