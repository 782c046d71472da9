import type { Caller } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import { QUARTER_MS, quarterOf } from '../store/sqlite/books/sums.ts';
import type { Statement, Store } from '../store/store.ts';
import { scopeOf } from './accounts.ts';
import type { Checkpoints } from './checkpoint.ts';
import type { Desk } from './desk.ts';
import { type Funds, subjectOf } from './funds.ts';
import type { Fund } from './rules/fund.ts';

/** What a key was charged for one model in one quarter of an hour, by the time of the reservation. */
export interface Usage {
  /** Start of the quarter, ms since 1970. */
  readonly time: number;
  /** ID of the model; null for corrections and what a crash left behind, which name none. */
  readonly model: string | null;
  /** Attempts that were charged; a correction counts as one. */
  readonly charges: number;
  /** Less what was given back. */
  readonly microcredits: Microcredits;
  readonly input: number;
  readonly output: number;
}

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
  readonly desk: Pick<Desk, 'sums' | 'modelOf'>;
  readonly checkpoints: Pick<Checkpoints, 'settled'>;
}

/** What a key was charged from one moment to before another, ms since 1970: what is in the store, and what is not yet. */
export async function readUsage(source: UsageSource, keyId: string, from: number, to: number): Promise<Usage[]> {
  const [first, end] = [quarterOf(from), quarterOf(to + QUARTER_MS - 1)];
  const { store, desk, checkpoints } = source;
  for (;;) {
    await checkpoints.settled();
    const { takes } = desk.sums;
    const rows = await store.query<UsageRow>(SELECT_USAGE, [keyId, first, end]);
    // Sums that set out for the store meanwhile may be in the rows or not: then all is read anew.
    if (takes === desk.sums.takes) return [...rows.map(usageOf), ...unwritten(desk, keyId, first, end)];
  }
}

const usageOf = ({ quarter, ...row }: UsageRow): Usage => ({ time: quarter * QUARTER_MS, ...row });

function unwritten(desk: UsageSource['desk'], keyId: string, first: number, end: number): Usage[] {
  const mine = [...desk.sums].filter(
    ({ scope, quarter }) => scope.key.id === keyId && quarter >= first && quarter < end,
  );
  return mine.map(({ quarter, tariff, charges, microcredits, input, output }) => ({
    time: quarter * QUARTER_MS,
    model: desk.modelOf(tariff),
    charges,
    microcredits,
    input,
    output,
  }));
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
