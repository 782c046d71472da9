import type { Caller } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import { QUARTER_MS, quarterOf } from '../store/sqlite/books/sums.ts';
import type { Statement, Store } from '../store/store.ts';
import { labelsOf, scopeOf } from './accounts.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Desk } from './desk.ts';
import { type Funds, subjectOf } from './funds.ts';
import type { Fund } from './rules/fund.ts';

/** Charges of one key at one endpoint in a period, by the times of the reservations. */
export interface Usage {
  readonly keyId: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The `model` of the requests: a selector's name or a model's ID. */
  readonly selector: string;
  /** ID of the model; null for corrections and what a crash left behind, which name none. */
  readonly model: string | null;
  /** The provider that served it; null likewise. */
  readonly provider: string | null;
  /** Attempts that were charged; a correction counts as one. */
  readonly charges: number;
  /** Less what was given back. */
  readonly microcredits: Microcredits;
  readonly input: number;
  readonly output: number;
}

/** The charges to read. */
export interface UsageFilter {
  /** Null for all keys. */
  readonly keyId: string | null;
  /** Ms since 1970, in steps of a quarter of an hour. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

const COLUMNS = `a.key_id AS keyId, a.labels, a.selector, t.model, t.provider, sum(s.charges) AS charges,
      sum(s.microcredits) AS microcredits, sum(s.input_tokens) AS input, sum(s.output_tokens) AS output`;
const GROUPS = 'GROUP BY a.key_id, a.labels, a.selector, t.model, t.provider';

/** Begins with the accounts of the key, so that it costs what this key used and not what all did. */
const SELECT_OF_KEY: Statement = {
  sql: `SELECT ${COLUMNS}
    FROM accounts AS a CROSS JOIN spend AS s ON s.account = a.id LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE s.quarter >= ?1 AND s.quarter < ?2 AND a.key_id = ?3 ${GROUPS}`,
};
const SELECT_OF_ALL: Statement = {
  sql: `SELECT ${COLUMNS}
    FROM spend AS s CROSS JOIN accounts AS a ON a.id = s.account LEFT JOIN tariffs AS t ON t.id = s.tariff
    WHERE s.quarter >= ?1 AND s.quarter < ?2 ${GROUPS}`,
};

interface UsageRow extends Omit<Usage, 'labels'> {
  readonly labels: string;
}

export interface UsageSource {
  readonly store: Pick<Store, 'query'>;
  readonly desk: Pick<Desk, 'sums' | 'tariffOf'>;
  readonly checkpoints: Pick<Checkpoints, 'settled'>;
}

/** Reads the charges of a period: those in the store, and those that are not written yet. Groups may repeat. */
export async function readUsage(source: UsageSource, { keyId, from, to }: UsageFilter): Promise<Usage[]> {
  const [first, end] = [quarterOf(from), quarterOf(to + QUARTER_MS - 1)];
  const { store, desk, checkpoints } = source;
  for (;;) {
    await checkpoints.settled();
    const { takes } = desk.sums;
    const rows =
      keyId === null
        ? await store.query<UsageRow>(SELECT_OF_ALL, [first, end])
        : await store.query<UsageRow>(SELECT_OF_KEY, [first, end, keyId]);
    // Sums that set out for the store meanwhile may be in the rows or not: then all is read anew.
    if (takes === desk.sums.takes) {
      return [...rows.map((row) => ({ ...row, labels: labelsOf(row) })), ...unwritten(desk, keyId, first, end)];
    }
  }
}

function unwritten(desk: UsageSource['desk'], keyId: string | null, first: number, end: number): Usage[] {
  const wanted = [...desk.sums].filter(
    ({ scope, quarter }) => (keyId === null || scope.key.id === keyId) && quarter >= first && quarter < end,
  );
  return wanted.map(({ scope: { key, request }, tariff, charges, microcredits, input, output }) => {
    const { model, provider } = desk.tariffOf(tariff) ?? { model: null, provider: null };
    const labels = Object.fromEntries(key.labels);
    return { keyId: key.id, labels, selector: request.model, model, provider, charges, microcredits, input, output };
  });
}

/** Every fund that requests of a key can draw on in the windows of `timeMs`, by whichever of the names it asks for a model. */
export function fundsOf(
  funds: Funds,
  { keyId, labels }: Pick<Caller, 'keyId' | 'labels'>,
  names: readonly string[],
  timeMs: number,
): Fund[] {
  const scopes = names.map((name) => scopeOf(keyId, labels, name));
  const found = new Set<Fund>();
  for (const counter of funds.counters) {
    counter.windowAt(timeMs);
    // Most budgets do not look at the model: one name stands for all.
    const asked = counter.budget.definition.includes('request') ? scopes : scopes.slice(0, 1);
    for (const scope of asked) {
      const subject = subjectOf(counter.budget, scope);
      const fund = subject === null ? null : counter.fundAt(subject, timeMs);
      if (fund) found.add(fund);
    }
  }
  const balance = funds.balanceOf(keyId);
  return balance ? [...found, balance] : [...found];
}
