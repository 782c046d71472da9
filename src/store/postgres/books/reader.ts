import type { Dimensions } from '../../../accounting/entry.ts';
import { quarterOf, type Window } from '../../../accounting/window.ts';
import type { LedgerState, StoredBudget } from '../../../core/budget.ts';
import type { Microcredits } from '../../../core/credits.ts';
import { idAt, timeOfId } from '../../../core/id.ts';
import type { Timers } from '../../../core/timers.ts';
import { type AccountRow, dimensionsOf } from '../../account-row.ts';
import type { AcceptedTerms, EndpointCharges, OfferedTerms, UncountedCharges, UsageFilter } from '../../books.ts';
import type { Orphan } from '../../ledger-table.ts';
import { StoreError } from '../../store.ts';
import { Horizon } from '../horizon.ts';
import type { FundAnswer } from './known-funds.ts';
import type { BooksQuery } from './names.ts';

/** Entries that are charges of holds, or give one back. */
const CHARGES = `('post', 'settle', 'expire', 'correct')`;
const ACCOUNT = `a.key_id AS "keyId", a.labels, a.selector, a.session, a.agent, a.team_id AS team, a.user_id AS "user", a.payer`;

const SELECT_HOLD = `SELECT h.state, h.charged, h.given_back AS "givenBack", ${ACCOUNT}
    FROM holds AS h JOIN accounts AS a ON a.id = h.account WHERE h.id = $1 AND h.state IN ('open', 'closed')`;
const SELECT_CHARGED = `SELECT coalesce(sum(amount), 0) AS charged FROM journal WHERE kind IN ${CHARGES}`;
const usageBy = (
  runs: string,
  groups: string,
) => `SELECT a.key_id AS "keyId", a.labels, a.team_id AS team, a.user_id AS "user", ${runs},
      t.model, t.provider, count(*) AS charges, sum(j.amount) AS microcredits,
      coalesce(sum(j.input_tokens), 0) AS input, coalesce(sum(j.output_tokens), 0) AS output
    FROM journal AS j JOIN accounts AS a ON a.id = j.account LEFT JOIN tariffs AS t ON t.id = j.tariff
    WHERE j.kind IN ${CHARGES} AND (j.amount <> 0 OR j.tariff IS NOT NULL) AND j.reservation >= $1 AND j.reservation < $2
      AND ($3::text[] IS NULL OR a.key_id = ANY ($3)) AND ($4::text IS NULL OR a.team_id = $4) AND ($5::text IS NULL OR a.user_id = $5)
    GROUP BY a.key_id, a.labels, a.team_id, a.user_id, ${groups} t.model, t.provider`;
const SELECT_USAGE = {
  withRuns: usageBy('a.selector, a.session, a.agent', 'a.selector, a.session, a.agent,'),
  plain: usageBy("'' AS selector, NULL AS session, NULL AS agent", ''),
} as const;
const SELECT_UNCOUNTED = `SELECT ${ACCOUNT}, j.reservation, j.amount
    FROM journal AS j JOIN accounts AS a ON a.id = j.account
    WHERE j.kind IN ${CHARGES} AND j.amount <> 0 AND j.seq > $1 AND j.seq <= $2 AND j.reservation >= $3
      AND NOT EXISTS (SELECT 1 FROM funds AS f WHERE f.id = ANY (j.drawn) AND f.budget = $4)`;
const SELECT_FIGURES = `SELECT id, most, spent, held, is_opened AS "isOpened" FROM funds WHERE id = ANY ($1::integer[])`;
const SELECT_BALANCES = `SELECT id, name AS holder, most AS granted, spent, held FROM funds WHERE budget = 0 AND is_opened`;
const SELECT_OPEN_ELSEWHERE = `SELECT count(*) AS count, coalesce(sum(amount - charged), 0) AS held
    FROM holds WHERE state = 'open' AND owner <> $1`;

type HoldRow = AccountRow & {
  readonly state: string;
  readonly charged: Microcredits;
  readonly givenBack: Microcredits;
};
type UsageRow = Omit<AccountRow, 'payer'> & Omit<EndpointCharges, 'dimensions'>;
type ChargeRow = AccountRow & { readonly reservation: number; readonly amount: Microcredits };

export interface BalanceFigures {
  readonly id: number;
  readonly holder: string;
  readonly granted: Microcredits;
  readonly spent: Microcredits;
  readonly held: Microcredits;
}

/** Reads what the books of all instances have written. */
export class BooksReader {
  readonly #query: BooksQuery;
  readonly #horizon: Horizon<'entries'>;

  constructor(query: BooksQuery, timers: Timers) {
    this.#query = query;
    this.#horizon = new Horizon(query, timers, { entries: 'journal_seq' });
  }

  async #first<Row>(text: string, ...values: (string | number | null)[]): Promise<Row | undefined> {
    return (await this.#query<Row>(text, values))[0];
  }

  async hold(id: number) {
    const row = await this.#first<HoldRow>(SELECT_HOLD, id);
    if (!row) return null;
    const { state, charged, givenBack, ...account } = row;
    return { isOpen: state === 'open', charged, givenBack, dimensions: dimensionsOf(account) };
  }

  async charged(): Promise<Microcredits> {
    return (await this.#first<{ charged: number }>(SELECT_CHARGED))?.charged ?? 0;
  }

  async usage({
    keyId,
    keyIds = null,
    hasRuns = true,
    team = null,
    user = null,
    from,
    to,
  }: UsageFilter): Promise<EndpointCharges[]> {
    const own = keyId === null ? keyIds : new Set([keyId].filter((id) => keyIds?.has(id) ?? true));
    const keys = own && `{${[...own].map((id) => JSON.stringify(id)).join(',')}}`;
    const text = SELECT_USAGE[hasRuns ? 'withRuns' : 'plain'];
    const rows = await this.#query<UsageRow>(text, [idAt(from), idAt(to), keys, team, user]);
    return rows.map(({ model, provider, charges, microcredits, input, output, ...account }) => ({
      dimensions: dimensionsOf(account),
      ...{ model, provider, charges, microcredits, input, output },
    }));
  }

  async spentIn(keyId: string, { starts, ends }: Window): Promise<Microcredits> {
    const to = Number.isFinite(ends) ? ends : timeOfId(Number.MAX_SAFE_INTEGER);
    const charges = await this.usage({ keyId, from: starts, to });
    return charges.reduce((sum, { microcredits }) => sum + microcredits, 0);
  }

  /** The number of the last entry below which none will appear any more. */
  async horizon(): Promise<number> {
    return (await this.#horizon.within(Number.POSITIVE_INFINITY)).entries;
  }

  async uncounted(budget: number, { starts }: Window): Promise<UncountedCharges> {
    const to = await this.horizon();
    const counted = await this.#first<{ through: number }>('SELECT through FROM counted WHERE budget = $1', budget);
    const from = counted?.through ?? null;
    const rows = await this.#query<ChargeRow>(SELECT_UNCOUNTED, [
      from ?? 0,
      to,
      from === null ? idAt(starts) : 0,
      budget,
    ]);
    const charges = rows.map(({ reservation, amount: microcredits, ...account }) => ({
      ...{ dimensions: withoutPayer(account), microcredits, quarter: quarterOf(timeOfId(reservation)) },
    }));
    return { from, to, charges };
  }

  async figures(ids: readonly number[]): Promise<readonly FundAnswer[]> {
    if (ids.length === 0) return [];
    const rows = await this.#query<{ id: number; most: number; spent: number; held: number; isOpened: number }>(
      SELECT_FIGURES,
      [`{${ids.join(',')}}`],
    );
    return rows.map(({ id, most, spent, held, isOpened }) => [id, most, spent, held, isOpened === 1]);
  }

  balances(): Promise<readonly BalanceFigures[]> {
    return this.#query<BalanceFigures>(SELECT_BALANCES, []);
  }

  async openElsewhere(owner: number): Promise<{ count: number; held: Microcredits }> {
    return (await this.#first<{ count: number; held: number }>(SELECT_OPEN_ELSEWHERE, owner)) ?? { count: 0, held: 0 };
  }

  async orphans(): Promise<readonly Orphan[]> {
    return [];
  }

  async terms(): Promise<LedgerState> {
    const row = await this.#first<{ usd: string | null; budgets: string }>(
      'SELECT usd_per_credit AS usd, budgets FROM terms',
    );
    const budgets: readonly StoredBudget[] = JSON.parse(row?.budgets ?? '[]');
    return { usdPerCredit: row?.usd ?? null, budgets: budgets.map(({ name }) => name) };
  }

  async accept({ usdPerCredit, budgets, counted, rank }: OfferedTerms): Promise<AcceptedTerms> {
    const named = counted.map(({ name, definition }) => ({
      ...{ name, definition },
      digest: new Bun.CryptoHasher('sha256').update(JSON.stringify([name, definition])).digest('hex'),
    }));
    const row = await this.#first<{ rank: number; generations: string }>(
      'SELECT * FROM ledger_accept_1($1, $2, $3, $4::jsonb)',
      ...[usdPerCredit, JSON.stringify(budgets), rank, JSON.stringify(named)],
    );
    if (!row) throw new StoreError('Credits have another worth in this ledger', { reason: 'unmet' });
    return { rank: row.rank, generations: JSON.parse(row.generations) };
  }
}

/** As the sums by account are told: who pays for a key is no dimension of them. */
const withoutPayer = ({ payer: _, ...account }: AccountRow): Dimensions => dimensionsOf(account);
